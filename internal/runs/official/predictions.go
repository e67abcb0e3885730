package official

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"harness/activities"
	"harness/artifacts"
	"harness/eval"
)

// predictionsFile writes predictions one a line.
type predictionsFile struct {
	w     *bufio.Writer
	enc   *json.Encoder
	f     io.Closer
	model string
	null  map[string]bool
	n     int
}

func newPredictionsFile(f io.WriteCloser, model string, null []string) *predictionsFile {
	p := &predictionsFile{w: bufio.NewWriter(f), f: f, model: model, null: make(map[string]bool, len(null))}
	p.enc = json.NewEncoder(p.w)
	p.enc.SetEscapeHTML(false)
	for _, id := range null {
		p.null[id] = true
	}
	return p
}

// add writes one prediction; no patch is null or "", as it was given.
func (p *predictionsFile) add(id string, patch []byte) error {
	text := string(patch)
	pred := eval.Prediction{InstanceID: id, Model: p.model, Patch: &text}
	if patch == nil && p.null[id] {
		pred.Patch = nil
	}
	p.n++
	return p.enc.Encode(pred)
}

// close may be called again; only the first counts.
func (p *predictionsFile) close() error {
	if p.f == nil {
		return nil
	}
	err := errors.Join(p.w.Flush(), p.f.Close())
	p.f = nil
	return err
}

// WritePredictions writes the predictions of a run to a file, one a line, and
// returns how many there are. With several attempts they are those of the first.
// The folder is made if need be.
// A file that is there is an *ExistsError, unless force is given.
func WritePredictions(ctx context.Context, store artifacts.Store, spec eval.RunSpec, file string, force bool) (int, error) {
	n, err := writePredictions(ctx, store, spec, file, force)
	if err != nil {
		return 0, fmt.Errorf("write the predictions of run %s: %w", spec.RunID, err)
	}
	return n, nil
}

func writePredictions(ctx context.Context, store artifacts.Store, spec eval.RunSpec, file string, force bool) (_ int, err error) {
	model, err := modelOf(spec)
	if err != nil {
		return 0, err
	}
	info, err := os.Lstat(file)
	if err := inTheWay(file, info, err, false, force); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return 0, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".harness-preds-*")
	if err != nil {
		return 0, err
	}
	p := newPredictionsFile(tmp, model, spec.Coverage.Null)
	defer func() { err = errors.Join(err, p.close(), remove(tmp.Name())) }()
	w := &writer{store: store}
	entries, err := entriesOf(ctx, store, spec)
	if err != nil {
		return 0, err
	}
	if err := lastRounds(activities.Results(ctx, store, spec), func(t eval.TrialResult) error {
		if t.Attempt != 1 {
			return nil
		}
		patch, err := w.patch(ctx, entries[t.InstanceID], t)
		if err != nil {
			return fmt.Errorf("patch of %s: %w", t.TrialID, err)
		}
		return p.add(t.InstanceID, patch)
	}); err != nil {
		return 0, err
	}
	if err := errors.Join(tmp.Chmod(0o644), p.close()); err != nil {
		return 0, err
	}
	return p.n, os.Rename(tmp.Name(), file)
}

func remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
