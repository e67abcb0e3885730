package logparse

import (
	"strings"
)

var (
	alcotestLine  = re(`^\s*\[([A-Z]+)\]\s+(.*?)\s+(\d+)\s+(.+)$`)
	alcotestWords = map[string]string{
		"OK": Passed, "PASS": Passed, "FAIL": Failed, "FAILED": Failed, "ERROR": Error, "ERR": Error,
		"SKIP": Skipped, "SKIPPED": Skipped, "TODO": Skipped,
	}
)

// parseOCaml reads Alcotest's "[OK] suite 3 name"; an unknown word is an error.
func parseOCaml(in *input) error {
	return in.eachPyLine(func(line string) error {
		m := alcotestLine.FindStringSubmatch(rstrip(line))
		if m == nil {
			return nil
		}
		var parts []string
		for _, p := range m[2:] {
			if p = strip(p); p != "" {
				parts = append(parts, p)
			}
		}
		name := strings.Join(parts, " ")
		status, ok := alcotestWords[m[1]]
		if !ok {
			status = Error
		}
		if status == Passed {
			in.out.setDefault(name, status)
		} else {
			in.out.Set(name, status)
		}
		return nil
	})
}

// ocamlRank orders results; a test keeps its worst.
var ocamlRank = map[string]int{Passed: 0, Skipped: 1, Failed: 2, Error: 3}

func (m *StatusMap) setWorse(name, status string) {
	if before, ok := m.Get(name); !ok || ocamlRank[status] >= ocamlRank[before] {
		m.Set(name, status)
	}
}

var (
	duneRunning = re(`^Running\[(\d+)\]:\s+\((.+)\)$`)
	duneOutput  = re(`^Output\[(\d+)]:`)
)

// parseOCamlV2 reads dune's log: the output of a binary, by its run's number.
// One that printed no word of failure has passed.
func parseOCamlV2(in *input) error {
	runs := make(map[string]string)
	var spoke StatusMap // binaries with output
	spoke.wantAs(in.out)
	active := ""
	err := in.eachPyLine(func(line string) error {
		line = strip(line)
		if line == "" {
			return nil
		}
		if m := duneRunning.FindStringSubmatch(line); m != nil {
			in.place()
			id := strings.TrimLeft(m[1], "0")
			name := duneBinary(m[2])
			if name == "" {
				name = "run_" + zeroIfEmpty(id)
			}
			if _, known := runs[id]; (known || len(runs) < MaxNames/8) && len(id) <= 32 {
				runs[strings.Clone(id)] = shorten(name)
			}
			active = ""
			return nil
		}
		if m := duneOutput.FindStringSubmatch(line); m != nil {
			in.place()
			active = runs[strings.TrimLeft(m[1], "0")]
			return nil
		}
		if active == "" {
			return nil
		}
		in.place()
		spoke.Set(active, Passed)
		switch upper := strings.ToUpper(line); {
		case hasAny(upper, []string{"FAIL", "ERROR", "EXCEPTION", "CRASH", "FATAL"}):
			in.out.setWorse(active, Failed)
		case strings.Contains(upper, "SKIP"):
			in.out.setWorse(active, Skipped)
		case upper == "OK":
			in.out.setWorse(active, Passed)
		}
		return nil
	})
	for name := range spoke.All() {
		in.out.setDefault(name, Passed)
	}
	return err
}

// duneBinary is the file that the last of a command's parts runs.
func duneBinary(command string) string {
	command = strip(command[strings.LastIndex(command, "&&")+1:])
	command = strip(strings.TrimPrefix(command, "&"))
	if rest, ok := strings.CutPrefix(command, "exec "); ok {
		command = strip(rest)
	}
	words := fields(strings.TrimPrefix(command, "./"))
	if len(words) == 0 {
		return ""
	}
	return words[0][strings.LastIndexByte(words[0], '/')+1:]
}

func zeroIfEmpty(id string) string {
	if id == "" {
		return "0"
	}
	return id
}

var (
	ocamlV3Line  = re(`^\[([A-Za-z][A-Za-z0-9_-]*)\]\s+(.+)$`)
	ocamlV3Words = map[string]string{
		"OK": Passed, "PASS": Passed, "PASSED": Passed, "SUCCESS": Passed,
		"SKIP": Skipped, "SKIPPED": Skipped, "TODO": Skipped, "PENDING": Skipped, "DISABLED": Skipped,
		"FAIL": Failed, "FAILED": Failed, "ERROR": Failed, "EXCEPTION": Failed, "CRASH": Failed, "FATAL": Failed,
		"KO": Failed, "PANIC": Failed,
	}
)

func parseOCamlV3(in *input) error {
	return in.eachPyLine(func(line string) error {
		m := ocamlV3Line.FindStringSubmatch(strip(line))
		if m == nil {
			return nil
		}
		if status, ok := ocamlV3Words[strings.ToUpper(m[1])]; ok {
			if name := collapse(m[2]); name != "" {
				in.out.setWorse(name, status)
				in.place()
			}
		}
		return nil
	})
}

var ocamlV4Line = re(`^(` + rebenchWords + `)\s+(.*)$`)

// parseOCamlV4 reads "PASSED name   more": two blanks end the name.
func parseOCamlV4(in *input) error {
	return in.eachPyLine(func(line string) error {
		line = sgr.ReplaceAllLiteralString(line, " ")
		line = strip(ansiCode.ReplaceAllLiteralString(line, ""))
		m := ocamlV4Line.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		name := strip(m[2])
		if i := ocamlV4Gap.FindStringIndex(name); i != nil {
			name = strip(name[:i[0]])
		}
		if name != "" {
			in.out.setWorse(name, m[1])
			in.place()
		}
		return nil
	})
}

var ocamlV4Gap = re(`\s{2,}`)
