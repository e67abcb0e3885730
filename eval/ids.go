package eval

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Identifiers come from datasets, predictions and the command line, and end up
// in workflow ids, object keys, labels and file names. Each kind has one
// grammar, checked once at the door; nothing downstream needs to escape them.
const (
	maxInstanceID = 200
	maxRunID      = 100
	maxModelName  = 200
)

// IDError says which identifier was refused and why.
type IDError struct {
	Kind   string // "instance id", "run id", "model name"
	Value  string // as given
	Reason string
}

func (e *IDError) Error() string {
	v := e.Value
	if len(v) > 80 {
		v = v[:80] + "..."
	}
	return fmt.Sprintf("%s %q is refused: %s", e.Kind, v, e.Reason)
}

// ValidateInstanceID accepts 1 to 200 bytes of [A-Za-z0-9._+-], starting with a
// letter or digit, without "..", and not ending in ".".
func ValidateInstanceID(s string) error {
	return checkWord("instance id", s, maxInstanceID, "._+-")
}

// ValidateRunID accepts 1 to 100 bytes of [A-Za-z0-9._-], starting with a letter
// or digit, without "..", and not ending in ".".
func ValidateRunID(s string) error {
	return checkWord("run id", s, maxRunID, "._-")
}

// ValidateModelName accepts 1 to 200 bytes of printable UTF-8 without control,
// format (bidirectional marks) or surrogate characters. "/" may separate
// non-empty parts ("vendor/model"); no part may be "." or "..", or start with "-".
func ValidateModelName(s string) error {
	const kind = "model name"
	switch {
	case s == "":
		return &IDError{kind, s, "it is empty"}
	case len(s) > maxModelName:
		return &IDError{kind, s, fmt.Sprintf("it has %d bytes, at most %d are allowed", len(s), maxModelName)}
	case !utf8.ValidString(s):
		return &IDError{kind, s, "it is not valid UTF-8"}
	case strings.TrimSpace(s) != s:
		return &IDError{kind, s, "it starts or ends with white space"}
	}
	for _, r := range s {
		if !unicode.IsPrint(r) || r == '\\' {
			return &IDError{kind, s, fmt.Sprintf("character %U is not allowed", r)}
		}
	}
	for part := range strings.SplitSeq(s, "/") {
		switch {
		case part == "":
			return &IDError{kind, s, "it has an empty part around \"/\""}
		case part == "." || part == "..":
			return &IDError{kind, s, "\".\" and \"..\" are not allowed as parts"}
		case part[0] == '-':
			return &IDError{kind, s, "a part starts with \"-\""}
		}
	}
	return nil
}

func checkWord(kind, s string, limit int, punct string) error {
	switch {
	case s == "":
		return &IDError{kind, s, "it is empty"}
	case len(s) > limit:
		return &IDError{kind, s, fmt.Sprintf("it has %d bytes, at most %d are allowed", len(s), limit)}
	case !isAlnum(s[0]):
		return &IDError{kind, s, "it must start with a letter or a digit"}
	case strings.Contains(s, ".."):
		return &IDError{kind, s, "\"..\" is not allowed"}
	case s[len(s)-1] == '.':
		return &IDError{kind, s, "it ends with \".\""}
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte(punct, s[i]) < 0 {
			return &IDError{kind, s, fmt.Sprintf("byte %q at position %d is not allowed (letters, digits and %s are)", s[i], i, punct)}
		}
	}
	return nil
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// TrialID names one task x attempt x round of a run. Attempt and round count from 1.
type TrialID struct {
	RunID      string `json:"run_id"`
	InstanceID string `json:"instance_id"`
	Attempt    int    `json:"attempt"`
	Round      int    `json:"round"`
}

func (t TrialID) String() string {
	return fmt.Sprintf("%s/%s/%d/%d", t.RunID, t.InstanceID, t.Attempt, t.Round)
}

// RunWorkflowID, ShardWorkflowID and TaskWorkflowID are the ids under which the
// three workflow types of a run are found in Temporal.
func RunWorkflowID(run string) string { return run }

// ShardWorkflowID counts shards from 0.
func ShardWorkflowID(run string, shard int) string { return fmt.Sprintf("%s/%d", run, shard) }

// TaskWorkflowID counts attempts from 1.
func TaskWorkflowID(run, instance string, attempt int) string {
	return fmt.Sprintf("%s/%s/%d", run, instance, attempt)
}
