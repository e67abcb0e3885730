package predictions

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"harness/datasets/internal/source"
)

// Dialect is one way in which predictions are written down. Whether records
// stand one a line, in a list or in an object is told by the file, not by the
// dialect.
type Dialect struct {
	Name    string
	Aliases []string // other names that --format takes
	About   string   // one line for lists

	// patch and model are the fields that may hold them, with "." for an object
	// inside; the first that is a string counts. All records may name a model.
	patch, model []string
	// keyed: in an object of predictions, the key is the instance id.
	keyed bool
	// pull: without an instance id, the record names org, repo and number.
	pull bool
	// files are the suffixes of files that hold one prediction each; a folder of
	// such files is read, too. With bare, the whole text of the file is the patch.
	files []string
	bare  bool
	// fits tells whether a record can only be of this dialect. Nil: no record shows it.
	fits func(shape) bool
}

// byName is where all dialects may name the model; append makes a new list of it.
var byName = []string{"model_name_or_path"}

var builtin = []Dialect{
	{
		Name: "swe-bench", Aliases: []string{"mini-swe-agent"},
		About: "records of instance_id, model_name_or_path, model_patch; also mini-swe-agent's preds.json",
		patch: []string{"model_patch"}, model: byName,
		fits: func(s shape) bool { return s.has("model_patch") && !s.keyed() },
	},
	{
		Name:  "swe-bench-live",
		About: "an object of {instance_id: {model_patch}}, the id in the key only",
		patch: []string{"model_patch"}, model: byName, keyed: true,
		fits: func(s shape) bool { return s.has("model_patch") && s.keyed() },
	},
	{
		Name:  "swe-bench-pro",
		About: "records of instance_id, patch, prefix, where the prefix names the model",
		patch: []string{"model_patch", "patch"}, model: append(byName, "prefix"),
		fits: func(s shape) bool { return s.only("patch") && s.pro() },
	},
	{
		Name:  "swe-rebench",
		About: "records of instance_id, patch",
		patch: []string{"patch"}, model: byName,
		fits: func(s shape) bool { return s.only("patch") && !s.pro() },
	},
	{
		Name:  "multi-swe-bench",
		About: "records of org, repo, number, fix_patch; the id is org__repo-number",
		patch: []string{"fix_patch"}, model: byName, pull: true,
		fits: func(s shape) bool { return s.only("fix_patch") },
	},
	{
		Name:  "openhands",
		About: "OpenHands' output.jsonl: records of instance_id, test_result.git_patch",
		patch: []string{"test_result.git_patch", "git_patch"},
		model: append(byName, "metadata.llm_config.model", "metadata.llm.model"),
		fits:  func(s shape) bool { return s.only("test_result") || s.only("git_patch") },
	},
	{
		Name:  "swe-agent",
		About: "SWE-agent's .pred files: one swe-bench record a file, or a folder of them",
		patch: []string{"model_patch"}, model: byName, files: []string{".pred"},
	},
	{
		Name:  "patches",
		About: "a folder of <instance_id>.patch or <instance_id>.diff files",
		files: []string{".patch", ".diff"}, bare: true,
	},
}

// Builtin returns all dialects, in the order in which lists show them.
func Builtin() []Dialect { return slices.Clone(builtin) }

// UnknownFormatError: no dialect has that name.
type UnknownFormatError struct{ Name string }

func (e *UnknownFormatError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "format %q is not known; known are", e.Name)
	width := 0
	for _, d := range builtin {
		width = max(width, len(d.Name))
	}
	for _, d := range builtin {
		fmt.Fprintf(&b, "\n  %-*s  %s", width, d.Name, d.About)
	}
	return b.String()
}

// ByName finds a dialect by its name or an alias; else a *UnknownFormatError.
func ByName(name string) (Dialect, error) {
	for _, d := range builtin {
		if d.Name == name || slices.Contains(d.Aliases, name) {
			return d, nil
		}
	}
	return Dialect{}, &UnknownFormatError{Name: name}
}

// named returns a dialect of the table.
func named(name string) Dialect {
	d, err := ByName(name)
	if err != nil {
		panic(err) // the name is a constant of this package
	}
	return d
}

// isFile tells whether the file is one prediction of the dialect.
func (d Dialect) isFile(path string, n source.Name) bool {
	base := filepath.Base(path)
	if n.Compression != "" {
		base = base[:len(base)-len(n.Compression)-1]
	}
	_, ok := d.hasFile(base)
	return ok
}

// hasFile tells whether a file of that name holds a prediction of the dialect,
// and the name without the suffix.
func (d Dialect) hasFile(name string) (stem string, ok bool) {
	for _, suffix := range d.files {
		if n := len(name) - len(suffix); n > 0 && strings.EqualFold(name[n:], suffix) {
			return name[:n], true
		}
	}
	return "", false
}
