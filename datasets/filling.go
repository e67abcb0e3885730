package datasets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// filling is a row of a family on its way to a task of our schema.
type filling struct {
	row      *row
	task     *eval.Task
	problems []rowProblem
	settled  []string
}

func (f *family) complete(r *row, t *eval.Task) (problems []rowProblem, settled []string) {
	t.Family = f.id
	in := filling{row: r, task: t}
	f.fill(&in)
	return in.problems, in.settled
}

// bad tells a problem of a member. Fields of our schema that would have come from
// it are not complained about again.
func (in *filling) bad(member, reason, fix string, fields ...string) {
	in.problems = append(in.problems, rowProblem{field: member, reason: reason, fix: fix})
	in.settled = append(in.settled, fields...)
}

func (in *filling) warn(member, reason, fix string) {
	in.problems = append(in.problems, rowProblem{field: member, reason: reason, fix: fix, warning: true})
}

// need tells that a member which every row of the family has is not there, unless
// there was something to say of it already.
func (in *filling) need(member string, fields ...string) {
	in.settled = append(in.settled, fields...)
	if slices.ContainsFunc(in.problems, func(p rowProblem) bool { return p.field == member }) {
		return
	}
	why := "the field is missing"
	switch c := in.row.at(member); {
	case c.kind == strictjson.Null:
		why = "the field is null"
	case !c.missing():
		why = "the field is empty"
	}
	in.problems = append(in.problems, rowProblem{field: member, reason: why, fix: "add it to the row", missing: true})
}

// text returns a member that is text, "" when there is none.
func (in *filling) text(member string) string {
	c := in.row.at(member)
	switch {
	case c.err != nil:
		in.bad(member, c.err.Error(), "write it as text")
	case c.missing():
	case c.kind != strictjson.String:
		in.bad(member, fmt.Sprintf("it is %s, a string is expected", c.kind), "write the value in quotes")
	default:
		return c.text
	}
	return ""
}

// number returns a whole number that is not negative, "" when there is none. A
// string may hold it: some sets, and CSV files, have it so.
func (in *filling) number(member string) string {
	c := in.row.at(member)
	text := c.text
	switch {
	case c.err != nil:
		in.bad(member, c.err.Error(), "write it as a number")
		return ""
	case c.missing():
		return ""
	case c.kind == strictjson.Number:
		text = string(c.raw)
	case c.kind != strictjson.String:
		in.bad(member, fmt.Sprintf("it is %s, a number is expected", c.kind), "write it as a number")
		return ""
	}
	if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		in.bad(member, quote(text)+" is not a whole number", "write it without sign, fraction and exponent")
		return ""
	}
	return text
}

// value returns a member that is a list or an object, which also may be JSON in
// a string. ok is false when there is none, or none that can be read.
func (in *filling) value(member string, want strictjson.Kind) (raw []byte, ok bool) {
	c := in.row.at(member)
	fix := "write it as " + want.String()
	switch {
	case c.err != nil:
		in.bad(member, c.err.Error(), fix)
		return nil, false
	case c.missing() || c.kind == strictjson.String && strings.TrimSpace(c.text) == "":
		return nil, false
	case c.kind == want:
		return c.raw, true
	case c.kind != strictjson.String:
		in.bad(member, fmt.Sprintf("it is %s, %s is expected", c.kind, want), fix)
		return nil, false
	}
	v, err := strictjson.Parse([]byte(c.text))
	if err == nil && v.Kind != want {
		err = fmt.Errorf("it is %s", v.Kind)
	}
	if err != nil {
		in.bad(member, fmt.Sprintf("the string does not hold %s as JSON: %v", want, err), fix)
		return nil, false
	}
	return v.Raw, true
}

// commands returns a member that is a list of commands; blank ones do nothing.
func (in *filling) commands(member string) []string {
	raw, ok := in.value(member, strictjson.Array)
	if !ok {
		return nil
	}
	list, err := stringList(raw)
	if err != nil {
		in.bad(member, err.Error(), `write it as ["one command", "another"]`)
	}
	return dropBlank(list)
}

func dropBlank(list []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// created reads created_at, which some sets give in milliseconds since 1970.
func (in *filling) created() {
	c := in.row.at("created_at")
	digits := c.text
	if c.kind == strictjson.Number {
		digits = string(c.raw)
	}
	if ms, err := strconv.ParseInt(digits, 10, 64); err == nil && c.err == nil {
		in.task.CreatedAt = time.UnixMilli(ms).UTC().Format(time.RFC3339)
		return
	}
	in.task.CreatedAt = in.text("created_at")
}

// script puts a script that was written for the task into it. A row that brings
// its own keeps it.
func (in *filling) script(text string, err error) {
	switch {
	case in.task.EvalScript != "":
	case err != nil:
		in.warn("test_patch", "no eval script can be written: "+err.Error(), "correct it, or add an eval_script to the row")
	default:
		in.task.EvalScript = text
	}
}
