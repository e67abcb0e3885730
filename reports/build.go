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
	"os"
	"path/filepath"
	"time"

	"harness/artifacts"
	"harness/eval"
)

// The files of a report, under eval.ReportKey.
const (
	FileRuns     = "runs.parquet"
	FileTrials   = "trials.parquet"
	FileVerdicts = "verdicts.parquet"
	FileTests    = "tests.parquet"
	FileEvents   = "events.parquet"
	FilePhases   = "phases.parquet"
	FileSummary  = "summary.md"
	FileReport   = "report.json"
)

// Options are what the record of a run does not hold. The zero value works.
type Options struct {
	// EndedAt is when the run ended; zero means when its last trial did.
	EndedAt time.Time
	// TempDir is where files are made before they are published; "" means the system's.
	TempDir string
	// Calibration is the run's, read for its runtime; nil when it has none.
	Calibration *Calibration

	specDigest string
}

// Build makes every file of the report of a run and publishes them in the store.
// Trials may come in any order; each must belong to the run and be given once.
// One trial and one row group are in memory at a time.
//
// Files are made in a temporary folder, each Parquet file is read back and
// compared with what was written, and only then all are published, report.json
// last. Until publishing starts, a failure leaves a former report as it was; if
// the store fails half-way, report.json is still the former one and each of its
// files is whole, and the digests under "files" tell which belong to it. Build
// may be repeated at any time.
func Build(ctx context.Context, store artifacts.Store, spec eval.RunSpec, trials iter.Seq2[eval.TrialResult, error], opts Options) (Summary, error) {
	s, err := build(ctx, store, spec, trials, opts)
	if err != nil {
		return Summary{}, fmt.Errorf("report of run %s: %w", spec.RunID, err)
	}
	return s, nil
}

func build(ctx context.Context, store artifacts.Store, spec eval.RunSpec, trials iter.Seq2[eval.TrialResult, error], opts Options) (_ Summary, err error) {
	if err := eval.ValidateRunID(spec.RunID); err != nil {
		return Summary{}, err
	}
	if opts.specDigest, err = specDigest(spec); err != nil {
		return Summary{}, err
	}
	spec = cleanSpec(spec)

	dir, err := os.MkdirTemp(opts.TempDir, "harness-report-*")
	if err != nil {
		return Summary{}, fmt.Errorf("create temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	sp, err := newSpool(dir)
	if err != nil {
		return Summary{}, err
	}
	defer sp.close()
	for t, err := range trials {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Summary{}, fmt.Errorf("read trials: %w", err)
		}
		if t, err = cleanTrial(spec.RunID, t); err != nil {
			return Summary{}, err
		}
		if err := sp.add(t); err != nil {
			return Summary{}, err
		}
	}
	if err := sp.sort(); err != nil {
		return Summary{}, err
	}

	count, files, err := writeTables(ctx, dir, spec, sp, opts.Calibration)
	if err != nil {
		return Summary{}, err
	}
	sum := count.summary(spec, opts)
	runs, err := writeRun(ctx, dir, &sum)
	if err != nil {
		return Summary{}, err
	}
	files = append([]File{runs}, files...)

	var md bytes.Buffer
	if err := writeMarkdown(&md, sum, count.unresolved, count.unresolvedCount); err != nil {
		return Summary{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, FileSummary), md.Bytes(), 0o644); err != nil {
		return Summary{}, fmt.Errorf("write %s: %w", FileSummary, err)
	}
	files = append(files, File{Name: FileSummary})

	for i := range files {
		if err := describe(dir, spec.RunID, &files[i]); err != nil {
			return Summary{}, err
		}
	}
	sum.Harness.Files = files

	var js bytes.Buffer
	if err := WriteJSON(&js, sum); err != nil {
		return Summary{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, FileReport), js.Bytes(), 0o644); err != nil {
		return Summary{}, fmt.Errorf("write %s: %w", FileReport, err)
	}
	report := File{Name: FileReport}
	if err := describe(dir, spec.RunID, &report); err != nil {
		return Summary{}, err
	}
	for _, f := range append(files, report) {
		if err := publish(ctx, store, dir, f); err != nil {
			return Summary{}, err
		}
	}
	return sum, nil
}

// writeTables makes the five tables that have rows of trials.
func writeTables(ctx context.Context, dir string, spec eval.RunSpec, sp *spool, cal *Calibration) (_ *tally, _ []File, err error) {
	path := func(name string) string { return filepath.Join(dir, name) }
	// Messages and details are volatile, so their size may not decide where a row
	// group ends: count each as if it were as long as it may be.
	trials, err := createTable(path(FileTrials), "trials", trialColumns(), func(trialRow) int { return maxMessage })
	if err != nil {
		return nil, nil, err
	}
	defer trials.close()
	verdicts, err := createTable(path(FileVerdicts), "verdicts", verdictColumns(), func(r verdictRow) int { return maxWord * len(r.verdict.Flags) })
	if err != nil {
		return nil, nil, err
	}
	defer verdicts.close()
	tests, err := createTable(path(FileTests), "tests", testColumns(), func(r testRow) int { return len(r.test.Name) + len(r.test.RawStatus) })
	if err != nil {
		return nil, nil, err
	}
	defer tests.close()
	events, err := createTable(path(FileEvents), "events", eventColumns(), func(eventRow) int { return maxMessage })
	if err != nil {
		return nil, nil, err
	}
	defer events.close()
	phases, err := createTable(path(FilePhases), "phases", phaseColumns(), nil)
	if err != nil {
		return nil, nil, err
	}
	defer phases.close()

	count := newTally(spec, cal)
	for t, err := range sp.sorted() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, nil, err
		}
		count.add(t)
		err = trials.add(trialRow{&spec, t})
		for i := range t.Verdicts {
			err = errors.Join(err, verdicts.add(verdictRow{t, &t.Verdicts[i]}))
		}
		for i := range t.Tests {
			err = errors.Join(err, tests.add(testRow{t, &t.Tests[i]}))
		}
		for i := range t.Events {
			err = errors.Join(err, events.add(eventRow{t, &t.Events[i]}))
		}
		for i := range t.Phases {
			err = errors.Join(err, phases.add(phaseRow{t, &t.Phases[i]}))
		}
		if err != nil {
			return nil, nil, err
		}
	}

	var files []File
	for _, f := range []struct {
		name   string
		finish func() (Contents, error)
	}{
		{FileTrials, trials.finish}, {FileVerdicts, verdicts.finish}, {FileTests, tests.finish}, {FileEvents, events.finish}, {FilePhases, phases.finish},
	} {
		done, err := finishTable(ctx, dir, f.name, f.finish)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, done)
	}
	return count, files, nil
}

