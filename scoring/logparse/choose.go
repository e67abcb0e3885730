package logparse

import "strings"

// parseJekyll chooses the format by pull-request number: the repository changed
// its runner.
func parseJekyll(in *input) error {
	parts := strings.Split(in.opt.InstanceID, "-")
	if len(parts) < 2 {
		return in.raise("IndexError", "instance id %q has no \"-\"", in.opt.InstanceID)
	}
	switch parts[1] {
	case "9141", "8047", "8167":
		return minitestRule.parse(in)
	case "8761", "8771":
		return cucumberRule.parse(in)
	}
	return in.raise("ValueError", "instance %q has no known runner", in.opt.InstanceID)
}

// parseImmutableJS chooses the format by pull-request number.
func parseImmutableJS(in *input) error {
	switch in.opt.InstanceID[strings.LastIndexByte(in.opt.InstanceID, '-')+1:] {
	case "2006":
		return jestRule.parse(in)
	case "2005":
		return jestJSONRule.parse(in)
	}
	return in.raise("ValueError", "instance %q has no known runner", in.opt.InstanceID)
}
