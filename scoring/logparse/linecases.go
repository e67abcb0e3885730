package logparse

// lineCases is a format in which a line is one of several kinds. The kinds are
// tried in order; the first whose pattern matches decides.
type lineCases struct {
	// prepare rewrites a line first; nil takes white space off both ends.
	prepare func(line string) string
	// need is text that every line of the format has; empty means any.
	need  []string
	cases []lineCase
	// name rewrites a test's name; a result without a name is dropped if set.
	name func(string) string
}

// lineCase is a kind of line. Its pattern's first group is the test's name.
type lineCase struct {
	pattern *pyPattern
	status  string
	keep    bool // an earlier status of the test stays
}

func (l lineCases) parse(in *input) error {
	return in.eachPrepared(l.need, l.prepare, func(line string) { l.line(in, line) })
}

// eachPrepared calls f for the lines that have one of some texts, if there are
// any, and that are not empty after they were prepared; nil takes white space off
// both ends.
func (in *input) eachPrepared(need []string, prepare func(string) string, f func(line string)) error {
	if prepare == nil {
		prepare = strip
	}
	return in.eachPyLine(func(line string) error {
		if len(need) > 0 && !hasAny(line, need) {
			return nil
		}
		if line = prepare(line); line != "" {
			f(line)
		}
		return nil
	})
}

func (l lineCases) line(in *input, line string) {
	for _, c := range l.cases {
		m := c.pattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := m[1]
		if l.name != nil {
			if name = l.name(name); name == "" {
				in.place()
				return
			}
		}
		if c.keep {
			in.out.setDefault(name, c.status)
		} else {
			in.out.Set(name, c.status)
		}
		return
	}
}
