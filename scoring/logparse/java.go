package logparse

import "bytes"

// mavenNobody is the name that results before any test name get, before 5.0.
const mavenNobody = "---NO TEST NAME FOUND YET---"

var (
	mavenName   = re(`^.*-Dtest=(\S+).*$`)
	mavenResult = re(`^.*BUILD (SUCCESS|FAILURE)$`)
	mavenWords  = map[string]string{"SUCCESS": Passed, "FAILURE": Failed}
)

// parseMaven reads the shell trace of one Maven call a test: the name is in the
// command, the result is the build's. Traces and results come by different
// streams, so a result may stand before its name; since 5.0 both are queued.
func parseMaven(in *input) error {
	var names, early []string
	current := mavenNobody
	err := in.eachLine(func(line []byte) error {
		hasName := bytes.Contains(line, []byte("-Dtest="))
		if !hasName && !bytes.Contains(line, []byte("BUILD ")) {
			return nil
		}
		s := strip(text(line))
		if m := mavenName.FindStringSubmatch(s); m != nil {
			in.place()
			current = m[1]
			names = in.appendCapped(names, m[1])
		}
		m := mavenResult.FindStringSubmatch(s)
		switch {
		case m == nil:
		case !in.opt.Dialect.QueueNames:
			in.out.Set(current, mavenWords[m[1]])
		case len(names) > 0:
			in.out.Set(names[0], mavenWords[m[1]])
			names = names[1:]
		default:
			in.place()
			early = in.appendCapped(early, mavenWords[m[1]])
		}
		return nil
	})
	for i := 0; i < min(len(names), len(early)) && in.opt.Dialect.QueueNames; i++ {
		in.out.Set(names[i], early[i])
	}
	return err
}

// appendCapped keeps lists that a log can grow within the bounds of a map.
func (in *input) appendCapped(list []string, s string) []string {
	const maxName = 1 << 10
	if len(list) >= MaxNames/8 || len(s) > maxName {
		in.out.dropped++
		return list
	}
	return append(list, string([]byte(s)))
}

var (
	gradleFull   = re(`^([^>].+)\s+(PASSED|FAILED)$`)
	gradleName   = re(`^([^>]\S*\s+>\s+\S+)$`)
	gradleStatus = map[string]string{"PASSED": Passed, "FAILED": Failed}
)

// parseGradleCustom reads "Class > method PASSED"; since 5.0 the status may also
// stand alone on a later line, torn off by other output.
func parseGradleCustom(in *input) error {
	pending := ""
	return in.eachLine(func(line []byte) error {
		result := bytes.Contains(line, []byte("PASSED")) || bytes.Contains(line, []byte("FAILED"))
		if !result && !bytes.Contains(line, []byte(">")) {
			return nil
		}
		s := strip(text(line))
		if m := gradleFull.FindStringSubmatch(s); m != nil {
			in.out.Set(m[1], gradleStatus[m[2]])
			pending = ""
			return nil
		}
		if !in.opt.Dialect.QueueNames {
			return nil
		}
		if m := gradleName.FindStringSubmatch(s); m != nil {
			in.place()
			pending = m[1]
		} else if status, ok := gradleStatus[s]; ok && pending != "" {
			in.out.Set(pending, status)
			pending = ""
		}
		return nil
	})
}
