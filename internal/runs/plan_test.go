package runs_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
	"harness/internal/runs"
	"harness/internal/runs/runstest"
)

func entries(t *testing.T, store artifacts.Store, spec eval.RunSpec) (out []eval.ShardEntry) {
	t.Helper()
	for i, ref := range spec.Shards {
		s, err := activities.LoadShard(t.Context(), store, ref)
		if err != nil {
			t.Fatal(err)
		}
		if s.Index != i || len(s.Entries) > spec.ShardSize {
			t.Errorf("shard %d: index %d, %d entries", i, s.Index, len(s.Entries))
		}
		out = append(out, s.Entries...)
	}
	return out
}

func TestPlan(t *testing.T) {
	store := runstest.Store(t)
	req := runstest.Request(t, "run", runstest.Tasks(5))
	req.Spec.Attempts, req.Spec.ShardSize = 2, 4
	empty := ""
	req.Patch = func(t *eval.Task) *string {
		switch t.InstanceID {
		case "task-0001":
			return nil
		case "task-0002":
			return &empty
		}
		return &t.Patch
	}
	p := runstest.Plan(t, store, req)
	if p.Existed || p.Spec.Entries != 10 || len(p.Spec.Shards) != 3 || p.Spec.Coverage.Tasks != 5 || p.Spec.Schema != 1 {
		t.Errorf("planned %+v", p)
	}
	got := entries(t, store, p.Spec)
	if len(got) != 10 {
		t.Fatalf("%d entries, want 10", len(got))
	}
	for i, e := range got {
		if e.InstanceID != req.Tasks[i/2].InstanceID || e.Attempt != 1+i%2 || e.Noop {
			t.Errorf("entry %d: %+v", i, e)
		}
		if none := i/2 == 1 || i/2 == 2; (e.Patch == nil) != none {
			t.Errorf("entry %d: patch %v, want none: %v", i, e.Patch, none)
		}
	}

	again := runstest.Plan(t, store, req)
	if !again.Existed || again.Ref != p.Ref || !reflect.DeepEqual(again.Spec, p.Spec) {
		t.Errorf("the same request again: %+v", again)
	}
	later := req
	later.Spec.CreatedAt, later.Spec.HarnessVersion = time.Now(), "newer"
	if got := runstest.Plan(t, store, later); !got.Existed || got.Ref != p.Ref {
		t.Errorf("the same run by a newer build: %+v", got)
	}
	loaded, err := runs.Load(t.Context(), store, "run")
	if err != nil || loaded.Ref != p.Ref {
		t.Errorf("loaded %+v, error %v", loaded, err)
	}
}

func TestPlanDifferent(t *testing.T) {
	store := runstest.Store(t)
	req := runstest.Request(t, "run", runstest.Tasks(2))
	runstest.Plan(t, store, req)
	for _, c := range []struct {
		field  string
		change func(*runs.Request)
	}{
		{"profile", func(r *runs.Request) { r.Spec.Profile = "swebench-4" }},
		{"limits", func(r *runs.Request) { r.Spec.Limits.WallSeconds++ }},
		{"runtime", func(r *runs.Request) { r.Spec.Runtime = "other" }},
		{"model", func(r *runs.Request) { r.Spec.Model = "m" }},
		{"entries", func(r *runs.Request) { r.Tasks = runstest.Tasks(3) }},
		{"shards", func(r *runs.Request) { other := "x"; r.Patch = func(*eval.Task) *string { return &other } }},
	} {
		changed := req
		changed.Tasks = slices.Clone(req.Tasks)
		c.change(&changed)
		_, err := runs.Plan(t.Context(), store, changed)
		var diff *runs.DifferentError
		if !errors.Is(err, runs.ErrDifferent) || !errors.As(err, &diff) || !slices.Contains(diff.Fields, c.field) || !strings.Contains(err.Error(), "--run-id") {
			t.Errorf("%s changed: error %v", c.field, err)
		}
	}
}

func TestPlanNoop(t *testing.T) {
	store := runstest.Store(t)
	req := runstest.Request(t, "run", runstest.Tasks(1))
	req.Spec.Candidate, req.Patch = eval.CandidateNoop, nil
	p := runstest.Plan(t, store, req)
	if e := entries(t, store, p.Spec)[0]; !e.Noop || e.Patch != nil {
		t.Errorf("entry %+v", e)
	}
}

