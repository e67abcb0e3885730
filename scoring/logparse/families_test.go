package logparse_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"os"

	"harness/internal/checkout"
	"harness/scoring/logparse"
)

// What a row of SWE-rebench V2 says names another parser than it does in a row
// of SWE-bench.
func TestForSWERebenchV2(t *testing.T) {
	for row, want := range map[string]string{
		"parse_log_jq": "rebench2/parse_log_jq", "parse_logs_r_junit": "rebench2/parse_logs_r_junit",
		"parse_log_django": "rebench2/parse_log_django", "parse_log_next": "", "": "", "rebench2/parse_log_jq": "",
	} {
		name, ok := logparse.ForSWERebenchV2(row)
		if ok != (want != "") || ok && name != want {
			t.Errorf("%q: got %q, %t, want %q", row, name, ok, want)
		}
	}
}

// What SWE-rebench V2's _normalize_test_name makes of these names.
func TestStripTimes(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"  a b\u00a0\x1c":              "a b",
		"adds [1.34 ms]":               "adds",
		"adds[ 12 S ]  ":               "adds",
		"adds (1.2s)":                  "adds",
		"adds (12 ms) ":                "adds",
		"both (3ms) [3 ms]":            "both",
		"a [3 s] (12 ms)":              "a [3 s]",
		"ran 3 tests in 29.08 msec ok": "ran 3 tests ok",
		"took in 3 sec, and in 1 msec": "took, and",
		"a in 3.5 msec, b in 1 SEC.":   "a, b.",
		"a in 3 secs":                  "a in 3 secs",
		"a in 3 sec_":                  "a in 3 sec_",
		"a in 3 secs in 4 sec":         "a in 3 secs",
		"a in 3 sec in 4 sec":          "a",
		"a within 3 sec":               "a within 3 sec",
		"a in .5 sec":                  "a in .5 sec",
		"a [x ms]":                     "a [x ms]",
		"a [1 min]":                    "a [1 min]",
		"a [1 ms] b":                   "a [1 ms] b",
		"a [\u0661 ms]":                "a",
		"a [1 m\u017f]":                "a",
		"[1 ms]":                       "",
		"a\n[1 ms]\n":                  "a",
		" \u00a0white space\u2003":     "white space",
	} {
		if got := logparse.StripTimes(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestForMultiSWEBench(t *testing.T) {
	for _, tt := range []struct {
		org, repo, interval string
		number              int
		want                string
	}{
		{"google", "gson", "", 1093, "multi/gson"},
		{"mockito", "mockito", "", 3129, "multi/gradle"},
		{"facebook", "zstd", "", 3000, "multi/automake"},
		{"facebook", "zstd", "", 1831, "multi/zstd_decoder"},
		{"facebook", "zstd", "", 1748, "multi/zstd_pool"},
		{"expressjs", "express", "", 4212, "multi/mocha"},
		{"expressjs", "express", "", 3870, "multi/mocha_json"},
		{"facebook", "zstd", "zstd_630_to_325", 400, ""},
		{"nobody", "nothing", "", 1, ""},
	} {
		name, ok := logparse.ForMultiSWEBench(tt.org, tt.repo, tt.interval, tt.number)
		if name != tt.want || ok != (tt.want != "") {
			t.Errorf("%s/%s %s %d: got %q, want %q", tt.org, tt.repo, tt.interval, tt.number, name, tt.want)
		}
		if _, known := logparse.Lookup(name); ok && !known {
			t.Errorf("%s: there is no such parser", name)
		}
	}
}

// multiLog writes results as the runners of Multi-SWE-bench's Java rows do.
var multiLog = map[string]func(name, status string) string{
	"multi/surefire": func(name, status string) string {
		return fmt.Sprintf("[INFO] Tests run: 2, %s, Time elapsed: 0.1 s - in %s\n", surefireCounts[status], name)
	},
	"multi/gson": func(name, status string) string {
		return fmt.Sprintf("Running %s\nprinted\nTests run: 2, %s, Time elapsed: 0.1 sec\n", name, surefireCounts[status])
	},
	"multi/surefire_pairs": func(name, status string) string {
		return fmt.Sprintf("Running %s\nTests run: 2, %s, Time elapsed: 0.1 sec\n", name, surefireCounts[status])
	},
	"multi/gradle": func(name, status string) string {
		if strings.Contains(name, " > ") {
			return name + " " + status + "\n"
		}
		return "> Task :" + name + map[string]string{logparse.Passed: "", logparse.Failed: " FAILED", logparse.Skipped: " NO-SOURCE"}[status] + "\n"
	},
}

var surefireCounts = map[string]string{
	logparse.Passed:  "Failures: 0, Errors: 0, Skipped: 1",
	logparse.Failed:  "Failures: 1, Errors: 0, Skipped: 0",
	logparse.Skipped: "Failures: 0, Errors: 0, Skipped: 2",
}

// Each row of Multi-SWE-bench has a parser, and that parser finds every test of
// the row's recorded results, under the row's name for it, in a log of its runner.
func TestMultiSWEBenchRows(t *testing.T) {
	multiLog["multi/surefire_plain"], multiLog["multi/jib"] = multiLog["multi/surefire"], multiLog["multi/gradle"]
	type result struct {
		Passed  []string `json:"passed_tests"`
		Failed  []string `json:"failed_tests"`
		Skipped []string `json:"skipped_tests"`
	}
	rows, tests := 0, 0
	eachRow(t, "multi_swe_bench_java.jsonl.zst", func(raw []byte) {
		var row struct {
			Org, Repo string
			Number    int
			Fix       result `json:"fix_patch_result"`
		}
		if err := json.Unmarshal(raw, &row); err != nil {
			t.Fatal(err)
		}
		rows++
		name, ok := logparse.ForMultiSWEBench(row.Org, row.Repo, "", row.Number)
		write := multiLog[name]
		if !ok || write == nil {
			t.Errorf("%s/%s: no parser, or none that this test knows: %q", row.Org, row.Repo, name)
			return
		}
		var log strings.Builder
		log.WriteString("T E S T S\n")
		want := map[string]string{}
		for _, l := range []struct {
			names  []string
			status string
		}{{row.Fix.Failed, logparse.Failed}, {row.Fix.Passed, logparse.Passed}, {row.Fix.Skipped, logparse.Skipped}} {
			for _, n := range l.names {
				if name == "multi/jib" && l.status == logparse.Skipped {
					continue // its parser never finds any
				}
				log.WriteString(write(n, l.status))
				want[n] = l.status
			}
		}
		p, _ := logparse.Lookup(name)
		res, err := p.Parse(strings.NewReader(log.String()), logparse.Options{Dialect: logparse.V5})
		if err != nil {
			t.Errorf("%s/%s: %v", row.Org, row.Repo, err)
		}
		tests += len(want)
		if got := maps.Collect(res.Tests.All()); !maps.Equal(got, want) {
			t.Errorf("%s/%s %d: %d tests, want %d; differs: %v", row.Org, row.Repo, row.Number, len(got), len(want), firstDifference(got, want))
		}
	})
	t.Logf("%d rows, %d tests", rows, tests)
	if rows < 50 || tests < 10_000 {
		t.Errorf("%d rows with %d tests are too few", rows, tests)
	}
}

func firstDifference(got, want map[string]string) string {
	for _, n := range slices.Sorted(maps.Keys(want)) {
		if got[n] != want[n] {
			return fmt.Sprintf("%q is %q, want %q", n, got[n], want[n])
		}
	}
	return "more than wanted"
}

// eachRow reads a file of rows of the real data.
func eachRow(t *testing.T, file string, f func(raw []byte)) {
	t.Helper()
	r, err := os.Open(checkout.SharedData(t, "instances", file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	z, err := zstd.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	s := bufio.NewScanner(z)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		f(s.Bytes())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}
