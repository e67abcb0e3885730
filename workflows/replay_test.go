package workflows_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"harness/workflows"
)

// The histories were recorded by the end-to-end tests:
//
//	go test -tags e2e ./workflows -update
//
// They are what runs of released builds have left behind and must not change: a
// newer build has to go on with them. Record new ones beside them, under the name
// of a scenario that is not there yet.
const histories = "testdata/histories"

func recorded(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(histories, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".json") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readHistory(t *testing.T, file string) *historypb.History {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	h, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return h
}

// TestReplay replays every recorded history with the workflows as they are now.
func TestReplay(t *testing.T) {
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	workflows.Register(r)
	scenarios := map[string]bool{}
	for _, file := range recorded(t) {
		name, err := filepath.Rel(histories, file)
		if err != nil {
			t.Fatal(err)
		}
		scenarios[filepath.Dir(name)] = true
		t.Run(name, func(t *testing.T) {
			if err := r.ReplayWorkflowHistory(log.NewStructuredLogger(discard), readHistory(t, file)); err != nil {
				t.Error(err)
			}
		})
	}
	for _, want := range []string{"happy", "retry", "infra", "steer", "cancel", "outage", "continue"} {
		if !scenarios[want] {
			t.Errorf("no history of scenario %q in %s", want, histories)
		}
	}
}

// What a trial of a single round costs Temporal: the events of its own history,
// and its part of the shard's and the run's.
func TestEventsOfATrial(t *testing.T) {
	const most = 25.0
	trials := 0
	shard := readHistory(t, histories+"/happy/happy_0.json")
	for _, e := range shard.Events {
		if e.EventType == enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED {
			trials++
		}
	}
	own := len(readHistory(t, histories+"/happy/happy_task-0000_1.json").Events)
	run := len(readHistory(t, histories+"/happy/happy.json").Events) / 2 // it has two shards
	each := float64(own) + float64(len(shard.Events)+run)/float64(trials)
	t.Logf("%.1f events a trial: %d its own, %d of a shard and %d of the run over %d trials", each, own, len(shard.Events), run, trials)
	if trials != 20 || each > most {
		t.Errorf("%.1f events a trial over %d trials; at most %g are planned for", each, trials, most)
	}
}
