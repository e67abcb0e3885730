package logparse

import "bytes"

var (
	phpSuite = re(`^(\w.+) \(.+\)$`)
	phpTest  = re(`^\s*([✔✘↩])\s*(.*)$`)
	phpWords = map[string]string{"✔": Passed, "✘": Failed, "↩": Skipped}
)

// parsePHPUnit reads phpunit --testdox: a suite's heading, then its tests. Tests
// before any heading belong to the suite "None".
func parsePHPUnit(in *input) error {
	return in.phpUnit(func(name string) string { return name })
}

func (in *input) phpUnit(clean func(name string) string) error {
	suite := "None"
	return in.eachLine(func(line []byte) error {
		if bytes.HasSuffix(line, []byte(")")) {
			if m := phpSuite.FindStringSubmatch(text(line)); m != nil {
				suite = shorten(m[1])
				in.place()
				return nil
			}
		}
		if !containsAny(line, []string{"✔", "✘", "↩"}) {
			return nil
		}
		if m := phpTest.FindStringSubmatch(text(line)); m != nil {
			in.out.Set(suite+" > "+clean(m[2]), phpWords[m[1]])
		}
		return nil
	})
}
