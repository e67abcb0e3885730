package official

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"harness/eval"
	"harness/internal/checkout"
)

// TestRealRunReports writes the run reports of real runs of release 4 again:
// byte for byte what the official harness wrote.
func TestRealRunReports(t *testing.T) {
	n := 0
	for name, raw := range realReports(t) {
		var r struct {
			Total      int      `json:"total_instances"`
			Completed  []string `json:"completed_ids"`
			Incomplete []string `json:"incomplete_ids"`
			Empty      []string `json:"empty_patch_ids"`
			Submitted  []string `json:"submitted_ids"`
			Resolved   []string `json:"resolved_ids"`
			Unresolved []string `json:"unresolved_ids"`
			Errors     []string `json:"error_ids"`
			Pending    []string `json:"pending_ids"`          // another tool's
			Containers []string `json:"unstopped_containers"` // there was Docker
		}
		if err := json.Unmarshal([]byte(raw), &r); err != nil || r.Pending != nil || r.Containers != nil ||
			slices.ContainsFunc(r.Errors, func(id string) bool { return slices.Contains(r.Completed, id) }) { // a damaged report.json
			continue
		}
		n++
		c := tally{spec: &eval.RunSpec{Coverage: eval.Coverage{Tasks: r.Total, Missing: r.Incomplete}}}
		ran := map[string]bool{}
		for _, l := range []struct {
			ids []string
			as  counted
		}{{r.Resolved, counted{report: true, resolved: true}}, {r.Unresolved, counted{report: true}}, {r.Empty, counted{empty: true}}, {r.Errors, counted{}}} {
			for _, id := range l.ids {
				l.as.id = id
				c.add(l.as)
				ran[id] = true
			}
		}
		for _, id := range r.Submitted {
			if !ran[id] {
				c.spec.Coverage.Unselected = append(c.spec.Coverage.Unselected, id)
			}
		}
		got, err := c.encode()
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != raw {
			t.Errorf("%s: got\n%.1000s\nwant\n%.1000s", name, got, raw)
		}
	}
	if n < 30 {
		t.Errorf("only %d reports were compared", n)
	}
}

func realReports(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open(checkout.SharedData(t, "run_reports.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out := map[string]string{}
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if base := path.Base(h.Name); strings.HasSuffix(base, ".json") && !strings.HasPrefix(base, "_") {
			data, err := io.ReadAll(io.LimitReader(tr, 16<<20))
			if err != nil {
				t.Fatal(err)
			}
			out[base] = string(data)
		}
	}
}
