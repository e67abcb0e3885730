package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"harness/datasets/filter"
	"harness/eval"
)

// ErrNothingSelected: ids and filter together leave no task.
var ErrNothingSelected = errors.New("no task is selected")

// UnknownIDError names ids that no task of the dataset has.
type UnknownIDError struct {
	Dataset string
	IDs     []string
	Near    map[string][]string // for an id: ids of the dataset that look like it
}

func (e *UnknownIDError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "dataset %s has no task ", e.Dataset)
	for i, id := range e.IDs {
		if i == shownProblems {
			fmt.Fprintf(&b, " and %d more", len(e.IDs)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(id))
		if near := e.Near[id]; len(near) > 0 {
			fmt.Fprintf(&b, " (did you mean %s?)", strings.Join(near, ", "))
		}
	}
	b.WriteString("; `harness dataset show` lists the ids")
	return b.String()
}

// Select returns the tasks with one of the ids (all, when there are none) for
// which the filter holds ("" holds for all), in the order of the dataset. An id
// that the dataset does not have is an *UnknownIDError, a filter that can't be
// read a *filter.Error, an empty selection ErrNothingSelected.
func (d *Dataset) Select(ids []string, condition string) ([]eval.Task, error) {
	var match *filter.Filter
	if strings.TrimSpace(condition) != "" {
		var err error
		if match, err = filter.Parse(condition); err != nil {
			return nil, err
		}
	}
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	if err := d.unknown(ids, wanted); err != nil {
		return nil, err
	}
	var out []eval.Task
	for i := range d.Tasks {
		t := &d.Tasks[i]
		if (len(ids) == 0 || wanted[t.InstanceID]) && (match == nil || match.Match(t)) {
			out = append(out, *t)
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	if match == nil {
		return nil, fmt.Errorf("%w: dataset %s is empty", ErrNothingSelected, d.Name)
	}
	among := len(d.Tasks)
	if len(ids) > 0 {
		among = len(wanted)
	}
	return nil, fmt.Errorf("%w: filter %s holds for none of %s", ErrNothingSelected, condition, plural(among, "task"))
}

func (d *Dataset) unknown(ids []string, wanted map[string]bool) error {
	known := make(map[string]bool, len(d.Tasks))
	for i := range d.Tasks {
		known[d.Tasks[i].InstanceID] = true
	}
	e := &UnknownIDError{Dataset: d.Name, Near: make(map[string][]string)}
	for _, id := range ids {
		if known[id] || !wanted[id] {
			continue
		}
		wanted[id] = false // named once
		e.IDs = append(e.IDs, id)
		// Looking for near ids costs time; a person reads the first few.
		if len(e.IDs) <= 5 {
			e.Near[id] = d.near(id)
		}
	}
	if len(e.IDs) == 0 {
		return nil
	}
	return e
}

// near returns up to three ids like id, best first.
func (d *Dataset) near(id string) []string {
	if id == "" || len(id) > 200 {
		return nil
	}
	type candidate struct {
		id       string
		distance int
	}
	var found []candidate
	low := strings.ToLower(id)
	for i := range d.Tasks {
		other := d.Tasks[i].InstanceID
		olow := strings.ToLower(other)
		dist := 0
		switch {
		case olow == low:
		case len(low) >= 4 && strings.Contains(olow, low):
			dist = 1
		default:
			limit := max(2, len(id)/6)
			if dist = editDistance(low, olow, limit); dist > limit {
				continue
			}
		}
		found = append(found, candidate{other, dist})
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for _, c := range found[:min(3, len(found))] {
		out = append(out, c.id)
	}
	return out
}

// editDistance counts single-byte changes between a and b; above limit it
// returns some number above limit.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	prev, cur := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur[0] = i + 1
		best := cur[0]
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j]+cost, prev[j+1]+1, cur[j]+1)
			best = min(best, cur[j+1])
		}
		if best > limit {
			return best
		}
		prev, cur = cur, prev
	}
	return prev[len(b)]
}
