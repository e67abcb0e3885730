package logparse_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/checkout"
	"harness/scoring/logparse"
)

type pair struct{ Name, Status string }

// orderedMap decodes a JSON object of strings, keeping its order.
type orderedMap []pair

func (m *orderedMap) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(strings.NewReader(string(b)))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return err
		}
		v, err := d.Token()
		if err != nil {
			return err
		}
		*m = append(*m, pair{k.(string), v.(string)})
	}
	return nil
}

type vector struct {
	Kind       string     `json:"kind"`
	Parser     string     `json:"parser"`
	InstanceID string     `json:"instance_id"`
	Version    string     `json:"version"`
	Log        string     `json:"log"`
	Expected   orderedMap `json:"expected"`
	Error      string     `json:"error"`
}

// Every vector of an implemented function gives the same map, in the same order,
// or the same exception, as release 5.0.2 of the official harness.
func TestOfficialVectors(t *testing.T) {
	const wantCompared = 546
	f, err := os.Open(filepath.Join(checkout.SharedData(t), "parser_vectors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	compared, skipped := 0, map[string]int{}
	functions := map[string]bool{}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 64<<20)
	for n := 1; s.Scan(); n++ {
		var v vector
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		p, ok := logparse.Lookup(v.Parser)
		if !ok {
			skipped[v.Parser]++
			continue
		}
		compared++
		functions[v.Parser] = true
		res, err := p.Parse(strings.NewReader(v.Log), logparse.Options{
			Dialect: logparse.V5, InstanceID: v.InstanceID, Version: v.Version,
		})
		if v.Error != "" {
			var raised *logparse.RaisedError
			if !errors.As(err, &raised) || raised.Kind != v.Error {
				t.Errorf("line %d: %s: got error %v, want %s", n, v.Parser, err, v.Error)
			}
			continue
		}
		if err != nil {
			t.Errorf("line %d: %s: %v", n, v.Parser, err)
			continue
		}
		if d := diffMaps(res.Tests, v.Expected); d != "" {
			t.Errorf("line %d: %s (%s): %s", n, v.Parser, v.Kind, d)
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("compared %d vectors of %d functions; not implemented: %v", compared, len(functions), skipped)
	if compared < wantCompared {
		t.Errorf("compared %d vectors, want at least %d", compared, wantCompared)
	}
}

func diffMaps(got *logparse.StatusMap, want orderedMap) string {
	var g orderedMap
	for n, s := range got.All() {
		g = append(g, pair{n, s})
	}
	for i := range max(len(g), len(want)) {
		switch {
		case i >= len(g):
			return "missing " + want[i].Name + " " + want[i].Status
		case i >= len(want):
			return "not wanted: " + g[i].Name + " " + g[i].Status
		case g[i] != want[i]:
			return "got " + g[i].Name + " " + g[i].Status + ", want " + want[i].Name + " " + want[i].Status
		}
	}
	return ""
}