func TestPlanRefuses(t *testing.T) {
	tiny := int64(1)
	for name, change := range map[string]func(*runs.Request){
		"run id":   func(r *runs.Request) { r.Spec.RunID = "../x" },
		"attempts": func(r *runs.Request) { r.Spec.Attempts = 0 },
		"rounds":   func(r *runs.Request) { r.Spec.Rounds = 0 },
		"tries":    func(r *runs.Request) { r.Spec.MaxInfraTries = 0 },
		"memory":   func(r *runs.Request) { r.Spec.Limits.MemoryBytes = 1 },
		"can be read again": func(r *runs.Request) {
			r.Spec.Coverage.Unknown = []string{strings.Repeat("x", 17<<20)}
		},
		"task-0001": func(r *runs.Request) {
			r.Tasks[1].Limits = &eval.LimitsSpec{MemoryBytes: &tiny}
		},
	} {
		store := runstest.Store(t)
		req := runstest.Request(t, "run", runstest.Tasks(2))
		change(&req)
		if _, err := runs.Plan(t.Context(), store, req); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
		for info, err := range store.List(t.Context(), eval.RunsPrefix) {
			t.Errorf("%s: %s is stored (%v) although the plan was refused", name, info.Key, err)
		}
	}
}

// Many tasks with one patch are stored by many writers at once, by two planners
// of one run: one blob, one spec, the same references for all.
func TestPlanRace(t *testing.T) {
	store := runstest.Store(t)
	same := strings.Repeat("+ a line of a patch\n", 5000)
	request := func() runs.Request {
		req := runstest.Request(t, "run", runstest.Tasks(200))
		req.Patch = func(*eval.Task) *string { return &same }
		for i := range req.Tasks { // and the same tasks but for their ids
			req.Tasks[i].Patch = same
		}
		return req
	}
	const planners = 4
	var wg sync.WaitGroup
	got := make([]runs.Planned, planners)
	for i := range planners {
		wg.Go(func() {
			var err error
			if got[i], err = runs.Plan(t.Context(), store, request()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	fresh := 0
	for _, p := range got {
		if !p.Existed {
			fresh++
		}
		if p.Ref != got[0].Ref {
			t.Errorf("two planners got %+v and %+v", p.Ref, got[0].Ref)
		}
	}
	if fresh != 1 {
		t.Errorf("%d of %d planners made the run", fresh, planners)
	}
	patch := entries(t, store, got[0].Spec)[0].Patch
	for _, e := range entries(t, store, got[0].Spec) {
		if *e.Patch != *patch {
			t.Fatalf("%s: patch %+v, want the one blob %+v", e.InstanceID, e.Patch, patch)
		}
	}
	if data, err := artifacts.GetRef(t.Context(), store, *patch, 1<<20); err != nil || string(data) != same {
		t.Errorf("the blob is not the patch: %v", err)
	}
}

func TestLoadFaults(t *testing.T) {
	store := runstest.Store(t)
	if _, err := runs.Load(t.Context(), store, "none"); !errors.Is(err, runs.ErrNoRun) || !strings.Contains(err.Error(), "runs list") {
		t.Errorf("error %v", err)
	}
	if _, err := runs.Load(t.Context(), store, "../x"); err == nil || errors.Is(err, runs.ErrNoRun) {
		t.Errorf("error %v", err)
	}
	put(t, store, eval.SpecKey("bad"), "{")
	if _, err := runs.Load(t.Context(), store, "bad"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runs.Load(ctx, store, "bad"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func put(t *testing.T, store artifacts.Store, key, text string) {
	t.Helper()
	if _, err := artifacts.PutBytes(t.Context(), store, key, []byte(text), artifacts.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestListAndRemove(t *testing.T) {
	store := runstest.Store(t)
	for _, run := range []string{"b", "a"} {
		runstest.Plan(t, store, runstest.Request(t, run, runstest.Tasks(1)))
	}
	put(t, store, eval.SpecKey("damaged"), "{")
	put(t, store, eval.TrialPrefix(eval.TrialID{RunID: "b", InstanceID: "task-0000", Attempt: 1, Round: 1})+"try-1-x/test.log.zst", "x")
	var bad []string
	list, err := runs.List(t.Context(), store, func(run string, _ error) { bad = append(bad, run) })
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].RunID != "a" || list[1].RunID != "b" || list[0].Trials != 1 || list[0].Resolved != nil || !slices.Equal(bad, []string{"damaged"}) {
		t.Errorf("listed %+v, unreadable %v", list, bad)
	}
	if n, err := runs.Remove(t.Context(), store, "b"); err != nil || n != 2 {
		t.Errorf("removed %d objects, error %v; want 2", n, err)
	}
	if _, err := runs.Remove(t.Context(), store, "b"); !errors.Is(err, runs.ErrNoRun) {
		t.Errorf("removed twice: %v", err)
	}
	// What the other run shares with it is still there.
	p, err := runs.Load(t.Context(), store, "a")
	if err != nil || len(entries(t, store, p.Spec)) != 1 {
		t.Errorf("the other run: %v", err)
	}
}
