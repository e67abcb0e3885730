package reports

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/artifacts"
	"harness/eval"
)

// memStore is a Store in memory whose writes can be made to fail.
type memStore struct {
	mu      sync.Mutex
	objects map[string][]byte
	fail    func(key string) error
	order   []string
}

var _ artifacts.Store = (*memStore)(nil)

func newMemStore() *memStore { return &memStore{objects: map[string][]byte{}} }

func (m *memStore) info(key string) artifacts.Info {
	sum := sha256.Sum256(m.objects[key])
	return artifacts.Info{Key: key, Size: int64(len(m.objects[key])), SHA256: hex.EncodeToString(sum[:])}
}

func (m *memStore) Put(_ context.Context, key string, r io.Reader, _ artifacts.PutOptions) (artifacts.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		if err := m.fail(key); err != nil {
			return artifacts.Info{}, err
		}
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return artifacts.Info{}, err
	}
	m.objects[key] = raw
	m.order = append(m.order, key)
	return m.info(key), nil
}

func (m *memStore) Get(_ context.Context, key string) (io.ReadCloser, artifacts.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	raw, ok := m.objects[key]
	if !ok {
		return nil, artifacts.Info{}, fmt.Errorf("get %s: %w", key, artifacts.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(raw)), m.info(key), nil
}

func (m *memStore) Stat(ctx context.Context, key string) (artifacts.Info, error) {
	rc, info, err := m.Get(ctx, key)
	if err == nil {
		rc.Close()
	}
	return info, err
}

func (m *memStore) List(_ context.Context, prefix string) iter.Seq2[artifacts.Info, error] {
	return func(yield func(artifacts.Info, error) bool) {
		for _, k := range slices.Sorted(maps.Keys(m.objects)) {
			if strings.HasPrefix(k, prefix) && !yield(m.info(k), nil) {
				return
			}
		}
	}
}

func (m *memStore) Dirs(context.Context, string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield("", errors.New("not needed here")) }
}

func (m *memStore) Delete(_ context.Context, key string) error { delete(m.objects, key); return nil }
func (m *memStore) URL(key string) string                      { return "mem:" + key }

