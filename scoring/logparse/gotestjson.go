package logparse

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// goEvent is a line of go test -json. Format: go doc test2json.
type goEvent struct {
	Action, Package, Test string
	Elapsed               *float64 // seconds
}

// parseGoTestJSON reads the events of go test -json among other lines. A test's
// name is "package.Test/subtest". A package that fails without a test that
// failed, such as one that does not build, is an error of its own name; so is a
// test that was running then.
func parseGoTestJSON(in *input) error {
	g := goTests{in: in, packages: make(map[string]*goPackage)}
	return in.eachLine(func(line []byte) error {
		// Output that has no line end may stand before an event.
		i := bytes.Index(line, []byte(`{"`))
		for ; i >= 0 && !startsGoEvent(line[i:]); i = nextIndex(line, `{"`, i) {
		}
		if i < 0 {
			return nil
		}
		if head, _, ok := bytes.Cut(line[i:], []byte(`"Output":`)); ok && bytes.Contains(head, []byte(`"Action":"output"`)) {
			in.place()
			return nil
		}
		var e goEvent
		if json.Unmarshal(line[i:], &e) == nil && e.Action != "" {
			in.place()
			g.event(e)
		}
		return nil
	})
}

func startsGoEvent(line []byte) bool {
	return hasPrefix(line, `{"Time":"`) || hasPrefix(line, `{"Action":"`) || hasPrefix(line, `{"ImportPath":"`)
}

// nextIndex is the place of a text behind place i, or -1.
func nextIndex(line []byte, s string, i int) int {
	n := bytes.Index(line[i+1:], []byte(s))
	if n < 0 {
		return -1
	}
	return i + 1 + n
}

// goTests follows packages whose tests run, perhaps several at once. Of packages
// and running tests it keeps no more than their bounds, so that beyond them a
// torn test stays without a result.
type goTests struct {
	in       *input
	packages map[string]*goPackage
	bytes    int // of the names of tests that run
}

type goPackage struct {
	failed  bool // one of its tests did
	running map[string]struct{}
}

const (
	maxGoPackages = MaxNames / 8
	maxGoRunning  = MaxNameBytes / 4
)

func (g *goTests) event(e goEvent) {
	if len(e.Package)+len(e.Test) > MaxName {
		return
	}
	if e.Test == "" {
		g.packageEvent(e)
		return
	}
	name := e.Package + "." + e.Test
	p := g.packages[e.Package]
	if p == nil {
		if len(g.packages) >= maxGoPackages {
			return
		}
		p = &goPackage{running: make(map[string]struct{})}
		g.packages[e.Package] = p
	}
	switch e.Action {
	case "run":
		if g.bytes < maxGoRunning {
			g.bytes += len(name)
			p.running[name] = struct{}{}
		}
		return
	case "pass":
		g.in.out.Set(name, Passed)
	case "skip":
		g.in.out.Set(name, Skipped)
	case "fail":
		p.failed = true
		g.in.out.Set(name, Failed)
	default:
		return
	}
	if e.Elapsed != nil {
		g.in.out.setSeconds(name, *e.Elapsed)
	}
	if _, ok := p.running[name]; ok {
		g.bytes -= len(name)
		delete(p.running, name)
	}
}

func (g *goTests) packageEvent(e goEvent) {
	if e.Action != "pass" && e.Action != "fail" && e.Action != "skip" {
		return
	}
	var torn []string
	p := g.packages[e.Package]
	if p != nil {
		torn = slices.Sorted(maps.Keys(p.running))
	}
	for _, name := range torn {
		g.bytes -= len(name)
		if e.Action == "fail" {
			g.in.out.Set(name, Error)
		}
	}
	if e.Action == "fail" && (p == nil || !p.failed) {
		g.in.out.Set(e.Package, Error)
	}
	delete(g.packages, e.Package)
}
