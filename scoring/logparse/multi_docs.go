package logparse

import "strings"

// Grammars of Multi-SWE-bench that reach over several lines.

var (
	pairsCounts = re(`^Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+), Time elapsed: (?:\d|\.)+ sec`)
	pairsFailed = re(`^Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+, Time elapsed: (?:\d|\.)+ sec +<<< FAILURE!`)
	gsonCounts  = re(`^Tests run:\s*(\d+),\s*Failures:\s*(\d+),\s*Errors:\s*(\d+),\s*Skipped:\s*(\d+),\s*Time elapsed:\s*(?:\d|\.)+\s*sec`)
)

// skippedRunes is how many characters at a log's start the official parsers of
// old Surefire leave out: they give a flag's number as the place to start from.
const skippedRunes = 8

// parseSurefirePairs reads "Running class" and, on the next line, its counts.
func parseSurefirePairs(in *input) error {
	sets := newTestSets(in)
	class, ok := "", false
	err := in.eachLineFrom(skippedRunes, func(line string) error {
		if ok && strings.HasPrefix(line, "Tests run: ") {
			if m := pairsCounts.FindStringSubmatch(line); m != nil {
				sets.counts(class, m[1:5])
			}
			if pairsFailed.MatchString(line) {
				sets.add(class, inFailed)
			}
		}
		class, ok = runningClass(line)
		return nil
	})
	if err != nil {
		return err
	}
	return sets.done()
}

// runningClass is what stands behind the first "Running " of a line.
func runningClass(line string) (string, bool) {
	_, class, ok := strings.Cut(line, "Running ")
	return strings.Clone(class), ok && class != ""
}

// parseGson reads "Running class" and the counts that follow, perhaps after what
// the class printed. A class that started while another printed is a part of that.
func parseGson(in *input) error {
	sets := newTestSets(in)
	class, open := "", false      // of the first class without counts
	nameless := false             // "Running" ended its line: the class comes next
	previous, direct := "", false // the class of the line before, for failures
	err := in.eachLineFrom(skippedRunes, func(line string) error {
		isCounts := strings.HasPrefix(line, "Tests run:")
		if isCounts && direct && pairsFailed.MatchString(line) {
			sets.add(previous, inFailed)
		}
		if isCounts && open && !nameless {
			if m := gsonCounts.FindStringSubmatch(line); m != nil {
				sets.counts(class, m[1:5])
				line = line[len(m[0]):]
			}
			open = false
		}
		previous, direct = runningClass(line)
		switch t := strip(line); {
		case nameless && t != "":
			class, nameless = strings.Clone(t), false
		case !open:
			if i := gsonRunning.FindStringIndex(line); i != nil {
				in.place()
				class = strings.Clone(strip(line[i[0]+len("Running"):]))
				open, nameless = true, class == ""
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return sets.done()
}

// gsonRunning matches up to the class, which may stand on the next line.
var gsonRunning = re(`Running(?:\s|$)`)

// eachLineFrom calls f for the lines behind the log's first n characters.
func (in *input) eachLineFrom(n int, f func(line string) error) error {
	return in.eachLine(func(raw []byte) error {
		line := text(raw)
		if n > 0 {
			start := firstRunes(line, n)
			line = line[len(start):]
			n -= len([]rune(start))
			if n > 0 { // the line's end
				n--
				return nil
			}
		}
		return f(line)
	})
}
