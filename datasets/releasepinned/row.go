package releasepinned

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"harness/eval"
)

const maxRowBytes = 64 << 20

// Row is a published task together with the release it runs from.
type Row struct {
	Repo             string `json:"repo"`
	InstanceID       string `json:"instance_id"`
	BaseCommit       string `json:"base_commit"` // of the project; not in the image
	Patch            string `json:"patch"`
	TestPatch        string `json:"test_patch"`
	ProblemStatement string `json:"problem_statement"`
	HintsText        string `json:"hints_text"`
	CreatedAt        string `json:"created_at"`
	Version          string `json:"version"`
	Difficulty       string `json:"difficulty"`
	FailToPass       IDs    `json:"FAIL_TO_PASS"`
	PassToPass       IDs    `json:"PASS_TO_PASS"`
	LogParser        string `json:"log_parser"`
	EvalType         string `json:"eval_type"`

	Release Release `json:"release"`
}

// Release says what a task runs from and how it was seen to run.
type Release struct {
	Package      string   `json:"package"` // on the package index
	Version      string   `json:"version"` // exact, pre-releases too
	TestCmd      string   `json:"test_cmd"`
	TestArgs     string   `json:"test_args"`
	Dependencies []string `json:"dependencies"`  // as the release asks for them
	VerifiedWith []string `json:"verified_with"` // exact pins, name==version
	Verified     Verified `json:"verified"`
	Notes        string   `json:"notes"`
}

// Verified is true, or a word that says what is missing ("partial").
type Verified string

// UnmarshalJSON accepts true, false and a string.
func (v *Verified) UnmarshalJSON(b []byte) error {
	switch string(bytes.TrimSpace(b)) {
	case "true":
		*v = "full"
		return nil
	case "false", "null":
		*v = "no"
		return nil
	}
	return json.Unmarshal(b, (*string)(v))
}

// Full reports whether all published tests behaved as published.
func (v Verified) Full() bool { return v == "full" }

// IDs is a list of test ids, written as a list or as a JSON list in a string.
type IDs []string

// UnmarshalJSON accepts both forms.
func (l *IDs) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		b = []byte(s)
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// ReadRows reads one row a line. Fields that are not needed are passed over.
func ReadRows(r io.Reader) ([]Row, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxRowBytes)
	var rows []Row
	seen := map[string]int{}
	for line := 1; sc.Scan(); line++ {
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		var row Row
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("read rows: line %d: %w", line, err)
		}
		if err := row.validate(); err != nil {
			return nil, fmt.Errorf("read rows: line %d: %w", line, err)
		}
		if first, ok := seen[row.InstanceID]; ok {
			return nil, fmt.Errorf("read rows: line %d: %s was on line %d before", line, row.InstanceID, first)
		}
		seen[row.InstanceID] = line
		rows = append(rows, row)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	if len(rows) == 0 {
		return nil, errors.New("read rows: there are none")
	}
	return rows, nil
}

func (r *Row) validate() error {
	if err := eval.ValidateInstanceID(r.InstanceID); err != nil {
		return err
	}
	for _, f := range []struct{ name, value string }{
		{"release.package", r.Release.Package}, {"release.version", r.Release.Version}, {"release.test_cmd", r.Release.TestCmd},
		{"release.test_args", r.Release.TestArgs}, {"test_patch", r.TestPatch}, {"log_parser", r.LogParser},
	} {
		if strings.TrimSpace(f.value) == "" {
			return fmt.Errorf("%s: %s is missing: this is no release-pinned row", r.InstanceID, f.name)
		}
	}
	return nil
}
