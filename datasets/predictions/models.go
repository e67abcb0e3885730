package predictions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// ModelsError refuses predictions of several models: a run has one candidate,
// and of two patches for a task only the last would count.
type ModelsError struct {
	Models   []string // most records first
	Records  []int    // of each
	Commands []string // shell commands that split the file, one a model
}

const shownModels = 5

func (e *ModelsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "it holds predictions of %d models, one is expected; split it and evaluate each part:", len(e.Models))
	for i, m := range e.Models {
		if i == shownModels {
			fmt.Fprintf(&b, "\n  ... and so on for %d more", len(e.Models)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s    # %d of %s", e.Commands[i], e.Records[i], m)
	}
	return b.String()
}

func (l *loader) modelsError() error {
	e := &ModelsError{Models: slices.Collect(maps.Keys(l.models))}
	slices.SortFunc(e.Models, func(a, b string) int {
		return cmp.Or(cmp.Compare(l.models[b], l.models[a]), cmp.Compare(a, b))
	})
	words := make(map[string]int) // how many models have it
	for _, m := range e.Models {
		word := slug(m)
		if words[word]++; words[word] > 1 {
			word = fmt.Sprintf("%s+%d", word, words[word]) // no word has a "+"
		}
		e.Records = append(e.Records, l.models[m])
		e.Commands = append(e.Commands, l.splitCommand(m, word))
	}
	return e
}

// splitCommand writes the records of one model to a file of their own, in the
// same dialect: .jsonl, or .json where the keys are the ids. word is for the
// file's name.
func (l *loader) splitCommand(model, word string) string {
	path := filepath.Clean(l.file.Path)
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	keyed := l.reader.d.keyed && l.form == formMap
	ext := ".jsonl"
	if keyed {
		ext = ".json"
	}
	out := shell(filepath.Join(filepath.Dir(path), l.name.Stem+"."+word+ext))
	jq := fmt.Sprintf("jq -c --arg m %s %s", shell(model), shell(l.pick(keyed)))
	switch {
	case l.form == formFolder:
		return fmt.Sprintf("find %s -maxdepth %d -type f -iname '*%s' -exec %s {} + > %s", shell(path), maxDepth+1, l.reader.d.files[0], jq, out)
	case l.name.Compression == "gz":
		return fmt.Sprintf("gzip -dc %s | %s > %s", shell(path), jq, out)
	case l.name.Compression == "zst":
		return fmt.Sprintf("zstd -dc %s | %s > %s", shell(path), jq, out)
	}
	return fmt.Sprintf("%s %s > %s", jq, shell(path), out)
}

// pick is the jq program that selects the records of the model $m.
func (l *loader) pick(keyed bool) string {
	var model strings.Builder
	for _, field := range l.reader.d.model {
		model.WriteString("." + field)
		if strings.Contains(field, ".") {
			model.WriteString("?")
		}
		model.WriteString(" // ")
	}
	none, err := json.Marshal(l.opts.Model)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	is := fmt.Sprintf(`select((%s%s) == $m)`, model.String(), none)
	switch {
	case keyed:
		return "with_entries(select(.value | " + is + "))"
	case l.form == formList || l.form == formMap:
		return ".[] | " + is
	}
	return is
}

func slug(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// shell quotes a word for a POSIX shell.
func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
