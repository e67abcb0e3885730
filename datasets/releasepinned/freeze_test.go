package releasepinned_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"harness/datasets/releasepinned"
	"harness/eval"
)

type runs = []map[string]string

func TestFreeze(t *testing.T) {
	task := eval.Task{
		InstanceID: "x__x-1",
		FailToPass: []string{"test_fix (m.C)", "test_early (m.C)", "gone"},
		PassToPass: []string{"test_keep (m.C)", "exact", "late", "broken", "flaky", "skipped", "xfail", "exact", "lost"},
	}
	gold := map[string]string{
		"test_fix (m.C.test_fix)": "PASSED", "test_early (m.C.test_early)": "PASSED", "test_keep (m.C.test_keep)": "PASSED",
		"exact": "PASSED", "late": "PASSED", "lost": "PASSED", "broken": "FAILED", "flaky": "PASSED", "skipped": "SKIPPED", "xfail": "XFAIL", "unlisted": "PASSED",
	}
	noop := map[string]string{
		"test_fix (m.C.test_fix)": "ERROR", "test_early (m.C.test_early)": "PASSED", "test_keep (m.C.test_keep)": "PASSED",
		"exact": "PASSED", "late": "FAILED", "broken": "FAILED", "flaky": "PASSED", "skipped": "SKIPPED", "xfail": "XFAIL",
	}
	flaked := map[string]string{}
	for k, v := range gold {
		flaked[k] = v
	}
	flaked["flaky"] = "FAILED"

	got, err := releasepinned.Freeze(task, runs{gold, flaked}, runs{noop})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"test_fix (m.C.test_fix)", "late"}; !slices.Equal(got.FailToPass, want) {
		t.Errorf("FAIL_TO_PASS = %q, want %q", got.FailToPass, want)
	}
	if want := []string{"test_early (m.C.test_early)", "test_keep (m.C.test_keep)", "exact", "xfail"}; !slices.Equal(got.PassToPass, want) {
		t.Errorf("PASS_TO_PASS = %q, want %q", got.PassToPass, want)
	}
	f := got.Frozen
	if f.GoldRuns != 2 || f.NoopRuns != 1 || f.PublishedF2P != 3 || f.PublishedP2P != 9 || !slices.Equal(f.Missing, []string{"gone"}) {
		t.Errorf("frozen = %+v", f)
	}
	for _, want := range []string{"1 never seen", "2 fail with the gold patch", "1 differ", "1 published as PASS_TO_PASS never seen without", "1 published as FAIL_TO_PASS pass without it"} {
		if !strings.Contains(f.Note, want) {
			t.Errorf("note %q lacks %q", f.Note, want)
		}
	}
	if task.Frozen != nil || len(task.FailToPass) != 3 {
		t.Error("the task that was given has changed")
	}
}

func TestFreezeRefuses(t *testing.T) {
	task := eval.Task{InstanceID: "x__x-1", FailToPass: []string{"a"}}
	pass, fail := map[string]string{"a": "PASSED"}, map[string]string{"a": "FAILED"}
	for name, tc := range map[string]struct {
		gold, noop runs
		nothing    bool
	}{
		"no gold run":       {nil, runs{fail}, false},
		"no unpatched run":  {runs{pass}, nil, false},
		"passes before":     {runs{pass}, runs{pass}, true},
		"fails after":       {runs{fail}, runs{fail}, true},
		"passes only once":  {runs{pass, fail}, runs{fail}, true},
		"fails only once":   {runs{pass}, runs{fail, pass}, true},
		"nothing was found": {runs{{}}, runs{{}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := releasepinned.Freeze(task, tc.gold, tc.noop)
			if err == nil || errors.Is(err, releasepinned.ErrNothingFixed) != tc.nothing || !strings.Contains(err.Error(), "x__x-1") {
				t.Errorf("error = %v", err)
			}
		})
	}
}

// A published id may be cut at a blank inside its parameters.
func TestFreezeCompletesCutIDs(t *testing.T) {
	task := eval.Task{InstanceID: "x__x-1", FailToPass: []string{"t.py::test[(1,"}, PassToPass: []string{"t.py::test[a", "t.py::test[z", "t.py::test[a]"}}
	after := map[string]string{"t.py::test[(1,)-(1,)]": "PASSED", "t.py::test[(1, 2)]": "PASSED", "t.py::test[a]": "PASSED", "t.py::test[a + b]": "PASSED"}
	before := map[string]string{"t.py::test[(1,)-(1,)]": "FAILED", "t.py::test[(1, 2)]": "PASSED", "t.py::test[a]": "PASSED", "t.py::test[a + b]": "PASSED"}
	got, err := releasepinned.Freeze(task, runs{after}, runs{before})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"t.py::test[(1,)-(1,)]"}; !slices.Equal(got.FailToPass, want) {
		t.Errorf("FAIL_TO_PASS = %q, want %q", got.FailToPass, want)
	}
	if want := []string{"t.py::test[(1, 2)]", "t.py::test[a + b]", "t.py::test[a]"}; !slices.Equal(got.PassToPass, want) {
		t.Errorf("PASS_TO_PASS = %q, want %q", got.PassToPass, want)
	}
	if !slices.Equal(got.Frozen.Missing, []string{"t.py::test[z"}) || got.Frozen.Note != "1 never seen with the gold patch" {
		t.Errorf("frozen = %+v", got.Frozen)
	}
}

// Two printed ids with one normal form: neither may stand for the published one.
func TestFreezeNeverGuesses(t *testing.T) {
	task := eval.Task{InstanceID: "x__x-1", FailToPass: []string{"a"}, PassToPass: []string{"test_x (m.C)"}}
	after := map[string]string{"a": "PASSED", "test_x (m.C.test_x)": "PASSED", "test_x (m.C.test_x.test_x)": "PASSED"}
	got, err := releasepinned.Freeze(task, runs{after}, runs{{"test_x (m.C.test_x)": "PASSED"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"test_x (m.C.test_x)"}; !slices.Equal(got.PassToPass, want) {
		t.Errorf("PASS_TO_PASS = %q, want %q", got.PassToPass, want)
	}
}
