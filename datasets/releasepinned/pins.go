package releasepinned

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// pins are exact versions by normalised project name.
type pins map[string]string

// requires lists what a package can't be imported without, as far as rows leave
// it out: their lists name what was pinned on purpose, not what came along.
var requires = map[string][]string{
	"babel":           {"pytz"},
	"cffi":            {"pycparser"},
	"cryptography":    {"cffi"},
	"dask":            {"click", "cloudpickle", "fsspec", "packaging", "partd", "pyyaml", "toolz"},
	"flask":           {"click", "itsdangerous", "jinja2", "werkzeug"},
	"html5lib":        {"six", "webencodings"},
	"httpbin":         {"brotli", "decorator", "flask", "markupsafe", "raven", "six"},
	"jinja2":          {"markupsafe"},
	"matplotlib":      {"contourpy", "cycler", "fonttools", "kiwisolver", "numpy", "packaging", "pillow", "pyparsing", "python-dateutil"},
	"pandas":          {"numpy", "python-dateutil", "pytz"},
	"partd":           {"locket", "toolz"},
	"pydicom":         {"setuptools"},
	"pytest":          {"attrs", "iniconfig", "packaging", "pluggy"},
	"pytest-httpbin":  {"httpbin", "six"},
	"python-dateutil": {"six"},
	"raven":           {"blinker"},
	"requests":        {"certifi", "charset-normalizer", "idna", "urllib3"},
	"scipy":           {"numpy"},
	"trustme":         {"cryptography", "idna"},
	"werkzeug":        {"markupsafe"},
	"sphinx":          {"setuptools"},
	"xarray":          {"setuptools"},
}

// companions are the versions of what requires brings in: those of early 2023,
// like the rows' own.
var companions = pins{
	"attrs": "22.2.0", "blinker": "1.5", "brotli": "1.0.9", "certifi": "2022.9.24", "cffi": "1.15.1", "charset-normalizer": "2.1.1", "click": "8.1.3",
	"cloudpickle": "2.2.0", "contourpy": "1.0.7", "cryptography": "38.0.4", "cycler": "0.11.0", "decorator": "5.1.1", "fonttools": "4.38.0",
	"fsspec": "2022.11.0", "idna": "3.3", "iniconfig": "1.1.1", "itsdangerous": "2.1.2", "jinja2": "3.1.2", "kiwisolver": "1.4.4",
	"locket": "1.0.0", "markupsafe": "2.1.2", "numpy": "1.24.2", "packaging": "23.0", "partd": "1.3.0", "pillow": "9.4.0",
	"pluggy": "1.0.0", "pycparser": "2.21", "pyparsing": "3.0.9", "python-dateutil": "2.8.2", "pytz": "2022.7.1", "pyyaml": "6.0",
	"raven": "6.10.0", "setuptools": "66.1.1", "six": "1.16.0", "toolz": "0.12.0", "urllib3": "1.26.12", "webencodings": "0.5.1", "werkzeug": "2.2.2",
}

// corrections replace pins that worked only with a distribution's own patches,
// when the one that needs them is pinned too.
var corrections = []struct {
	with, version string
	pins          pins
}{
	// httpbin 0.7.0 imports what Werkzeug 2.1 removed; Debian's copy does not.
	{"httpbin", "0.7.0", pins{"werkzeug": "2.0.3", "flask": "2.0.3"}},
}

var pinGrammar = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9.+!]*)$`)

// pins returns the row's pins and what they can't be imported without. The
// released package itself is not among them: it is what is under test.
func (r *Row) pins() (pins, error) {
	out := pins{}
	self := normalName(r.Release.Package)
	for _, p := range r.Release.VerifiedWith {
		m := pinGrammar.FindStringSubmatch(strings.TrimSpace(p))
		if m == nil {
			return nil, fmt.Errorf("%s: release.verified_with: %q is not name==version", r.InstanceID, p)
		}
		name := normalName(m[1])
		if have, twice := out[name]; twice && have != m[2] {
			return nil, fmt.Errorf("%s: release.verified_with: %s is pinned to %s and to %s", r.InstanceID, name, have, m[2])
		}
		out[name] = m[2]
	}
	for _, c := range corrections {
		if out[c.with] == c.version {
			maps.Copy(out, c.pins)
		}
	}
	work := append(slices.Sorted(maps.Keys(out)), self)
	for len(work) > 0 {
		name := work[0]
		work = work[1:]
		for _, need := range requires[name] {
			if _, ok := out[need]; ok || need == self {
				continue
			}
			version, ok := companions[need]
			if !ok {
				return nil, fmt.Errorf("%s: %s needs %s, for which no version is known: add it to release.verified_with", r.InstanceID, name, need)
			}
			out[need] = version
			work = append(work, need)
		}
	}
	return out, nil
}

// list is the canonical form, sorted name==version.
func (p pins) list() []string {
	out := make([]string, 0, len(p))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		out = append(out, name+"=="+p[name])
	}
	return out
}

var separators = regexp.MustCompile(`[-_.]+`)

// normalName is the form of project names in which the index compares them (PEP 503).
func normalName(s string) string { return strings.ToLower(separators.ReplaceAllString(s, "-")) }
