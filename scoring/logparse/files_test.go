package logparse_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/scoring/logparse"
)

var update = flag.Bool("update", false, "rewrite the expected part of testdata files")

// TestFiles runs every file of testdata. A file is a header, a blank line and
// the raw log. The header names the parser ("parser NAME"; several that must
// give the same have a line each), perhaps what it may look at ("instance ID",
// "version V"), and then what is expected: "STATUS name" in order, with quotes
// where a name needs them, or "raises KIND". Every parser has a file.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d files, %v", len(files), err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			header, log, ok := strings.Cut(string(data), "\n\n")
			if !ok {
				t.Fatal("no blank line behind the header")
			}
			opt := logparse.Options{Dialect: logparse.V5}
			var parsers, settings, want []string
			for _, line := range strings.Split(header, "\n") {
				key, value, _ := strings.Cut(line, " ")
				switch key {
				case "parser":
					parsers = append(parsers, value)
				case "instance":
					opt.InstanceID = value
				case "version":
					opt.Version = value
				default:
					want = append(want, line)
					continue
				}
				settings = append(settings, line)
			}
			if *update {
				want = parseFile(t, parsers[0], log, opt)
				content := strings.Join(append(settings, want...), "\n") + "\n\n" + log
				if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range parsers {
				seen[name] = true
				got := parseFile(t, name, log, opt)
				if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
					t.Errorf("%s: got\n%s\nwant\n%s", name, g, w)
				}
			}
		})
	}
	for _, p := range logparse.Builtin() {
		if !seen[p.Name] {
			t.Errorf("testdata has no log for %s", p.Name)
		}
	}
}

func parseFile(t *testing.T, name, log string, opt logparse.Options) []string {
	t.Helper()
	p, ok := logparse.Lookup(name)
	if !ok {
		t.Fatalf("parser %q is not known", name)
	}
	res, err := p.Parse(logparse.TextMode(strings.NewReader(log)), opt)
	return outcome(res, err)
}

func outcome(res logparse.Result, err error) []string {
	var out []string
	for n, s := range res.Tests.All() {
		if q := fmt.Sprintf("%q", n); n != strings.TrimSpace(n) || q != `"`+n+`"` {
			n = q
		}
		out = append(out, s+" "+n)
	}
	if err != nil {
		kind := err.Error()
		var raised *logparse.RaisedError
		if errors.As(err, &raised) {
			kind = raised.Kind
		}
		out = append(out, "raises "+kind)
	}
	if len(out) == 0 {
		out = []string{"nothing"}
	}
	return out
}
