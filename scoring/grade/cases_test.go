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
	"slices"
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
// the same status map in the same order, and the same report. Where a report was
// published with the log, the rules of its era give that report. And whatever is
// resolved officially is resolved under strict rules, but for logs whose results
// are not where they belong.
func TestRealLogs(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 150 MB of logs")
	}
	eras := []struct {
		profile, key, published string
	}{
		{"swebench", "swebench-5.0.2", ""},
		{"swebench-4", "swebench-4.1.0", "v3-v4"},
		{"swebench-2", "swebench-2.1.7", "v2"},
	}
	const wantLogs, wantPublished, wantStrict = 1434, 773, 547
	compared, published, errs := map[string]int{}, 0, 0
	agree, unlike := 0, map[string]int{}
	fail := func(format string, args ...any) {
		if errs++; errs < 30 {
			t.Errorf(format, args...)
		}
	}
	eachCase(t, func(c realCase) {
		var task struct {
			eval.Task
			Era string `json:"harness_era"`
		}
		var says map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal(c.instance, &task), json.Unmarshal(c.expected, &says)); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, ok := logparse.Lookup(task.LogParser); !ok {
			return // of another harness
		}
		in := grade.Input{
			Task: &task.Task, PatchGiven: true, Applied: true,
			Log: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.log)), nil },
		}
		for _, era := range eras {
			var want officialSays
			if err := json.Unmarshal(says[era.key], &want); err != nil {
				t.Fatalf("%s: %s: %v", c.name, era.key, err)
			}
			res, err := profile(t, era.profile).Grade(in)
			if err != nil {
				fail("%s: %s: %v", c.name, era.profile, err)
				continue
			}
			compared[era.profile]++
			if d := compareCase(res, want); d != "" {
				fail("%s: %s: %s", c.name, era.profile, d)
			}
			if report := says["official"]; era.published == task.Era && string(report) != "null" {
				published++
				if d := sameReport(res.Verdict.Official, report); d != "" {
					fail("%s: published report: %s", c.name, d)
				}
			}
			if era.profile == "swebench" && res.Verdict.Resolved {
				strict, err := profile(t, "strict").Grade(in)
				switch {
				case err != nil:
					fail("%s: strict: %v", c.name, err)
				case strict.Verdict.Resolved:
					agree++
				case slices.Contains(res.Verdict.Flags, "whole_log_fallback") && slices.Contains(strict.Verdict.Flags, "no_results"):
					unlike["results outside of the markers"]++
				default:
					fail("%s: resolved officially, %s under strict rules: %s, flags %v", c.name, strict.Verdict.Outcome, strict.Reason, strict.Verdict.Flags)
				}
			}
		}
	})
	t.Logf("compared %v logs with what the official code says of them and %d published reports; strict agrees on %d resolved ones, not on %v",
		compared, published, agree, unlike)
	if errs > 0 {
		t.Errorf("%d comparisons failed", errs)
	}
	for _, era := range eras {
		if compared[era.profile] < wantLogs {
			t.Errorf("%s: compared %d logs, want at least %d", era.profile, compared[era.profile], wantLogs)
		}
	}
	if published < wantPublished || agree < wantStrict {
		t.Errorf("compared %d published reports, want at least %d; strict agrees on %d, want at least %d", published, wantPublished, agree, wantStrict)
	}
}

func compareCase(res grade.Result, want officialSays) string {
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

// sameReport compares with a published report field by field, lists as sets:
// datasets were sorted anew since.
func sameReport(got *eval.OfficialReport, published []byte) string {
	var want eval.OfficialReport
	if err := json.Unmarshal(published, &want); err != nil {
		return err.Error()
	}
	if got == nil {
		return "we give none"
	}
	g, w := *got, want
	for _, r := range []*eval.OfficialReport{&g, &w} {
		if r.TestsStatus == nil {
			continue
		}
		st := *r.TestsStatus
		for _, l := range []*eval.SuccessFailure{&st.FailToPass, &st.PassToPass, &st.FailToFail, &st.PassToFail} {
			l.Success, l.Failure = sorted(l.Success), sorted(l.Failure)
		}
		r.TestsStatus = &st
	}
	if !reflect.DeepEqual(g, w) {
		a, _ := json.Marshal(g)
		b, _ := json.Marshal(w)
		return fmt.Sprintf("got %.600s, want %.600s", a, b)
	}
	return ""
}

// sorted is a copy of a list as a set; never nil.
func sorted(list []string) []string {
	out := append([]string{}, list...)
	slices.Sort(out)
	return slices.Compact(out)
}

// sameJSON compares two documents, status maps with the order of their keys.
func sameJSON(what string, got, want []byte) string {
	if what == "status map" {
		g, w := tokens(got), tokens(want)
		if slices.Equal(g, w) {
			return ""
		}
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
