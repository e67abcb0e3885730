package logparse

import (
	"strconv"
	"strings"
)

// resolve returns the parser that a task of Multi-SWE-bench means: it names its
// pull request, multi/ORG/REPO:pr-NUMBER, since which grammar belongs to which is
// known here. Other names are returned as they are.
func resolve(name string) string {
	pull, ok := strings.CutPrefix(name, multiPrefix)
	if !ok {
		return name
	}
	repo, number, ok := strings.Cut(pull, ":pr-")
	org, repo, slash := strings.Cut(repo, "/")
	n, err := strconv.Atoi(number)
	if !ok || !slash || err != nil {
		return name
	}
	if own, ok := ForMultiSWEBench(org, repo, "", n); ok {
		return own
	}
	return name
}
