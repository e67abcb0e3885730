package fetch

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"harness/datasets/internal/layout"
	"harness/datasets/internal/source"
)

// config is a configuration as the card of a hub repository declares it.
type config struct {
	Name    string
	Default bool
	Dir     string   // what its patterns are relative to, and where its files are when it has none
	Splits  []choice // what the card says of them
}

// choice is a split and the patterns that its files match.
type choice struct {
	Split    string
	Patterns []string
}

// maxCompared bounds the comparing of a card's patterns with files.
const maxCompared = 10_000_000

// checkCard refuses a card that would take minutes to follow.
func (l *listing) checkCard(a Address) error {
	patterns := 0
	for _, c := range l.Configs {
		patterns++
		for _, s := range c.Splits {
			patterns += len(s.Patterns)
		}
	}
	if patterns > maxCompared/max(1, len(l.Files)) {
		return refuse(a.raw, "its card has %d patterns for %d files, which is more than are compared", patterns, len(l.Files))
	}
	return nil
}

// trainSplit is that of files for which the card names none.
const trainSplit = "train"

// UnmarshalJSON reads the forms that a card may have: data_files is one pattern,
// several, or a list of splits with one pattern or several each.
func (c *config) UnmarshalJSON(raw []byte) error {
	var card struct {
		Name    string          `json:"config_name"`
		Default bool            `json:"default"`
		Dir     string          `json:"data_dir"`
		Files   json.RawMessage `json:"data_files"`
	}
	if err := json.Unmarshal(raw, &card); err != nil {
		return err
	}
	*c = config{Name: card.Name, Default: card.Default, Dir: card.Dir}
	if c.Name == "" {
		c.Name = layout.DefaultConfig
	}
	if list := patterns(card.Files); len(list) > 0 {
		c.Splits = []choice{{trainSplit, list}}
		return nil
	}
	var splits []struct {
		Split string          `json:"split"`
		Path  json.RawMessage `json:"path"`
	}
	if json.Unmarshal(card.Files, &splits) == nil {
		for _, s := range splits {
			c.Splits = append(c.Splits, choice{s.Split, patterns(s.Path)})
		}
		return nil
	}
	var named map[string]json.RawMessage
	if json.Unmarshal(card.Files, &named) == nil {
		for split, raw := range named {
			c.Splits = append(c.Splits, choice{split, patterns(raw)})
		}
		slices.SortFunc(c.Splits, func(a, b choice) int { return strings.Compare(a.Split, b.Split) })
	}
	return nil // files that the card does not name are found by their names
}

// MarshalJSON writes the form that UnmarshalJSON reads.
func (c config) MarshalJSON() ([]byte, error) {
	type split struct {
		Split string   `json:"split"`
		Path  []string `json:"path"`
	}
	out := struct {
		Name    string  `json:"config_name"`
		Default bool    `json:"default,omitempty"`
		Dir     string  `json:"data_dir,omitempty"`
		Files   []split `json:"data_files,omitempty"`
	}{Name: c.Name, Default: c.Default, Dir: c.Dir}
	for _, s := range c.Splits {
		out.Files = append(out.Files, split{s.Split, s.Patterns})
	}
	return json.Marshal(out)
}

// patterns reads one pattern or a list of them.
func patterns(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	return nil
}

// offered returns the splits of a repository, and the configuration that is meant
// when none is named.
func (l *listing) offered() (splits []layout.Split, standard string) {
	if l.splits == nil {
		l.splits = l.find()
		l.standard = standardConfig(l.splits, l.Configs)
	}
	return l.splits, l.standard
}

// find looks for the splits that the card declares, else for those that the names
// of the files tell.
func (l *listing) find() []layout.Split {
	var out []layout.Split
	for _, c := range l.Configs {
		dir := strings.Trim(path.Clean("/"+c.Dir), "/")
		if len(c.Splits) == 0 {
			out = append(out, l.inDir(c.Name, dir)...)
		}
		for _, s := range c.Splits {
			files := l.matching(dir, s.Patterns)
			if len(files) > 0 {
				out = append(out, layout.Split{Config: c.Name, Name: s.Split, Files: files, Missing: missing(files)})
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	return layout.Group(l.paths())
}

// inDir is for a configuration that is a folder.
func (l *listing) inDir(name, dir string) []layout.Split {
	var files []string
	for _, p := range l.paths() {
		if rel, ok := strings.CutPrefix(p, dir+"/"); ok && dir != "" {
			files = append(files, rel)
		}
	}
	splits := layout.Group(files)
	for i := range splits {
		splits[i].Config = name
		for k, f := range splits[i].Files {
			splits[i].Files[k] = dir + "/" + f
		}
	}
	return splits
}

// matching returns the data files that match one of the patterns, in the order
// of their names.
func (l *listing) matching(dir string, patterns []string) []string {
	var out []string
	for _, p := range l.paths() {
		if source.ParseName(p).Format == "" {
			continue
		}
		for _, pattern := range patterns {
			if matchGlob(path.Join(dir, strings.TrimPrefix(pattern, "./")), p) {
				out = append(out, p)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// missing looks for shards that the names of the others promise; files of
// several sets of shards are none of its business.
func missing(files []string) []string {
	groups := layout.Group(files)
	if len(groups) != 1 {
		return nil
	}
	return groups[0].Missing
}

// matchGlob matches a path with *, ? and [] within a part, and ** for any number
// of parts.
func matchGlob(pattern, name string) bool {
	return matchParts(strings.Split(pattern, "/"), strings.Split(name, "/"), 0)
}

func matchParts(pattern, name []string, depth int) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			// The depth bounds what a card of many ** can cost.
			for i := 0; depth < 4 && i <= len(name); i++ {
				if matchParts(pattern[1:], name[i:], depth+1) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], name[0]); !ok || err != nil {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	return len(name) == 0
}
