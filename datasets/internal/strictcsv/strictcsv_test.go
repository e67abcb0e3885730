package strictcsv_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"harness/datasets/internal/strictcsv"
)

// read returns each record as "line: field|field" or "line: error", and the error that ended it.
func read(r io.Reader, limit int) (out []string, err error) {
	in := strictcsv.New(iotest.HalfReader(r), limit)
	for {
		fields, line, err := in.Next()
		switch {
		case errors.As(err, new(*strictcsv.TooLargeError)), errors.As(err, new(*strictcsv.SyntaxError)):
			out = append(out, fmt.Sprintf("%d! %v", line, err))
			continue
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, err
		}
		var parts []string
		for _, f := range fields {
			text := string(f.Text)
			if f.Quoted {
				text = "'" + text + "'"
			}
			parts = append(parts, text)
		}
		out = append(out, fmt.Sprintf("%d: %s", line, strings.Join(parts, "|")))
	}
}

func TestRecords(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
		err      string
	}{
		{"plain", "a,b\n1,2\n", []string{"1: a|b", "2: 1|2"}, ""},
		{"no newline at the end, CR LF, BOM", "\xef\xbb\xbfa,b\r\n1,2", []string{"1: a|b", "2: 1|2"}, ""},
		{"line ends inside quotes are kept", "\"x\r\ny\nz\",2\r\n3,4\n", []string{"1: 'x\r\ny\nz'|2", "4: 3|4"}, ""},
		{"doubled quotes", `"say ""hi""",""` + "\n", []string{`1: 'say "hi"'|''`}, ""},
		{"empty fields and lines", "\n,\n\r\n\"\"\n", []string{"2: |", "4: ''"}, ""},
		{"comma last", "a,", []string{"1: a|"}, ""},
		{"CR that ends no line", "a\rb,\r\n", []string{"1: a\rb|"}, ""},
		{"bytes stay", "\x00\xff,ü\n", []string{"1: \x00\xff|ü"}, ""},
		{"quote inside", "ok,1\nit\"s,2\n3,4\n", []string{"1: ok|1", `2! not valid CSV on line 2, column 1 of the record: a quote stands inside a field that does not begin with one; put the field in quotes and write "" for a quote`, "3: 3|4"}, ""},
		{"text behind quotes", "1,\"a\nb\"c\n5,6\n", []string{`1! not valid CSV on line 2, column 2 of the record: a quote inside quotes is followed by neither a quote, a comma nor the end of the line; write "" for a quote`, "3: 5|6"}, ""},
		{"cut", "a,b\n1,\"two\nthree\n", []string{"1: a|b"}, "ends inside the quotes that line 2 opens"},
		{"too long", "a\n" + strings.Repeat("x", 200) + "\n\"" + strings.Repeat("y\n", 100) + "\"\nb\n", []string{"1: a", "2! the record is longer than 100 bytes", "3! the record is longer than 100 bytes", "104: b"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(strings.NewReader(tt.in), 100)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
	if _, err := read(iotest.ErrReader(io.ErrUnexpectedEOF), 100); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read error: %v", err)
	}
}

// What the standard library reads is read alike, but for the CR that it drops.
func FuzzAgainstStandardLibrary(f *testing.F) {
	for _, s := range []string{"a,b\n\"1\",\"x\"\"y\nz\"\n", "a,\n,\n\n\"\"", "\"a\"b\n", "a\"\n", "\"a", "\r\n\r,\"\r\"\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if strings.HasPrefix(in, "\xef\xbb\xbf") {
			return
		}
		std := csv.NewReader(strings.NewReader(in))
		std.FieldsPerRecord = -1
		want, stdErr := std.ReadAll()
		var got [][]string
		r := strictcsv.New(strings.NewReader(in), 1<<20)
		var bad error
		for {
			fields, _, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				bad = err
				if !errors.As(err, new(*strictcsv.SyntaxError)) {
					break
				}
				continue
			}
			var rec []string
			for _, field := range fields {
				rec = append(rec, string(field.Text))
			}
			got = append(got, rec)
		}
		// A lone CR before the end of the file is dropped there, and kept here.
		if strings.Contains(in, "\r") {
			return
		}
		if (bad == nil) != (stdErr == nil) {
			t.Fatalf("%q: %v, the standard library says %v", in, bad, stdErr)
		}
		if bad == nil && !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%q: %q, the standard library reads %q", in, got, want)
		}
	})
}
