//go:build e2e

package temporalx_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"harness/internal/temporalx"
	"harness/internal/testenv"
)

func TestEnsureSearchAttributes(t *testing.T) {
	address := testenv.Temporal(t, []string{"There"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := temporalx.Dial(ctx, address, "", "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 { // the second time nothing is missing
		if err := temporalx.EnsureSearchAttributes(ctx, c, "", []string{"There", "Missing", "Other"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: `Missing = "x" AND Other = "y"`}); err != nil {
		t.Errorf("the attributes can't be searched by: %v", err)
	}
	if err := temporalx.EnsureSearchAttributes(ctx, c, "none", []string{"X"}); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a namespace that is not there: %v", err)
	}
}
