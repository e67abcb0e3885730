package logparse

import (
	"bytes"
	"slices"
)

// mochaDocuments reads mocha's JSON reporter. Every JSON object of a log must be
// such a document.
type mochaDocuments struct {
	// files: a test's name has its file before it, and what stands before the
	// first notice of a rebuild is no part of the log.
	files bool
}

// mochaLists are a document's lists of tests.
var mochaLists = map[string]testSet{"passes": inPassed, "failures": inFailed, "pending": inSkipped, "tests": 0}

// mochaParts are what a document must have, mochaStats what its stats must.
var (
	mochaParts = []string{"stats", "tests", "pending", "failures", "passes"}
	mochaStats = []string{"suites", "tests", "passes", "pending", "failures", "start", "end", "duration"}
)

const mochaRebuild = "Building new"

func (d mochaDocuments) parse(in *input) error {
	lines := &joinedLines{log: in.log, yarn: d.files}
	required := []string{"title", "fullTitle", "currentRetry", "err"}
	if d.files {
		lines.restart = mochaRebuild
		required = append(required, "file")
	}
	m := mochaReader{in: in, required: required, files: d.files}
	m.restart()
	scan := in.bytes()
	scan.r.Reset(lines)
	s := &jsonScan{byteScan: scan, want: slices.Concat(required, mochaParts, mochaStats), object: m.object, restart: m.restart}
	err := s.documents(m.end)
	in.coverage = nil // what was read has no lines
	if err != nil {
		return err
	}
	if m.err != nil {
		return m.err
	}
	return m.sets.done()
}

// mochaReader collects a log's documents.
type mochaReader struct {
	in       *input
	required []string
	files    bool
	sets     *testSets
	err      error // what the official parser raises, unless the log starts anew

	objects int    // complete ones of the document at hand
	missing string // a field that it or a test of it lacks
}

// restart forgets what was read so far.
func (m *mochaReader) restart() {
	m.sets, m.err = newTestSets(m.in), nil
	m.begin()
}

func (m *mochaReader) begin() { m.objects, m.missing = 0, "" }

func (m *mochaReader) require(f jsonFields, fields []string) {
	for _, field := range fields {
		if f[field] == nil {
			m.missing = field
		}
	}
}

func (m *mochaReader) object(path []string, f jsonFields) {
	m.objects++
	switch {
	case len(path) == 0:
		m.require(f, mochaParts)
	case len(path) == 1 && path[0] == "stats":
		m.require(f, mochaStats)
	}
	if len(path) != 2 || path[1] != "" {
		return
	}
	set, ok := mochaLists[path[0]]
	if !ok {
		return
	}
	m.require(f, m.required)
	name := f.text("fullTitle")
	if m.files {
		name = f.text("file") + ":" + name
	}
	switch set {
	case inFailed:
		m.sets.remove(name, inPassed|inSkipped)
		m.sets.add(name, inFailed)
	case inSkipped:
		if !m.sets.has(name, inFailed) {
			m.sets.remove(name, inPassed)
			m.sets.add(name, inSkipped)
		}
	case inPassed:
		if !m.sets.has(name, inFailed|inSkipped) {
			m.sets.add(name, inPassed)
		}
	}
}

// end takes a document. Of one that breaks off, the official parser takes the
// objects inside it for documents.
func (m *mochaReader) end(complete bool) error {
	switch {
	case m.err != nil:
	case !complete && m.objects > 0:
		m.err = m.in.raise("KeyError", "a document breaks off")
	case complete && m.missing != "":
		m.err = m.in.raise("KeyError", "a JSON object of the log is no document of mocha's: it, or a test of it, has no %q", m.missing)
	}
	m.begin()
	return nil
}

// joinedLines is a log without its line ends and without what tools write between
// the lines of a document. Where restart first occurs it has a NUL.
type joinedLines struct {
	log     *LineReader
	yarn    bool // the tool is yarn; else it is one that measures coverage
	restart string
	rest    []byte
}

var yarnFailure = re(`error Command failed with exit code \d+\.`)

func (j *joinedLines) Read(p []byte) (int, error) {
	for len(j.rest) == 0 {
		line, err := j.log.Next()
		if err != nil {
			return 0, err
		}
		switch {
		case j.yarn:
			line = yarnFailure.ReplaceAllLiteral(line, nil)
		case bytes.HasPrefix(line, []byte("Writing ")), len(line) > 0 && len(bytes.Trim(line, "=")) == 0:
			continue
		}
		j.rest = bytes.ReplaceAll(line, []byte{0}, []byte{1}) // neither may stand in JSON
		if i := bytes.Index(line, []byte(j.restart)); j.restart != "" && i >= 0 {
			j.rest = append([]byte{0}, j.rest[i:]...)
			j.restart = ""
		}
	}
	n := copy(p, j.rest)
	j.rest = j.rest[n:]
	return n, nil
}
