package evalrun

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"harness/artifacts"
	"harness/datasets"
	"harness/datasets/fetch"
	"harness/eval"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/runs"
	"harness/reports"
)

// NoCalibration given as a calibration means that none is looked for.
const NoCalibration = "none"

// CalibrationPaths are the files in which the calibration of a dataset that was
// loaded as given is looked for; none for an address, since what was fetched is a
// cache.
func CalibrationPaths(given string, ds *datasets.Dataset) []string {
	if fetch.IsAddress(given) {
		return nil
	}
	return datasets.CalibrationPaths(ds.Path)
}

// findCalibration returns the calibration that is given, or else the first one of
// paths that is there; "" when there is none.
func findCalibration(given string, paths []string) (string, error) {
	switch given {
	case NoCalibration:
		return "", nil
	case "":
		for _, path := range paths {
			if _, err := os.Stat(path); err == nil {
				return path, nil
			} else if !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("look for a calibration: %w; --calibration %s leaves it out", err, NoCalibration)
			}
		}
		return "", nil
	}
	if _, err := os.Stat(given); err != nil {
		return "", fmt.Errorf("--calibration: %w", err)
	}
	return given, nil
}

// calibrate adds the calibration that belongs to the run's tasks. One that fits
// none of them is a mistake if it was asked for, else it is named and left out.
func (o *Options) calibrate(ctx context.Context, app *cli.App, ds *datasets.Dataset, req *runs.Request) error {
	path, err := findCalibration(o.Calibration, CalibrationPaths(o.Dataset, ds))
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	if path == "" {
		return nil
	}
	cal, data, err := readCalibration(ctx, path, req.Spec.Runtime)
	if err == nil {
		err = usable(cal, path, ds.Digest, req)
	}
	if err != nil && o.Calibration == "" {
		app.Note("calibration ignored: %s", escape.Terminal(err.Error()))
		return nil
	}
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	noteCalibration(app, path, cal, req.Tasks)
	req.Calibration, o.calibration = cal.Of, data
	return nil
}

// readCalibration returns what the file says and the bytes that say it.
func readCalibration(ctx context.Context, path, runtime string) (*reports.Calibration, []byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read calibration: %w", err)
	}
	defer f.Close()
	var data bytes.Buffer
	cal, err := reports.ReadCalibration(ctx, io.TeeReader(f, &data), path, "", runtime)
	return cal, data.Bytes(), err
}

// TaskDigest is the hex SHA-256 of a task's canonical JSON: the name under which
// the store has the task of a run.
func TaskDigest(t *eval.Task) (string, error) {
	data, err := datasets.CanonicalJSON(t)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// usable says why a calibration can't speak of the run.
func usable(cal *reports.Calibration, path, digest string, req *runs.Request) error {
	const again = "`harness dataset calibrate` makes one that does"
	switch {
	case len(cal.Tasks) == 0 && len(cal.Runtimes) == 0:
		return fmt.Errorf("%s has no task", path)
	case len(cal.Tasks) == 0:
		return fmt.Errorf("%s knows the runtimes %s, and not %s; %s", path, strings.Join(cal.Runtimes, ", "), req.Spec.Runtime, again)
	case cal.Profile != req.Spec.Profile:
		return fmt.Errorf("%s was made under profile %s, and this run is under %s; %s", path, cal.Profile, req.Spec.Profile, again)
	}
	if digest == cal.DatasetDigest {
		return nil
	}
	for i := range req.Tasks {
		sum, err := TaskDigest(&req.Tasks[i])
		if err != nil {
			return err
		}
		if cal.Tasks[req.Tasks[i].InstanceID].Digest == sum {
			return nil
		}
	}
	return fmt.Errorf("%s was made from dataset %s with digest %.12s, and fits no task of this run (digest %.12s); %s", path, cal.Dataset, cal.DatasetDigest, digest, again)
}

// noteCalibration says what of the calibration will be used.
func noteCalibration(app *cli.App, path string, cal *reports.Calibration, tasks []eval.Task) {
	var changed, absent []string
	for i := range tasks {
		id := tasks[i].InstanceID
		task, ok := cal.Tasks[id]
		switch sum, err := TaskDigest(&tasks[i]); {
		case !ok:
			absent = append(absent, id)
		case err != nil || sum != task.Digest:
			changed = append(changed, id)
		}
	}
	app.Note("calibration %s: of %d of %s", path, len(tasks)-len(changed)-len(absent), cli.Count(len(tasks), "task"))
	for _, n := range []struct {
		list []string
		what string
	}{{changed, "changed since, so what it says of them is not used"}, {absent, "not in it"}} {
		if len(n.list) > 0 {
			app.Note("calibration: %s %s: %s", cli.Count(len(n.list), "task"), n.what, some(n.list))
		}
	}
}

// storeCalibration freezes the calibration of a request in the store.
func (o *Options) storeCalibration(ctx context.Context, store artifacts.Store, req *runs.Request) error {
	if o.calibration == nil {
		return nil
	}
	ref, err := artifacts.PutCAS(ctx, store, o.calibration)
	if err != nil {
		return fmt.Errorf("store the calibration: %w", err)
	}
	req.Spec.Calibration = &ref
	return nil
}
