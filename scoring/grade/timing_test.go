package grade

import "testing"

// What SWE-rebench V2's _normalize_test_name makes of these names.
func TestStripTiming(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"  a b\u00a0\x1c":            "a b",
		"a [1.34 ms]":                "a",
		"a[ 12 S ]  ":                "a",
		"a (1.2s)":                   "a",
		"a (12 ms) ":                 "a",
		"a (12 ms) [3 s]":            "a",
		"a [3 s] (12 ms)":            "a [3 s]",
		"a in 3 sec":                 "a",
		"a in 3.5 msec, b in 1 SEC.": "a, b.",
		"a in 3 secs":                "a in 3 secs",
		"a in 3 sec_":                "a in 3 sec_",
		"a in 3 secs in 4 sec":       "a in 3 secs",
		"a in 3 sec in 4 sec":        "a",
		"a within 3 sec":             "a within 3 sec",
		"a in .5 sec":                "a in .5 sec",
		"a [x ms]":                   "a [x ms]",
		"a [1 min]":                  "a [1 min]",
		"a [1 ms] b":                 "a [1 ms] b",
		"a [\u0661 ms]":              "a",
		"a [1 m\u017f]":              "a",
		"[1 ms]":                     "",
		"a\n[1 ms]\n":                "a",
	} {
		if got := stripTiming(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
