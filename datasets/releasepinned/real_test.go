package releasepinned

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/checkout"
	"harness/sandbox/image"
)

// archives has the source archives of the versions it lists, by project.
type archives map[string][]string

func (a archives) add(project, version string) { a[project] = append(a[project], version) }

func (a archives) Files(_ context.Context, project string) ([]image.IndexFile, error) {
	var out []image.IndexFile
	for _, v := range a[project] {
		out = append(out, image.IndexFile{Name: project + "-" + v + ".tar.gz", SHA256: strings.Repeat("ab", 32), Size: 10})
	}
	return out, nil
}

// All published rows become tasks: scripts are written, pins are complete, and
// images are shared as far as rows agree.
func TestRealRows(t *testing.T) {
	f, err := os.Open(checkout.SharedData(t, "release-pinned/tasks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := ReadRows(f)
	if err != nil {
		t.Fatal(err)
	}
	index := archives{}
	full := 0
	for i := range rows {
		r := &rows[i]
		if r.Release.Verified.Full() {
			full++
		}
		p, err := r.pins()
		if err != nil {
			t.Error(err)
		}
		for project, version := range p {
			index.add(project, version)
		}
		index.add(normalName(r.Release.Package), r.Release.Version)
	}
	if len(rows) != 104 || full != 77 {
		t.Errorf("%d rows, %d of them verified in full", len(rows), full)
	}
	base := filepath.Join(t.TempDir(), "python.yaml")
	if err := os.WriteFile(base, []byte("name: python\ndebian: {suite: bookworm}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	res, err := Import(context.Background(), rows, Options{Out: t.TempDir(), Base: base, Index: index})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Tasks) != 104 || res.Images != 46 || res.Layers != 13 {
		t.Errorf("%d tasks in %d images on %d layers of dependencies", len(res.Tasks), res.Images, res.Layers)
	}
}
