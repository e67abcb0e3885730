package logparse

import (
	"bytes"
)

// parseSympy reads the runner of sympy: "____ file.py:name ____" heads a
// failure, "test_x ok" and the like are verbose lines. Failures come first in
// the map, wherever they stand in the log.
func parseSympy(in *input) error {
	var verbose StatusMap
	verbose.wantAs(in.out)
	err := in.eachLine(func(line []byte) error {
		if bytes.Contains(line, []byte(".py:")) {
			if name, ok := sympyFailure(line); ok {
				in.out.Set(name, Failed)
			}
		}
		line = stripBytes(line)
		if !hasPrefix(line, "test_") {
			return nil
		}
		line = stripBytes(Decode(line))
		if in.opt.Dialect.CutSummary && (hasSuffix(line, "[OK]") || hasSuffix(line, "[FAIL]")) {
			line = stripBytes(line[:bytes.LastIndexByte(line, '[')])
		}
		status := ""
		switch {
		case hasSuffix(line, " E"):
			status = Error
		case hasSuffix(line, " F"):
			status = Failed
		case hasSuffix(line, " ok"):
			status = Passed
		default:
			return nil
		}
		name, _ := nextField(line)
		in.place()
		verbose.setBytes(name, []byte(status))
		return nil
	})
	in.out.merge(&verbose)
	return err
}

// sympyFailure finds "file.py:name" in " file.py:name ": from the first blank
// to the last ".py:" that has a blank behind it, and from there to the last blank.
func sympyFailure(line []byte) (string, bool) {
	first, last := bytes.IndexByte(line, ' '), bytes.LastIndexByte(line, ' ')
	if first < 0 {
		return "", false
	}
	p := bytes.LastIndex(line[:last], []byte(".py:"))
	if p <= first {
		return "", false
	}
	return text(line[first+1:p]) + ".py:" + text(line[p+4:last]), true
}