func writeRun(ctx context.Context, dir string, s *Summary) (File, error) {
	runs, err := createTable(filepath.Join(dir, FileRuns), "runs", runColumns(), nil)
	if err != nil {
		return File{}, err
	}
	defer runs.close()
	if err := runs.add(s); err != nil {
		return File{}, err
	}
	return finishTable(ctx, dir, FileRuns, runs.finish)
}

// finishTable closes a table and reads it back against what was written.
func finishTable(ctx context.Context, dir, name string, finish func() (Contents, error)) (File, error) {
	want, err := finish()
	if err != nil {
		return File{}, err
	}
	if err := verifyAgainst(ctx, filepath.Join(dir, name), want); err != nil {
		return File{}, err
	}
	return File{Name: name, Rows: &want.Rows}, nil
}

// describe fills in the key, size and digest of a finished file.
func describe(dir, run string, f *File) error {
	r, err := os.Open(filepath.Join(dir, f.Name))
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	defer r.Close()
	sum := sha256.New()
	if f.Size, err = io.Copy(sum, r); err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	f.Key = eval.ReportKey(run, f.Name)
	return nil
}

var contentTypes = map[string]string{
	".parquet": "application/vnd.apache.parquet",
	".json":    "application/json",
	".md":      "text/markdown; charset=utf-8",
}

func publish(ctx context.Context, store artifacts.Store, dir string, f File) error {
	r, err := os.Open(filepath.Join(dir, f.Name))
	if err != nil {
		return fmt.Errorf("publish %s: %w", f.Name, err)
	}
	defer r.Close()
	info, err := store.Put(ctx, f.Key, r, artifacts.PutOptions{ContentType: contentTypes[filepath.Ext(f.Name)]})
	if err != nil {
		return fmt.Errorf("publish %s: %w", f.Name, err)
	}
	if info.Size != f.Size || info.SHA256 != "" && info.SHA256 != f.SHA256 {
		return fmt.Errorf("publish %s: the store took %d bytes with digest %q, sent were %d with %q: %w",
			f.Name, info.Size, info.SHA256, f.Size, f.SHA256, artifacts.ErrCorrupt)
	}
	return nil
}
