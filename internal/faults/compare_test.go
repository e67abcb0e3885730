//go:build e2e

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"harness/reports"
)

// input is what is evaluated: the same for a disturbed run and its reference.
type input struct {
	name      string
	args      []string
	trials    int
	reference string // run id of the undisturbed run
}

// undisturbed evaluates the inputs in peace. Both leave out the tasks whose end
// depends on how the machine hands out memory.
func undisturbed(t *testing.T, h *home) []input {
	t.Helper()
	inputs := []input{
		{
			name: "mixed", trials: 9,
			args: []string{"-d", "examples/mini", "-p", "examples/mini/predictions/mixed.jsonl", "-i",
				tasks("csvsplit", "emitter", "kvconf", "lru", "querystring", "ratelimit", "rotate", "slug", "wordwrap")},
		},
		{
			name: "gold", trials: 10,
			args: []string{"-d", "examples/mini", "--gold", "--attempts", "2", "-i",
				tasks("slug", "lru", "emitter", "kvconf", "rotate")},
		},
	}
	for i := range inputs {
		r := newRun(h, inputs[i], "reference-"+inputs[i].name)
		r.start(t)
		r.finish(t, 0)
		inputs[i].reference = r.id
		if n := len(trialKeys(t, r)); n != inputs[i].trials {
			t.Fatalf("the undisturbed run of %s has %d trials, want %d", inputs[i].name, n, inputs[i].trials)
		}
	}
	return inputs
}

func tasks(names ...string) string {
	for i, n := range names {
		names[i] = "mini__" + n + "-1"
	}
	return strings.Join(names, ",")
}

// comparison is how a disturbed run's tables differ from the undisturbed one's.
type comparison struct {
	lost       int // trials without a row
	duplicated int // rows too many
	changed    int // values that differ
}

// compare reports each difference as a failure.
func compare(t *testing.T, r *run) (c comparison) {
	t.Helper()
	ref := newRun(r.home, r.in, r.in.reference)
	want, got := trialKeys(t, ref), trialKeys(t, r)
	for key := range want {
		if got[key] == 0 {
			c.lost++
			t.Errorf("trial %s is lost", key)
		}
	}
	for key, n := range got {
		if n > 1 || want[key] == 0 {
			c.duplicated++
			t.Errorf("trial %s has %d rows", key, n)
		}
	}
	for _, file := range []string{reports.FileTrials, reports.FileTests, reports.FileVerdicts} {
		diffs, err := reports.DiffNonVolatile(ref.reportFile(file), r.reportFile(file))
		if err != nil {
			t.Fatal(err)
		}
		c.changed += len(diffs)
		for _, d := range diffs[:min(len(diffs), 10)] { // one missing row shifts all that follow
			t.Errorf("%s differs from the undisturbed run's: %s", file, d)
		}
	}
	return c
}

func (r *run) reportFile(name string) string { return filepath.Join(r.reportDir(), name) }

// trialKeys counts the rows of each instance, attempt and round.
func trialKeys(t *testing.T, r *run) map[string]int {
	t.Helper()
	f, err := os.Open(r.reportFile(reports.FileTrials))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tab, err := pqarrow.ReadTable(t.Context(), f, parquet.NewReaderProperties(memory.DefaultAllocator), pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Release()
	columns := [3][]string{texts(t, tab, "instance_id"), texts(t, tab, "attempt"), texts(t, tab, "round")}
	keys := map[string]int{}
	for i := range columns[0] {
		keys[fmt.Sprintf("%s/%s/%s", columns[0][i], columns[1][i], columns[2][i])]++
	}
	return keys
}

func texts(t *testing.T, tab arrow.Table, name string) []string {
	t.Helper()
	at := tab.Schema().FieldIndices(name)
	if len(at) != 1 {
		t.Fatalf("the table has no column %s", name)
	}
	var out []string
	for _, chunk := range tab.Column(at[0]).Data().Chunks() {
		for i := range chunk.Len() {
			out = append(out, chunk.ValueStr(i))
		}
	}
	return out
}
