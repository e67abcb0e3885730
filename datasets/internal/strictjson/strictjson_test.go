package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"harness/datasets/internal/strictjson"
)

func TestParse(t *testing.T) {
	tests := []struct{ in, err string }{
		{`{}`, ""}, {` [1, -0.5e+3, true, false, null, "x"] `, ""}, {`{"a":{"b":[[]]}}`, ""},
		{``, "ends where a value"},
		{`{"a":1,}`, "a key in quotes"},
		{`[1,]`, "a value"},
		{`{"a" 1}`, `":"`},
		{`[01]`, `","`},
		{`[-]`, "a digit"}, {`1.`, "a digit"}, {`1e`, "a digit"},
		{`tru`, "a value"},
		{`{"a":NaN}`, "NaN"},
		{`"abc`, "not closed"}, {`"a\`, "broken escape"}, {`"\x"`, "broken escape"}, {`"\u12g4"`, "broken escape"},
		{"\"a\nb\"", "control character 0x0a"},
		{`{} {}`, "more text"},
		{strings.Repeat("[", 100000), "deeper than"},
		{strings.Repeat(`{"a":`, 100000), "deeper than"},
	}
	for _, tt := range tests {
		_, err := strictjson.Parse([]byte(tt.in))
		var se *strictjson.SyntaxError
		switch {
		case tt.err == "" && err != nil:
			t.Errorf("%.40q: %v", tt.in, err)
		case tt.err != "" && (!errors.As(err, &se) || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%.40q: error %v, want one with %q", tt.in, err, tt.err)
		}
	}
}

func TestText(t *testing.T) {
	tests := []struct{ in, want, err string }{
		{`"plain ü 😀"`, "plain ü 😀", ""},
		{`"\"\\\/\b\f\n\r\t\u0000\u00e9\u20AC"`, "\"\\/\b\f\n\r\t\x00é€", ""},
		{`"\ud83d\ude00!"`, "😀!", ""},
		{`"\ufffd"`, "\ufffd", ""},
		{`"a\ud83d"`, "", `lone surrogate \ud83d at byte 1`},
		{`"\ude00\ud83d"`, "", `lone surrogate \ude00`},
		{`"\ud83dA"`, "", `lone surrogate \ud83d`},
		{`"\udc80"`, "", `lone surrogate \udc80`},
		{"\"ab\xff\"", "", "invalid UTF-8 (byte 0xff) at byte 2"},
		{"\"\\n\xe2\x82\"", "", "invalid UTF-8 (byte 0xe2) at byte 2"},
		{"\"\xed\xa0\x80\"", "", "invalid UTF-8"},
	}
	for _, tt := range tests {
		v, err := strictjson.Parse([]byte(tt.in))
		if err != nil {
			t.Fatalf("%s: %v", tt.in, err)
		}
		got, err := v.Text()
		if got != tt.want || tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %q, %v; want %q, %q", tt.in, got, err, tt.want, tt.err)
		}
		wrapped, err := strictjson.Parse([]byte(`{"x":[1,` + tt.in + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := wrapped.CheckText(); (err != nil) != (tt.err != "") {
			t.Errorf("%s nested: %v", tt.in, err)
		}
	}
}

func TestLines(t *testing.T) {
	long := `"` + strings.Repeat("x", 600<<10) + `"`
	in := "\xef\xbb\xbf1\r\n\n  \n" + long + "\n" + strings.Repeat("y", 700<<10) + "\n3"
	lines := strictjson.NewLines(iotest.HalfReader(strings.NewReader(in)), 650<<10)
	var got []string
	var at []int
	for {
		rec, n, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		at = append(at, n)
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, string(rec))
	}
	want := []string{"1", long, "the record is longer than 665600 bytes", "3"}
	if !slices.Equal(got, want) || !slices.Equal(at, []int{1, 4, 5, 6}) {
		t.Errorf("lines %v: %.60q", at, got)
	}
}

func TestDocument(t *testing.T) {
	big := `"` + strings.Repeat("z", 400<<10) + `"`
	tests := []struct {
		name, in string
		want     []string
		err      string // of the stream as a whole
	}{
		{"empty list", " [ ] \n", nil, ""},
		{"empty object", "{}", nil, ""},
		{"list", "[1 ,\n{\"a\":\"],}\\\"\"}, [2,[3]]\n]", []string{"1", `{"a":"],}\""}`, "[2,[3]]"}, ""},
		{"object", `{"a": {"x":1}, "b":2}`, []string{`{"a": {"x":1}}`, `{"b":2}`}, ""},
		{"too large goes on", "[1," + big + ",2]", []string{"1", "the record is longer than 1000 bytes", "2"}, ""},
		{"too large last", "[" + big + "]", []string{"the record is longer than 1000 bytes"}, ""},
		{"hole", "[1,,2]", []string{"1", "", "2"}, ""},
		{"nothing", " \n", nil, "empty"},
		{"scalar", "7", nil, "starts with '7'"},
		{"cut", `[1, {"a": 2`, []string{"1"}, "ends inside element 2"},
		{"cut in string", `["a`, nil, "ends inside element 1"},
		{"cut at once", `[`, nil, "ends inside element 1"},
		{"wrong bracket", `[1}`, nil, "brackets do not match"},
		{"two documents", `[1]` + "\n[2]", nil, "follows the end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			doc, err := strictjson.NewDocument(iotest.HalfReader(strings.NewReader(tt.in)), 1000)
			for err == nil {
				var rec []byte
				rec, _, err = doc.Next()
				if errors.As(err, new(*strictjson.TooLargeError)) {
					got, err = append(got, err.Error()), nil
				} else if err == nil {
					got = append(got, string(rec))
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("elements %.80q, want %.80q", got, tt.want)
			}
			if tt.err == "" && !errors.Is(err, io.EOF) || tt.err != "" && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

// What this package accepts is what encoding/json accepts, and text is equal
// unless encoding/json had to replace something.
func FuzzAgainstStandardLibrary(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\u00e9\ud83d\ude00"],"b":null}`, `"\ud800"`, "\"\xff\"", `[tru]`, `{"a":1,"a":2}`, "[\"\x7f\u2028\"]", ` 1 `, `-0`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := strictjson.Parse(data)
		if err != nil && strings.Contains(err.Error(), "deeper") {
			return
		}
		if (err == nil) != json.Valid(data) {
			t.Fatalf("%q: error %v, encoding/json says valid=%v", data, err, json.Valid(data))
		}
		if err != nil {
			return
		}
		if v.Kind == strictjson.String {
			var want string
			if uerr := json.Unmarshal(data, &want); uerr != nil {
				t.Fatal(uerr)
			}
			if got, err := v.Text(); err == nil && got != want {
				t.Fatalf("%q: text %q, want %q", data, got, want)
			} else if err != nil && !strings.Contains(want, "\ufffd") {
				t.Fatalf("%q: refused (%v), encoding/json reads %q", data, err, want)
			}
		}
		_ = v.CheckText()
		if v.Kind != strictjson.Array {
			return
		}
		var direct, streamed []string
		if err := strictjson.Elements(data, func(v strictjson.Value) error {
			direct = append(direct, string(v.Raw))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		doc, err := strictjson.NewDocument(bytes.NewReader(data), 1<<20)
		for err == nil {
			var rec []byte
			if rec, _, err = doc.Next(); err == nil {
				streamed = append(streamed, string(rec))
			}
		}
		if !errors.Is(err, io.EOF) || !slices.Equal(direct, streamed) {
			t.Fatalf("%q: streamed %q (%v), directly %q", data, streamed, err, direct)
		}
	})
}
