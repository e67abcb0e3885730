//go:build e2e

package workflows_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
)

var rewrite = flag.Bool("update", false, "record the histories in testdata anew")

// history reads one history from the server; run "" is the latest.
func (c *cluster) history(id, run string) *historypb.History {
	c.t.Helper()
	var h historypb.History
	it := c.client.GetWorkflowHistory(c.t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			c.t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	return &h
}

// chain returns the histories of a workflow that continued as new, oldest first.
func (c *cluster) chain(id string) (out []*historypb.History) {
	c.t.Helper()
	for run := ""; ; {
		h := c.history(id, run)
		out = append([]*historypb.History{h}, out...)
		if run = h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(); run == "" {
			return out
		}
	}
}

// runsOf returns the histories that a child had under its parent, one a start.
func (c *cluster) runsOf(parent, id string) (out []*historypb.History) {
	c.t.Helper()
	for _, e := range c.history(parent, "").Events {
		if a := e.GetChildWorkflowExecutionStartedEventAttributes(); a.GetWorkflowExecution().GetWorkflowId() == id {
			out = append(out, c.history(id, a.GetWorkflowExecution().GetRunId()))
		}
	}
	return out
}

// record writes histories for the replay test, if that was asked for.
func (c *cluster) record(scenario string, ids ...string) {
	c.t.Helper()
	for _, id := range ids {
		c.recordChain(scenario, id, c.chain(id)[:1])
	}
}

func (c *cluster) recordChain(scenario, id string, chain []*historypb.History) {
	c.t.Helper()
	if !*rewrite {
		return
	}
	for i, h := range chain {
		name := strings.ReplaceAll(id, "/", "_")
		if len(chain) > 1 {
			name += "." + strconv.Itoa(i+1)
		}
		data, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(h)
		if err != nil {
			c.t.Fatal(err)
		}
		host, err := os.Hostname()
		if err != nil {
			c.t.Fatal(err)
		}
		data = bytes.ReplaceAll(data, []byte(host), []byte("host")) // in the names of sticky queues
		file := filepath.Join("testdata", "histories", scenario, name+".json")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			c.t.Fatal(err)
		}
		if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
			c.t.Fatal(err)
		}
	}
}
