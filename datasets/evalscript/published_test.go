package evalscript_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"harness/datasets/evalscript"
	"harness/eval"
	"harness/internal/checkout"
)

// eachRow gives the text fields of every row of a published file.
func eachRow(t *testing.T, file string, f func(row eval.Task)) {
	t.Helper()
	in, err := os.Open(filepath.Join(checkout.SharedData(t), "instances", file+".jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := zstd.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for r := bufio.NewReaderSize(z, 1<<20); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			var row struct {
				InstanceID, Repo, Version, Image string
				BaseCommit                       string `json:"base_commit"`
				ID                               string `json:"instance_id"`
				TestPatch                        string `json:"test_patch"`
				EvalScript                       string `json:"eval_script"`
				LogParser                        string `json:"log_parser"`
				EvalType                         string `json:"eval_type"`
			}
			if err := json.Unmarshal(line, &row); err != nil {
				t.Fatal(err)
			}
			f(eval.Task{
				InstanceID: row.ID, Repo: row.Repo, Version: row.Version, BaseCommit: row.BaseCommit, TestPatch: row.TestPatch,
				Image: row.Image, EvalScript: row.EvalScript, LogParser: row.LogParser, EvalType: row.EvalType,
			})
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// derivedMark is the end mark of the rows published in February 2026: a digest
// of the patch instead of a constant.
var derivedMark = regexp.MustCompile(`\bEOF_[0-9a-f]{12}\b`)

// Rows that carry their script show what the spec table has to give: with their
// script, image, parser and type taken away, the same must come back.
func TestPublishedScripts(t *testing.T) {
	tests := []struct {
		file    string
		form    evalscript.Form
		equal   int
		unknown int // rows of repositories that the table does not have
		// differ are the rows whose script is another one, by reason.
		differ map[string]int
	}{
		{file: "official_202602_SWE-bench_Verified_test", form: evalscript.V4, equal: 500},
		{file: "official_202602_SWE-bench_Multilingual_test", form: evalscript.V4, equal: 299, differ: map[string]int{quotedName: 1}},
		{file: "official_SWE-bench_Verified_test", equal: 500},
		{file: "official_SWE-bench_Lite_test", equal: 300},
		{file: "official_SWE-bench_Lite_dev", equal: 23},
		{file: "official_SWE-bench_dev", equal: 225},
		{file: "official_SWE-bench_Multilingual_test", equal: 296, differ: map[string]int{quotedName: 2, stderrApart: 2}},
		{file: "official_SWE-bench_Multimodal_dev", equal: 93, differ: map[string]int{perPackage: 9}},
		{file: "official_multimodal_tasks_repo", equal: 25, unknown: 510, differ: map[string]int{
			perFile: 37, longerWait: 24, docsFirst: 16,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			equal, unknown, differ := 0, 0, map[string]int{}
			eachRow(t, tt.file, func(row eval.Task) {
				bare := row
				bare.Image, bare.EvalScript, bare.LogParser, bare.EvalType = "", "", "", ""
				filled, err := evalscript.Complete(&bare, tt.form)
				if errors.As(err, new(*evalscript.UnknownSpecError)) {
					unknown++
					return
				}
				if err != nil {
					t.Errorf("%s: %v", row.InstanceID, err)
					return
				}
				if !slices.Equal(filled, []string{"eval_script", "eval_type", "image", "log_parser"}) {
					t.Errorf("%s: filled %v", row.InstanceID, filled)
				}
				if bare.Image != row.Image || bare.LogParser != row.LogParser || bare.EvalType != row.EvalType {
					t.Errorf("%s: got %s %s %s, published %s %s %s", row.InstanceID,
						bare.Image, bare.LogParser, bare.EvalType, row.Image, row.LogParser, row.EvalType)
				}
				script, published := bare.EvalScript, row.EvalScript
				if tt.form == evalscript.V4 {
					published = derivedMark.ReplaceAllString(published, "EOF_114329324912")
				}
				if script == published {
					equal++
					return
				}
				why := reason(script, published)
				if differ[why]++; why == "unexplained" {
					t.Logf("%s: %s\n%s", row.InstanceID, why, firstDifference(script, published))
				}
			})
			t.Logf("equal %d, unknown %d, differ %v", equal, unknown, differ)
			if equal != tt.equal || unknown != tt.unknown || !maps.Equal(differ, tt.differ) {
				t.Errorf("equal %d, unknown %d, differ %v; want %d, %d, %v", equal, unknown, differ, tt.equal, tt.unknown, tt.differ)
			}
		})
	}
}

// Reasons why a published script is not what the table gives.
const (
	quotedName  = "a file name has characters of the shell and is quoted by us only"
	stderrApart = "published with the tests' standard error kept out of the way, for this task only"
	perPackage  = "published with the tests of the packages that the test patch touches only"
	perFile     = "published with each test file run by itself"
	longerWait  = "published with a longer time-out for the browser"
	docsFirst   = "published with the documentation built before the tests"
)

// reason names the first that explains all of a difference.
func reason(ours, published string) string {
	if plain := strings.NewReplacer("'", "", ":(literal)", ""); plain.Replace(ours) == plain.Replace(published) {
		return quotedName
	}
	lines := make(map[string]bool)
	for line := range strings.SplitSeq(ours, "\n") {
		lines[line] = true
	}
	for _, r := range []struct{ why, line string }{
		{stderrApart, "{ set +x; } 2>/dev/null"},
		{perPackage, "./node_modules/.bin/jest --no-color packages/"},
		{perFile, "CFG=test/client/jest.config.json;"},
		{longerWait, "browserNoActivityTimeout: 300000"},
		{docsFirst, "./node_modules/.bin/grunt yui --quiet || true"},
	} {
		for line := range strings.SplitSeq(published, "\n") {
			if !lines[line] && strings.Contains(line, r.line) {
				return r.why
			}
		}
	}
	return "unexplained"
}

func firstDifference(a, b string) string {
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(la), len(lb)) {
		if la[i] != lb[i] {
			return "ours:      " + la[i] + "\npublished: " + lb[i]
		}
	}
	return "one is longer"
}
