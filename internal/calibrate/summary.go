package calibrate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"text/tabwriter"

	"harness/internal/cli"
	"harness/internal/escape"
	"harness/reports"
	"harness/scoring/calibration"
)

// Summary is what `harness dataset calibrate --json` prints.
type Summary struct {
	reports.CalibrationFacts
	File      string      `json:"file"`
	SHA256    string      `json:"sha256"`
	Bytes     int64       `json:"bytes"`
	Rows      int64       `json:"rows"`
	Tasks     int         `json:"tasks"`
	Runtimes  []*Runtime  `json:"runtimes"`
	NotOK     []TaskFacts `json:"not_calibrated"`           // by task and runtime, those not measured included
	Differing []string    `json:"differs_between_runtimes"` // tasks
	// DifferingTests counts tests, also those that decide nothing; nil with one runtime.
	DifferingTests *int         `json:"differing_tests"`
	Quarantined    []Quarantine `json:"quarantined"`

	differing map[string]bool // task and test
}

// Runtime counts the judgements under one runtime.
type Runtime struct {
	Name          string `json:"runtime"`
	Version       string `json:"runtime_version,omitempty"`
	Gold          Count  `json:"gold"`
	Noop          Count  `json:"noop"`
	Calibrated    int    `json:"calibrated"`
	NotCalibrated int    `json:"not_calibrated"`
	Unknown       int    `json:"unknown"`
	Tests         int    `json:"tests"`       // judged, expected ones and others
	Quarantined   int    `json:"quarantined"` // tests
	unmeasured    int    // unknown through missing results, not by nature
}

// Count is over repeats.
type Count struct {
	Resolved int `json:"resolved"`
	Measured int `json:"measured"`
	Planned  int `json:"planned"`
}

func (c *Count) add(r *calibration.Repeats) {
	c.Resolved += r.Good
	c.Measured += r.Measured
	c.Planned += r.Planned
}

// TaskFacts names a task that is not calibrated under a runtime.
type TaskFacts struct {
	InstanceID string   `json:"instance_id"`
	Runtime    string   `json:"runtime"`
	Calibrated *bool    `json:"calibrated"`
	Reasons    []string `json:"reasons"`
	Gold       []string `json:"gold"` // outcomes
	Noop       []string `json:"noop"`
}

// Quarantine names a test that should not be believed under a runtime.
type Quarantine struct {
	InstanceID string   `json:"instance_id"`
	Runtime    string   `json:"runtime"`
	Test       string   `json:"test"`
	Group      string   `json:"group"`
	Reasons    []string `json:"reasons"`
	Gold       []string `json:"gold"` // statuses
	Noop       []string `json:"noop"`
}

func newSummary(j *job, facts reports.CalibrationFacts) *Summary {
	s := &Summary{CalibrationFacts: facts, Tasks: len(j.tasks), NotOK: []TaskFacts{}, Differing: []string{}, Quarantined: []Quarantine{}}
	if len(j.o.Runtimes) > 1 {
		s.DifferingTests, s.differing = new(int), map[string]bool{}
	}
	for _, name := range j.o.Runtimes {
		s.Runtimes = append(s.Runtimes, &Runtime{Name: name})
	}
	return s
}

