package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
	"harness/internal/runs"
	"harness/internal/runs/runstest"
	"harness/sandbox"
)

// images gives the i-th task the i-th image; tasks beyond them share the last.
func images(size int, refs ...string) option {
	return func(_ *activities.Config, r *runs.Request) {
		r.Spec.ShardSize = size
		for i := range r.Tasks {
			r.Tasks[i].Image = refs[min(i, len(refs)-1)]
		}
	}
}

func (f *fixture) pins(shard int) (m map[string]activities.PinnedImage) {
	f.t.Helper()
	data, err := artifacts.GetBytes(f.t.Context(), f.store, eval.ImagesKey("run", shard), 1<<20)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		f.t.Fatal(err)
	}
	return m
}

func TestPinImages(t *testing.T) {
	f := newFixture(t, 4, nil, images(2, "a:1", "gone:1", "a:1", "b:1"))
	a, b := f.rt.AddImage("a:1", nil), f.rt.AddImage("b:1", nil)
	f.pin(0)
	if got := f.pins(0); len(got) != 2 || got["a:1"].Digest != a || got["gone:1"].Class != activities.ErrImageNotFound || got["gone:1"].Error == "" {
		t.Fatalf("pins of shard 0: %+v", got)
	}
	f.pin(1)
	if got := f.pins(1); len(got) != 2 || got["a:1"].Digest != a || got["b:1"].Digest != b {
		t.Fatalf("pins of shard 1: %+v", got)
	}
	// The trial that needs the missing image ends for good, the other one runs.
	_, err := call[activities.Executed](f, f.acts.Execute, f.trial(1))
	f.wantClass(err, activities.ErrImageNotFound)
	must[activities.Executed](f, f.acts.Execute, f.trial(0))
}

// moving is a runtime whose tags move to another image with each look.
type moving struct {
	sandbox.Runtime
	digests []string
	asked   []string
}

func (m *moving) Resolve(_ context.Context, ref string) (string, error) {
	m.asked = append(m.asked, ref)
	d := m.digests[0]
	if len(m.digests) > 1 {
		m.digests = m.digests[1:]
	}
	if d == "" {
		return "", sandbox.ErrUnhealthy
	}
	return d, nil
}

func TestPinImagesKeepsWhatIsFixed(t *testing.T) {
	rt := &moving{digests: []string{"sha256:1", "sha256:2"}}
	f := newFixture(t, 6, nil, images(2, "tag:1"), func(c *activities.Config, _ *runs.Request) {
		c.Runtimes = map[string]sandbox.Runtime{runstest.Runtime: rt}
	})
	for _, shard := range []int{0, 1, 0, 2} {
		f.pin(shard)
	}
	for shard := range 3 {
		if got := f.pins(shard)["tag:1"].Digest; got != "sha256:1" {
			t.Errorf("shard %d: the tag means %s, shard 0 fixed sha256:1", shard, got)
		}
	}
	if len(rt.asked) != 1 {
		t.Errorf("the runtime was asked for %v", rt.asked)
	}
}

// An image that came later is found by a resumed run, also by a process that
// remembers it as missing.
func TestPinImagesAgain(t *testing.T) {
	f := newFixture(t, 1, nil, images(1, "late:1"))
	f.pin(0)
	_, err := call[activities.Executed](f, f.acts.Execute, f.trial(0))
	f.wantClass(err, activities.ErrImageNotFound)
	f.rt.AddImage("late:1", nil)
	f.pin(0)
	must[activities.Executed](f, f.acts.Execute, f.trial(0))
}

// A run that was removed and planned anew under its old id sees nothing of the
// old one, in the same process.
func TestImagesOfAReusedID(t *testing.T) {
	f := newFixture(t, 1, nil, images(1, "tag:1"))
	old := f.rt.AddImage("tag:1", nil)
	f.pin(0)
	must[activities.Executed](f, f.acts.Execute, f.trial(0))
	if _, err := runs.Remove(t.Context(), f.store, "run"); err != nil {
		t.Fatal(err)
	}
	req := runstest.Request(t, "run", runstest.Tasks(1))
	req.Tasks[0].Image = "other:1"
	req.Spec.CreatedAt = req.Spec.CreatedAt.Add(1)
	f.run = runstest.Plan(t, f.store, req)
	now := f.rt.AddImage("other:1", nil)
	f.pin(0)
	must[activities.Executed](f, f.acts.Execute, f.trial(0))
	created := f.rt.Created()
	if got := []string{created[0].ImageDigest, created[1].ImageDigest}; !slices.Equal(got, []string{old, now}) {
		t.Errorf("images %v, want %v", got, []string{old, now})
	}
}

func TestPinImagesFaults(t *testing.T) {
	rt := &moving{digests: []string{""}}
	f := newFixture(t, 1, nil, images(1, "tag:1"), func(c *activities.Config, _ *runs.Request) {
		c.Runtimes = map[string]sandbox.Runtime{runstest.Runtime: rt}
	})
	_, err := call[struct{}](f, f.acts.PinImages, f.shard(0))
	f.wantClass(err, activities.ErrRuntimeUnhealthy)

	f = newFixture(t, 1, nil, func(c *activities.Config, _ *runs.Request) { c.Runtimes = nil })
	_, err = call[struct{}](f, f.acts.PinImages, f.shard(0))
	f.wantClass(err, activities.ErrRuntimeUnhealthy)

	f = newFixture(t, 1, nil)
	if _, err := artifacts.PutBytes(t.Context(), f.store, eval.ImagesKey("run", 0), []byte("{"), artifacts.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = call[struct{}](f, f.acts.PinImages, f.shard(0))
	f.wantClass(err, activities.ErrDatasetIntegrity)
	_, err = call[activities.Executed](f, f.acts.Execute, f.trial(0))
	f.wantClass(err, activities.ErrDatasetIntegrity)
	if errors.Is(err, artifacts.ErrNotFound) {
		t.Error("a damaged file is taken for a missing one")
	}
}
