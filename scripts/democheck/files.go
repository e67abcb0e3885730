package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// notResolved is an expectation that every outcome but "resolved" meets: how an
// unpatched tree fails is up to its tests.
const notResolved = "not resolved"

// expected maps an instance id to the outcome that it must end in.
type expected map[string]struct {
	Outcome anyOf  `json:"outcome"`
	Why     string `json:"why,omitempty"`
}

// anyOf is one outcome, or a list when the machine decides which of them comes
// first: a fork bomb may meet the process limit or the clock.
type anyOf []string

func (a *anyOf) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil && one != "" {
		*a = anyOf{one}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return errors.New(`"outcome" is neither a word nor a list of words`)
	}
	*a = list
	return nil
}

func (a anyOf) String() string { return strings.Join(a, " or ") }

func readExpected(path string) (expected, error) {
	var e expected
	if err := readJSON(path, &e); err != nil {
		return nil, err
	}
	if len(e) == 0 {
		return nil, fmt.Errorf("%s: no instance is named in it", path)
	}
	for id, x := range e {
		if len(x.Outcome) == 0 {
			return nil, fmt.Errorf("%s: %s has no \"outcome\"", path, id)
		}
	}
	return e, nil
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: not the JSON that was expected: %w", path, err)
	}
	return nil
}

func printIDs(w io.Writer, path string) error {
	e, err := readExpected(path)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(e)) {
		fmt.Fprintln(w, id)
	}
	return nil
}

func printExpected(w io.Writer, outcome string, ids []string) error {
	e := make(map[string]map[string]string, len(ids))
	for _, id := range ids {
		e[id] = map[string]string{"outcome": outcome}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(e)
}

func printField(w io.Writer, r io.Reader, name string) error {
	var obj map[string]any
	if err := json.NewDecoder(r).Decode(&obj); err != nil {
		return fmt.Errorf("standard input: not a JSON object: %w", err)
	}
	v, ok := obj[name]
	if !ok || v == nil {
		return fmt.Errorf("standard input: no field %q", name)
	}
	_, err := fmt.Fprintln(w, v)
	return err
}

// reach asks with the proxies of the environment, as package installers do.
func reach(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}
