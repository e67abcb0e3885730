package predictions

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"harness/datasets/internal/source"
)

// ModelsError refuses a file with predictions of several models: a run has one
// candidate, and of two patches for a task only the last would count.
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
	taken := make(map[string]bool)
	for _, m := range e.Models {
		e.Records = append(e.Records, l.models[m])
		e.Commands = append(e.Commands, l.splitCommand(m, taken))
	}
	return e
}

// splitCommand writes the records of one model to a .jsonl file of its own.
func (l *loader) splitCommand(model string, taken map[string]bool) string {
	word := slug(model)
	for i := 2; taken[word]; i++ {
		word = fmt.Sprintf("%s-%d", slug(model), i)
	}
	taken[word] = true
	path := l.file.Path
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	out := filepath.Join(filepath.Dir(path), l.name.Stem+"."+word+".jsonl")
	pick := fmt.Sprintf(`select((.model_name_or_path // "%s") == $m)`, NoModel)
	if l.name.Format == source.JSON {
		pick = ".[] | " + pick
	}
	args := fmt.Sprintf("jq -c --arg m %s %s", shell(model), shell(pick))
	switch l.name.Compression {
	case "gz":
		return fmt.Sprintf("gzip -dc %s | %s > %s", shell(path), args, shell(out))
	case "zst":
		return fmt.Sprintf("zstd -dc %s | %s > %s", shell(path), args, shell(out))
	}
	return fmt.Sprintf("%s %s > %s", args, shell(path), shell(out))
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