// watch passes judgements on and counts them.
func (s *Summary) watch(in iter.Seq2[calibration.Task, error]) iter.Seq2[calibration.Task, error] {
	return func(yield func(calibration.Task, error) bool) {
		for t, err := range in {
			if err == nil {
				s.add(&t)
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

func (s *Summary) add(t *calibration.Task) {
	for _, r := range s.Runtimes {
		if r.Name == t.Runtime {
			r.add(t)
		}
	}
	if t.Calibrated == nil || !*t.Calibrated {
		s.NotOK = append(s.NotOK, TaskFacts{t.InstanceID, t.Runtime, t.Calibrated, list(t.Reasons), list(t.Gold.Seen), list(t.Noop.Seen)})
	}
	if t.Differs != nil && *t.Differs && (len(s.Differing) == 0 || s.Differing[len(s.Differing)-1] != t.InstanceID) {
		s.Differing = append(s.Differing, t.InstanceID)
	}
	for _, test := range t.Tests {
		if test.Differs != nil && *test.Differs {
			s.differing[t.InstanceID+" "+test.Group+" "+test.Name] = true
			*s.DifferingTests = len(s.differing)
		}
		if test.Quarantined != nil && *test.Quarantined {
			s.Quarantined = append(s.Quarantined, Quarantine{t.InstanceID, t.Runtime, test.Name, test.Group, list(test.Reasons), list(test.Gold.Seen), list(test.Noop.Seen)})
		}
	}
}

func (r *Runtime) add(t *calibration.Task) {
	if r.Version == "" {
		r.Version = t.RuntimeVersion
	}
	r.Gold.add(&t.Gold)
	r.Noop.add(&t.Noop)
	switch {
	case t.Calibrated == nil:
		r.Unknown++
		if t.Gold.Planned > 0 {
			r.unmeasured++
		}
	case *t.Calibrated:
		r.Calibrated++
	default:
		r.NotCalibrated++
	}
	r.Tests += len(t.Tests)
	for _, test := range t.Tests {
		if test.Quarantined != nil && *test.Quarantined {
			r.Quarantined++
		}
	}
}

func (s *Summary) file(path string, rows int64) error {
	sum, size, err := digestOf(path)
	if err != nil {
		return err
	}
	s.File, s.Rows, s.SHA256, s.Bytes = path, rows, sum, size
	return nil
}

// unknown counts the judgements that lack a result they should have.
func (s *Summary) unknown() int {
	n := 0
	for _, r := range s.Runtimes {
		n += r.unmeasured
	}
	return n
}

// maxShown is how many tasks, and how many tests, people are shown by name.
const maxShown = 20

func (s *Summary) print(app *cli.App) error {
	w := tabwriter.NewWriter(app.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "calibration of %s, %s, profile %s\n\n", escape.Terminal(s.Dataset), cli.Count(s.Tasks, "task"), s.Profile)
	fmt.Fprintln(w, "RUNTIME\tGOLD RESOLVED\tUNPATCHED RESOLVED\tCALIBRATED\tNOT\tUNKNOWN\tTESTS\tQUARANTINED")
	for _, r := range s.Runtimes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", r.Name, r.Gold, r.Noop, r.Calibrated, r.NotCalibrated, r.Unknown, r.Tests, r.Quarantined)
	}
	if n := len(s.NotOK); n > 0 {
		fmt.Fprintf(w, "\nnot calibrated: %d\n\nTASK\tRUNTIME\tWHY\tGOLD\tUNPATCHED\n", n)
		for _, t := range s.NotOK[:min(n, maxShown)] {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.InstanceID, t.Runtime, strings.Join(t.Reasons, ", "), words(t.Gold), words(t.Noop))
		}
		more(w, n)
	}
	if s.DifferingTests != nil {
		fmt.Fprintf(w, "\ntasks that end otherwise under another runtime: %d%s\n", len(s.Differing), first(": ", s.Differing))
		fmt.Fprintf(w, "tests that behave otherwise under another runtime: %d\n", *s.DifferingTests)
	}
	if n := len(s.Quarantined); n > 0 {
		fmt.Fprintf(w, "\nquarantined tests (they are shown with results and change no verdict): %d\n\nTASK\tRUNTIME\tTEST\tGROUP\tWHY\tGOLD\tUNPATCHED\n", n)
		for _, q := range s.Quarantined[:min(n, maxShown)] {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", q.InstanceID, q.Runtime, escape.Cut(escape.Terminal(q.Test), 100), q.Group, strings.Join(q.Reasons, ", "), words(q.Gold), words(q.Noop))
		}
		more(w, n)
	}
	fmt.Fprintf(w, "\ncalibration  %s (%d rows, %s)\n", s.File, s.Rows, cli.Size(s.Bytes))
	return w.Flush()
}

func more(w *tabwriter.Writer, n int) {
	if n > maxShown {
		fmt.Fprintf(w, "and %d more; the file has them all\n", n-maxShown)
	}
}

func (c Count) String() string {
	text := fmt.Sprintf("%d of %d", c.Resolved, c.Measured)
	if c.Measured < c.Planned {
		text += fmt.Sprintf(" (%d planned)", c.Planned)
	}
	return text
}

// words shortens what repeats saw: "PASSED 2, FAILED 1".
func words(seen []string) string {
	r := calibration.Repeats{Seen: seen}
	var parts []string
	for _, word := range r.Words() {
		parts = append(parts, fmt.Sprintf("%s %d", escape.Terminal(word.Text), word.N))
	}
	return strings.Join(parts, ", ")
}

// first names some of a list behind a prefix, "" for none.
func first(prefix string, ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	text := prefix + strings.Join(ids[:min(len(ids), maxShown)], ", ")
	if n := len(ids) - maxShown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return escape.Terminal(text)
}

// list is never nil: an empty one is written as [].
func list(in []string) []string { return append([]string{}, in...) }

func digestOf(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, fmt.Errorf("read the calibration: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, fmt.Errorf("read the calibration: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}
