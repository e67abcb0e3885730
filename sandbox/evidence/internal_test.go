package evidence

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func FuzzDecode(f *testing.F) {
	for typ := range messages {
		f.Add(typ, []byte("\x0a\x06\x10\x07\x20\x07\x3a\x00"))
	}
	f.Add(uint16(msgRaw), []byte("\x0a\x04\x10\x07\x20\x07\x12\x02\x08\x01\x20\x65"))
	f.Add(uint16(msgExec), []byte("\x0a\x04\x10\x07\x20\x07\x12\x03/\xffx\x1a\x01y"))
	f.Add(uint16(msgConnect), []byte("\x0a\x04\x10\x07\x20\x07\x32\x08\x02\x00\x00\x50\x7f\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, typ uint16, body []byte) {
		packet := binary.NativeEndian.AppendUint16(nil, headerSize)
		packet = binary.NativeEndian.AppendUint16(packet, typ)
		packet = append(packet, 0, 0, 0, 0)
		packet = append(packet, body...)
		r, err := decode(packet)
		if err != nil {
			return
		}
		var got []Event
		tr := newTracker(DefaultWatch(), time.Now, func(e Event) { got = append(got, e) })
		tr.add(r)
		tr.end(0)
		if len(got) > 1 {
			t.Fatalf("one message made %d events", len(got))
		}
		for _, e := range got {
			b, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			// A byte takes 6 at worst (\u0000).
			if most := 6 * (maxPath + maxExe + maxArgsText + 4*maxArgText + 1024); len(b) > most {
				t.Fatalf("an event of %d bytes", len(b))
			}
			if severity, detail := judge(e); severity != "" && (!utf8.ValidString(detail) || len(detail) > 8*maxDetail) {
				t.Fatalf("row detail %q", detail)
			}
		}
	})
}

func TestPacer(t *testing.T) {
	now, slept := time.Unix(1000, 0), time.Duration(0)
	p := newPacer(2000, func() time.Time { return now }, func(d time.Duration) { slept += d; now = now.Add(d) })
	for range 100 { // an unhurried second
		p.step()
		now = now.Add(10 * time.Millisecond)
	}
	if slept != 0 {
		t.Errorf("slept %v without need", slept)
	}
	start := now
	for range 4000 {
		p.step()
	}
	if took := now.Sub(start); took < 1900*time.Millisecond || took > 2100*time.Millisecond || p.slept == 0 {
		t.Errorf("4000 messages at 2000 a second took %v", took)
	}
	now = now.Add(-time.Hour) // a clock that was set back must not stop us
	before := slept
	for range 100 {
		p.step()
	}
	if slept-before > time.Second {
		t.Errorf("slept %v because of the clock", slept-before)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
		cut   bool
	}{
		{"", 5, "", false},
		{"abc", 3, "abc", false},
		{"abcd", 3, "abc", true},
		{"aé", 2, "a", true},
		{"aé", 3, "aé", false},
		{"a\xff", 2, `a\xff`, false},
		{"\xc3", 9, `\xc3`, false},
		{"\xc3\xa9\xff\x80", 9, `é\xff\x80`, false},
	} {
		if got, cut := text([]byte(c.in), c.limit); got != c.want || cut != c.cut {
			t.Errorf("text(%q, %d) = %q, %v", c.in, c.limit, got, cut)
		}
	}
}

func TestWatch(t *testing.T) {
	w := Watch{Any: []string{"/a/b", "/c/", "key*", "/proc/*/mem"}, Write: []string{"w.py"}}
	for p, want := range map[string][2]string{ // read, write
		"/a/b":          {sevMedium, sevMedium},
		"/a/b/c":        {"", ""},
		"/c":            {sevMedium, sevMedium},
		"/c/x/y":        {sevMedium, sevMedium},
		"/cc":           {"", ""},
		"/x/key1":       {sevMedium, sevMedium},
		"/key1/x":       {"", ""},
		"/proc/1/mem":   {sevMedium, sevMedium},
		"/proc/1/2/mem": {"", ""},
		"/x/w.py":       {"", sevLow},
		"w.py":          {"", sevLow},
		"":              {"", ""},
	} {
		if got := [2]string{w.match(p, false), w.match(p, true)}; got != want {
			t.Errorf("%q: %q, want %q", p, got, want)
		}
	}
	if err := DefaultWatch().Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "[", "x/", "/x*/"} {
		if (Watch{Any: []string{bad}}).Validate() == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestPodInit(t *testing.T) {
	b, err := PodInit(Config{Socket: "/run/x/s", Digests: true})
	if err != nil {
		t.Fatal(err)
	}
	var c podInit
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	s := c.TraceSession
	if s.Name != "Default" || len(s.Sinks) != 1 || s.Sinks[0].Name != "remote" || s.Sinks[0].Config["endpoint"] != "/run/x/s" {
		t.Errorf("%s", b)
	}
	if !strings.Contains(string(b), "binary_sha256") {
		t.Error("programs are not hashed")
	}
	if strings.Contains(string(b), "open/exit") || strings.Contains(string(b), "openat/exit") {
		t.Error("opens are reported though none is watched")
	}
	for _, p := range s.Points {
		// One that is chosen inside could hide the event: see the package comment.
		if slices.Contains(p.ContextFields, "process_name") || slices.Contains(p.ContextFields, "cwd") {
			t.Errorf("%s asks for text of the sandbox", p.Name)
		}
	}
	if b, err = PodInit(Config{Socket: "/run/x/s", Watch: DefaultWatch()}); err != nil || !strings.Contains(string(b), "syscall/openat/exit") {
		t.Errorf("watched opens are not reported: %v", err)
	}
	if strings.Contains(string(b), "sha256") {
		t.Error("programs are hashed though nobody asked")
	}
	if _, err := PodInit(Config{Socket: "relative"}); err == nil {
		t.Error("a relative path passes")
	}
}
