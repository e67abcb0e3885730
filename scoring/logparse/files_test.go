package logparse_test

import (
	"bytes"
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
// the raw log. The header names the parser ("parser NAME"), perhaps what it may
// look at ("instance ID", "version V"), and then what is expected: "STATUS name"
// in order, with quotes where a name needs them, or "raises KIND".
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
			var parser string
			var settings, want []string
			for _, line := range strings.Split(header, "\n") {
				key, value, _ := strings.Cut(line, " ")
				switch key {
				case "parser":
					parser = value
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
			p, ok := logparse.Lookup(parser)
			if !ok {
				t.Fatalf("parser %q is not known", parser)
			}
			seen[parser] = true
			res, err := p.Parse(logparse.TextMode(strings.NewReader(log)), opt)
			got := outcome(res, err)
			if *update {
				var b bytes.Buffer
				for _, l := range append(settings, got...) {
					fmt.Fprintln(&b, l)
				}
				fmt.Fprintf(&b, "\n%s", log)
				if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
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
