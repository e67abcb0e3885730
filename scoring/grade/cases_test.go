package grade_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"harness/eval"
	"harness/internal/checkout"
	"harness/scoring/grade"
	"harness/scoring/logparse"
)

// realCase is a log with what three releases of the official harness say of it.
type realCase struct {
	name     string
	instance []byte
	log      []byte
	expected []byte
}

// eachCase streams the archive of real logs.
func eachCase(t testing.TB, f func(c realCase)) {
	t.Helper()
	file, err := os.Open(filepath.Join(checkout.SharedData(t), "logs", "cases.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := zstd.NewReader(file, zstd.WithDecoderMaxWindow(1<<27), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var c realCase
	flush := func() {
		if c.expected != nil && c.log != nil {
			f(c)
		}
	}
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			flush()
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if name := path.Base(path.Dir(h.Name)); name != c.name {
			flush()
			c = realCase{name: name}
		}
		switch path.Base(h.Name) {
		case "instance.json":
			c.instance = data
		case "test_output.txt":
			c.log = data
		case "expected.json":
			c.expected = data
		}
	}
}

// officialSays is what one release says of a log.
type officialSays struct {
	Found     bool            `json:"found"`
	StatusMap json.RawMessage `json:"status_map"`
	ExitCode  *int            `json:"exit_code"`
	Report    json.RawMessage `json:"report"`
	Error     string          `json:"error"`
}

// Every real log is graded as three releases of the official harness grade it:
// the same status map in the same order, and the same report.
func TestRealLogs(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 150 MB of logs")
	}
	eras := []struct {
		profile, key string
		want         int // at least so many compared
	}{
		{"swebench", "swebench-5.0.2", 1434},
		{"swebench-4", "swebench-4.1.0", 1434},
		{"swebench-2", "swebench-2.1.7", 1434},
	}
	compared, errs := map[string]int{}, 0
	parsers, lacking := map[string]int{}, map[string]int{}
	eachCase(t, func(c realCase) {
		var task eval.Task
		if err := json.Unmarshal(c.instance, &task); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var says map[string]json.RawMessage
		if err := json.Unmarshal(c.expected, &says); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, ok := logparse.Lookup(task.LogParser); !ok {
			lacking[task.LogParser]++
			return
		}
		parsers[task.LogParser]++
		for _, era := range eras {
			var want officialSays
			if err := json.Unmarshal(says[era.key], &want); err != nil {
				t.Fatalf("%s: %s: %v", c.name, era.key, err)
			}
			p, err := grade.ByName(era.profile)
			if err != nil {
				t.Fatal(err)
			}
			compared[era.profile]++
			if d := compareCase(p, &task, c.log, want); d != "" {
				if errs++; errs < 30 {
					t.Errorf("%s: %s: %s", c.name, era.profile, d)
				}
			}
		}
	})
	t.Logf("compared %v logs, of %d parsers %v; without a parser: %v", compared, len(parsers), parsers, lacking)
	if errs > 0 {
		t.Errorf("%d comparisons failed", errs)
	}
	for _, era := range eras {
		if compared[era.profile] < era.want {
			t.Errorf("%s: compared %d logs, want at least %d", era.profile, compared[era.profile], era.want)
		}
	}
}

func compareCase(p grade.Profile, task *eval.Task, log []byte, want officialSays) string {
	res, err := p.Grade(grade.Input{
		Task: task, PatchGiven: true, Applied: true,
		Log: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(log)), nil },
	})
	if err != nil {
		return err.Error()
	}
	if want.Error != "" {
		if res.Verdict.Official != nil || res.Verdict.Resolved {
			return "official raises " + want.Error + ", we give a report"
		}
		return ""
	}
	if res.Verdict.Official == nil {
		return "no report: " + res.Reason
	}
	got, err := json.Marshal(res.StatusMap)
	if err != nil {
		return err.Error()
	}
	if d := sameJSON("status map", got, want.StatusMap); d != "" {
		return d
	}
	got, err = json.Marshal(res.Verdict.Official)
	if err != nil {
		return err.Error()
	}
	return sameJSON("report", got, want.Report)
}

// sameJSON compares two documents with the order of keys in status maps.
func sameJSON(what string, got, want []byte) string {
	if g, w := tokens(got), tokens(want); what == "status map" && !reflect.DeepEqual(g, w) {
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				return fmt.Sprintf("%s differs at token %d: got %q, want %q", what, i, g[i], w[i])
			}
		}
		return fmt.Sprintf("%s: got %d tokens, want %d: %.300s", what, len(g), len(w), strings.Join(append(g, w...)[min(len(g), len(w)):], " "))
	}
	var g, w any
	if err := errors.Join(json.Unmarshal(got, &g), json.Unmarshal(want, &w)); err != nil {
		return err.Error()
	}
	if !reflect.DeepEqual(g, w) {
		return fmt.Sprintf("%s: got %.600s, want %.600s", what, got, want)
	}
	return ""
}

func tokens(b []byte) []string {
	var out []string
	for d := json.NewDecoder(bytes.NewReader(b)); ; {
		tok, err := d.Token()
		if err != nil {
			return out
		}
		out = append(out, fmt.Sprint(tok))
	}
}
