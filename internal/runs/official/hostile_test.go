package official_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"harness/artifacts"
	"harness/eval"
	"harness/internal/runs/official"
	"harness/internal/runs/runstest"
)

func TestHostileStore(t *testing.T) {
	store := runstest.Store(t)
	spec := storedRun(t, store, "run", "swebench", 1)
	for name, change := range map[string]func(*eval.RunSpec){
		"model": func(s *eval.RunSpec) { s.Model = "../../x" },
		// The model's folder of logs would be where the run's own file is.
		"model of a file's name": func(s *eval.RunSpec) { s.Model = "run.json" },
		"long model":             func(s *eval.RunSpec) { s.Model = strings.Repeat("m/", 99) + "m" },
		"instance": func(s *eval.RunSpec) {
			data, err := json.Marshal(eval.Shard{Entries: []eval.ShardEntry{{InstanceID: "../escaped", Attempt: 1}}})
			if err != nil {
				t.Fatal(err)
			}
			ref, err := artifacts.PutCAS(t.Context(), store, data)
			if err != nil {
				t.Fatal(err)
			}
			s.Shards = []eval.Ref{ref}
		},
		"record of another task": func(s *eval.RunSpec) {
			id := eval.TrialID{RunID: "run", InstanceID: "task-0009", Attempt: 1, Round: 1}
			put(t, store, eval.ResultKey(id), eval.TrialResult{Schema: 1, TrialID: eval.TrialID{RunID: "run", InstanceID: "../../escaped", Attempt: 1, Round: 1}, Outcome: eval.TimedOut})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec
			change(&s)
			above := t.TempDir()
			dir := filepath.Join(above, "out")
			if trees, err := official.Write(t.Context(), store, s, dir, official.Options{}); err == nil {
				t.Errorf("wrote %+v", trees)
			}
			if got := files(t, above); len(got) > 0 {
				t.Errorf("wrote %v", got)
			}
		})
	}
	// A link in the folder does not lead out of it either.
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "logs")); err != nil {
		t.Fatal(err)
	}
	if _, err := official.Write(t.Context(), store, storedRun(t, store, "run2", "swebench", 1), dir, official.Options{Force: true}); err == nil {
		t.Error("wrote through a link")
	}
	if got := append(files(t, outside), files(t, dir)...); len(got) > 1 {
		t.Errorf("wrote %v", got)
	}
}

// Only what can be what an earlier report wrote is replaced, whatever --force says:
// /dev/stdout is a link, and gone for everybody once a file has its name.
func TestForceReplacesFilesOnly(t *testing.T) {
	store := runstest.Store(t)
	spec := storedRun(t, store, "run", "swebench", 1)
	above := t.TempDir()
	kept := filepath.Join(above, "kept")
	if err := os.WriteFile(kept, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(string) error{
		"link":   func(p string) error { return os.Symlink(kept, p) },
		"folder": func(p string) error { return os.MkdirAll(filepath.Join(p, "inside"), 0o755) },
		"pipe":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
	} {
		alone := filepath.Join(above, name)
		if err := make(alone); err != nil {
			t.Fatal(err)
		}
		_, err := official.WritePredictions(t.Context(), store, spec, alone, true)
		if !errors.As(err, new(*official.ExistsError)) || strings.Contains(err.Error(), "--force") {
			t.Errorf("predictions over a %s: %v", name, err)
		}
		for _, target := range []string{"preds.jsonl", "v__m é.run.json", "logs/run_evaluation/run/run.json"} {
			dir := t.TempDir()
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, target)), 0o755), make(filepath.Join(dir, target))); err != nil {
				t.Fatal(err)
			}
			if _, err := official.Write(t.Context(), store, spec, dir, official.Options{Force: true}); !errors.As(err, new(*official.ExistsError)) {
				t.Errorf("a %s at %s: %v", name, target, err)
			}
		}
	}
	dir := t.TempDir()
	logs := filepath.Join(dir, "logs/run_evaluation/run/v__m é")
	if err := errors.Join(os.MkdirAll(filepath.Dir(logs), 0o755), os.WriteFile(logs, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := official.Write(t.Context(), store, spec, dir, official.Options{Force: true}); !errors.As(err, new(*official.ExistsError)) {
		t.Errorf("a file where the folder of logs goes: %v", err)
	}
	if read(t, kept) != "mine" {
		t.Error("a linked file was written")
	}
}