// file writes a stored report file to disk, where Parquet readers want it.
func (m *memStore) file(t testing.TB, run, name string) string {
	t.Helper()
	raw, ok := m.objects[eval.ReportKey(run, name)]
	if !ok {
		t.Fatalf("the store has no %s", name)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var day = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

func testSpec(run string, tasks int) eval.RunSpec {
	return eval.RunSpec{
		Schema: 1, RunID: run, Dataset: "verified", DatasetDigest: strings.Repeat("d", 64), Split: "test",
		Candidate: eval.CandidatePredictions, Agent: "predictions", Model: "vendor/model", Profile: "swebench",
		Limits: eval.DefaultLimits(), Network: eval.NetworkNone, Runtime: "runsc", Attempts: 1, Rounds: 1,
		Coverage: eval.Coverage{Tasks: tasks, Records: tasks}, HarnessVersion: "0.1.0", CreatedAt: day,
	}
}

// trial makes a record with every field known; change what a test is about.
func trial(run, id string, o eval.Outcome) eval.TrialResult {
	t := eval.TrialResult{
		Schema:  1,
		TrialID: eval.TrialID{RunID: run, InstanceID: id, Attempt: 1, Round: 1},
		Repo:    "owner/name", Language: "python", Difficulty: "<15 min fix", Outcome: o,
		Limits: eval.DefaultLimits(), Tries: 1, StartedAt: day, EndedAt: day.Add(90 * time.Second),
	}
	switch o {
	case eval.Cancelled, eval.EmptyPatch:
		return t
	case eval.InfraError:
		t.ErrorClass, t.ErrorMessage, t.Blame = "ImagePull", "registry said 503", eval.BlameEnvironment
		return t
	}
	official := &eval.OfficialReport{PatchExists: true, PatchApplied: true, Resolved: o == eval.Resolved}
	if o.Consequence().List == eval.ListError {
		official = nil
	}
	t.Verdicts = []eval.Verdict{{Recipe: "swebench", Rules: "swebench", Outcome: o, Resolved: o == eval.Resolved, Official: official}}
	t.Tests = []eval.TestResult{
		{Name: "tests/test_a.py::test_one", Group: eval.GroupF2P, Status: "PASSED", RawStatus: "PASSED", Seconds: some(0.5)},
		{Name: "tests/test_a.py::test_two[é]", Group: eval.GroupP2P, Status: "MISSING"},
	}
	t.Scores = eval.Scores{Functional: some(0.5), Resource: some(0.9), Security: some(1.0), Maintainability: some(0.7), Performance: some(0.1)}
	t.Counts = eval.TestCounts{F2PPassed: some(1), F2PTotal: some(1), P2PPassed: some(0), P2PTotal: some(1)}
	t.Patch = eval.PatchFacts{SHA256: strings.Repeat("a", 64), Bytes: some(int64(120)), FilesChanged: some(1), LinesAdded: some(3), LinesRemoved: some(0), ApplyMethod: "git-apply"}
	t.Exec = eval.ExecFacts{Runtime: "runsc", RuntimeVersion: "1.0", ImageDigest: "sha256:abc", Worker: "w1", ExitCode: some(0)}
	t.Usage = eval.Usage{
		WallSeconds: some(12.5), CPUSeconds: some(10.0), QueueSeconds: some(1.0), PeakMemoryBytes: some(int64(1 << 20)), DiskBytes: some(int64(4096)),
		IOReadBytes: some(int64(1)), IOWriteBytes: some(int64(2)), NetBytes: some(int64(0)), ThrottledSecs: some(0.25),
	}
	t.Agent = eval.AgentUsage{TokensIn: some(int64(1000)), TokensOut: some(int64(50)), CostUSD: some(0.25)}
	t.Calibrated = some(true)
	t.Phases = []eval.Phase{{Name: eval.PhaseCreate, StartedAt: day, Seconds: 2}, {Name: eval.PhaseTests, StartedAt: day.Add(2 * time.Second), Seconds: 10}}
	t.Events = []eval.Event{{Time: day, Source: "sandbox", Kind: "exec", Severity: "info", Detail: "bash"}, {Time: day, Source: "host", Kind: "oom", Severity: "high", Detail: "none"}}
	t.Artifacts = map[string]eval.Ref{eval.FileLog: {Key: "runs/r/log", SHA256: "x", Size: 9}, eval.FilePatch: {Key: "p"}}
	return t
}

func each(trials ...eval.TrialResult) iter.Seq2[eval.TrialResult, error] {
	return func(yield func(eval.TrialResult, error) bool) {
		for _, t := range trials {
			if !yield(t, nil) {
				return
			}
		}
	}
}

func mustBuild(t testing.TB, store artifacts.Store, spec eval.RunSpec, trials iter.Seq2[eval.TrialResult, error]) Summary {
	t.Helper()
	s, err := Build(t.Context(), store, spec, trials, Options{EndedAt: day.Add(10 * time.Minute), TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readRows returns a table as one map a row, values as Arrow prints them and
// nulls left out.
func readRows(t testing.TB, path string) []map[string]string {
	t.Helper()
	tr, err := openTable(path)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	var out []map[string]string
	if tr.reader.NumRows() == 0 {
		return nil
	}
	rr, err := tr.arrow.GetRecordReader(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rr.Release()
	for rr.Next() {
		rec := rr.RecordBatch()
		for i := range int(rec.NumRows()) {
			row := map[string]string{}
			for c, f := range rec.Schema().Fields() {
				if col := rec.Column(c); !col.IsNull(i) {
					row[f.Name] = col.ValueStr(i)
				}
			}
			out = append(out, row)
		}
	}
	if rr.Err() != nil {
		t.Fatal(rr.Err())
	}
	return out
}

var tableFiles = []string{FileRuns, FileTrials, FileVerdicts, FileTests, FileEvents, FilePhases}
