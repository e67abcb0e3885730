//go:build oracle

package oracle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"harness/eval"
	"harness/scoring/grade"
)

// releases are the official ones and the profiles that must grade as they do.
var releases = []struct {
	version, profile string
	share            int // one log in so many is graded with it
}{
	{"5.0.2", "swebench", 1},
	{"4.1.0", "swebench-4", 4},
	{"2.1.7", "swebench-2", 4},
}

// TestOracle grades mutated logs with the official harness and with ours: nothing
// that either says may differ. run.sh sets the environment it needs.
func TestOracle(t *testing.T) {
	dir := os.Getenv("HARNESS_ORACLE")
	if dir == "" {
		t.Fatal("HARNESS_ORACLE does not name the folder that venv.sh filled; start this test with internal/oracle/run.sh")
	}
	count, seed := number(t, "HARNESS_ORACLE_LOGS", 2000), number(t, "HARNESS_ORACLE_SEED", 1)
	list := bases(t)
	t.Logf("seed %d, %d logs from %d bases", seed, count, len(list))
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			p, err := grade.ByName(r.profile)
			if err != nil {
				t.Fatal(err)
			}
			from := list
			if r.version != "5.0.2" {
				from = knownTo(p, list) // the others would compare errors with errors
			}
			compareAll(t, start(t, dir, r.version), p, from, count/r.share, uint64(seed))
		})
	}
}

// knownTo leaves the real logs whose repository and parser an older release has.
func knownTo(p grade.Profile, list []base) []base {
	var out []base
	for _, b := range list {
		if !b.real {
			continue
		}
		if res, _, err := ours(p, b.task, b.log); err == nil && res.Verdict.Official != nil {
			out = append(out, b)
		}
	}
	return out
}

func compareAll(t *testing.T, o *official, p grade.Profile, list []base, count int, seed uint64) {
	var theirs, our time.Duration
	differences, errs, refused, slow := 0, 0, 0, 0
	for i := range count {
		task, log, how := mutate(list[i%len(list)], seed, i)
		want, err := o.grade(task, log)
		if err != nil {
			t.Fatalf("log %d (%s): %v", i, how, err)
		}
		if want.TooSlow {
			slow++
			t.Logf("log %d (%s): the official grader was stopped after 20 seconds", i, how)
			continue
		}
		got, took, err := ours(p, task, log)
		if err != nil {
			t.Errorf("log %d (%s): %v", i, how, err)
			continue
		}
		theirs, our = theirs+time.Duration(want.Seconds*float64(time.Second)), our+took
		if want.Error != "" {
			errs++
		} else if !want.Found {
			refused++
		}
		if d := difference(got, want); d != "" {
			differences++
			if differences <= 20 {
				t.Errorf("log %d (%s): %s\n  kept in %s", i, how, d, keep(t, o, p, task, log, i))
			}
		}
	}
	t.Logf("%d logs: %d differences, %d of them not gradable, %d raise, %d too slow for the official grader", count, differences, refused, errs, slow)
	t.Logf("same logs, one core each: official %s, ours %s: %.0f times as fast", theirs.Round(time.Millisecond), our.Round(time.Millisecond), theirs.Seconds()/our.Seconds())
	if slow > count/100 {
		t.Errorf("%d of %d logs were not compared", slow, count)
	}
}

// keep writes a difference as a small case and returns its folder.
func keep(t *testing.T, o *official, p grade.Profile, task *eval.Task, log []byte, index int) string {
	t.Helper()
	differ := func(log []byte) bool {
		want, err := o.grade(task, log)
		if err != nil || want.TooSlow {
			return false
		}
		got, _, err := ours(p, task, log)
		return err == nil && difference(got, want) != ""
	}
	log = shrink(log, 600, differ)
	want, err := o.grade(task, log)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := ours(p, task, log)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(os.Getenv("HARNESS_ORACLE_KEEP"), fmt.Sprintf("%s-%d", p.Name, index))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{
		"instance.json": task, "official.json": want, "ours.json": grade.JSON(got), "test_output.txt": log,
	} {
		data, ok := v.([]byte)
		if !ok {
			if data, err = json.MarshalIndent(v, "", " "); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, not a number of at least 1", name, s)
	}
	return n
}
