package harborfolder

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"harness/datasets/evalscript"
	"harness/eval"
)

// repoOf makes a name of the form owner/name for a task without a repository.
func repoOf(owner, id string) string {
	return owner + "/" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, id[:min(len(id), 100)])
}

// maxSeconds is a week.
const maxSeconds = 7 * 24 * 3600

// seconds reads a time limit. Parts of a second are rounded up.
func (r *reader) seconds(field string, v *float64, unsaid int64) int64 {
	switch {
	case v == nil:
		return unsaid
	case !(*v > 0 && *v <= maxSeconds):
		r.bad(field, fmt.Sprintf("%v is not a number of seconds up to a week", *v), "correct it")
		return unsaid
	}
	return int64(math.Ceil(*v))
}

const maxMB = 1 << 30

// size reads a size: in MB, or in the older form with a unit. Both mean powers of two.
func (r *reader) size(name string, mb *int64, old string) *int64 {
	field := "environment." + name + "_mb"
	if mb == nil && old != "" {
		field = "environment." + name
		m := oldSize.FindStringSubmatch(strings.TrimSpace(old))
		if m == nil {
			r.bad(field, fmt.Sprintf("%.50q is not a size", old), `write it like "2G" or "512M", or as `+name+"_mb")
			return nil
		}
		n, _ := strconv.ParseFloat(m[1], 64)
		n *= map[string]float64{"G": 1024, "M": 1, "K": 1.0 / 1024}[strings.ToUpper(m[2])]
		whole := int64(min(n, maxMB+1))
		mb = &whole
	}
	if mb == nil {
		return nil
	}
	if *mb < 1 || *mb > maxMB {
		r.bad(field, fmt.Sprintf("%d MB is not a size that can be given", *mb), "correct it")
		return nil
	}
	bytes := *mb * eval.MiB
	return &bytes
}

var oldSize = regexp.MustCompile(`^([0-9]{1,15}(?:\.[0-9]{1,15})?)([gGmMkK])$`)

// env reads variables in the order of their names. A value may be a template
// "${NAME}" or "${NAME:-default}" that Harbor fills in from the machine it runs
// on. Nothing of this machine goes into a sandbox: the default is taken.
func (r *reader) env(field string, vars map[string]string) []evalscript.EnvVar {
	var out []evalscript.EnvVar
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		value := vars[name]
		switch m := template.FindStringSubmatch(value); {
		case !evalscript.IsEnvName(name):
			r.bad(field, fmt.Sprintf("%.100q can't be the name of a variable", name), "rename it")
			continue
		case strings.ContainsRune(value, 0):
			r.bad(field, fmt.Sprintf("the value of %s has a NUL byte", name), "correct it")
			continue
		case m != nil && m[2] == "":
			r.needs(field, fmt.Sprintf("%s is to be taken from the machine's environment, which tasks do not get", name))
			continue
		case m != nil:
			value = m[3]
		}
		out = append(out, evalscript.EnvVar{Name: name, Value: value})
	}
	return out
}

var template = regexp.MustCompile(`(?s)^\$\{([^}:]+)(:-(.*))?\}$`)
