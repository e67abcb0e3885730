// Package layout tells from the names of files which splits a folder of a
// dataset holds, and which files are the shards of one split.
//
// It looks at names only, so that it serves folders, listings of a hub and
// listings of a bucket alike. It knows nothing of what the files hold.
package layout

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"harness/datasets/internal/source"
)

// DefaultConfig is the configuration of files that stand at the top or in data/,
// as the Hugging Face hub calls it.
const DefaultConfig = "default"

// Split is one split and the files it is kept in.
type Split struct {
	Config  string   // DefaultConfig, or the folder that the files stand in
	Name    string   // test, dev, ...
	Files   []string // as they were given; shards in their order
	Missing []string // shards that the names of the others promise
	clash   bool     // the files are not shards of one another
}

// Err says why the files can't be read as one split, nil when they can.
func (s *Split) Err() error {
	switch {
	case s.clash:
		return fmt.Errorf("%s are all there; give the one that is meant", strings.Join(s.Files, ", "))
	case len(s.Missing) > 0:
		return fmt.Errorf("split %s is not whole: %s is missing; get the missing shards", s.Name, strings.Join(s.Missing, ", "))
	}
	return nil
}

var (
	// test-00001-of-00003, at times with a hash behind it.
	shard = regexp.MustCompile(`^(?:(.*?)[-._])?([0-9]{3,6})-of-([0-9]{3,6})(?:-[0-9a-f]+)?$`)
	// 0001 in the folder of its split, as the hub's own conversion to Parquet has it.
	numbered = regexp.MustCompile(`^[0-9]{4,6}$`)
)

// maxShards bounds what a name can promise.
const maxShards = 100_000

// notData are files that libraries put beside the data.
var notData = map[string]bool{
	"dataset_info.json": true, "dataset_infos.json": true, "dataset_dict.json": true, "state.json": true, "metadata.json": true,
}

// part is one file and what its name says.
type part struct {
	file   string
	index  int // -1 when it is no shard
	of     int // 0 when the name does not say it
	suffix string
	prefix string
}

// Group sorts files (slash-separated, relative to the folder) into splits, in the
// order of their names. Hidden files and those of other formats are left out.
func Group(files []string) []Split {
	type key struct{ config, split string }
	parts := make(map[key][]part)
	for _, f := range files {
		config, split, p, ok := parse(f)
		if ok {
			k := key{config, split}
			parts[k] = append(parts[k], p)
		}
	}
	var out []Split
	for k, list := range parts {
		out = append(out, join(k.config, k.split, list))
	}
	slices.SortFunc(out, func(a, b Split) int {
		return cmp.Or(cmp.Compare(a.Config, b.Config), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func parse(file string) (config, split string, p part, ok bool) {
	dir, base := path.Split(file)
	n := source.ParseName(base)
	if n.Format == "" || notData[base] {
		return "", "", p, false
	}
	var dirs []string
	for _, d := range strings.Split(strings.TrimSuffix(dir, "/"), "/") {
		if d != "" {
			dirs = append(dirs, d)
		}
	}
	for _, d := range append(slices.Clone(dirs), base) {
		if strings.HasPrefix(d, ".") {
			return "", "", p, false
		}
	}
	split, p = n.Stem, part{file: file, index: -1, prefix: dir, suffix: base[len(n.Stem):]}
	if name, index, of, ok := Shard(n.Stem); ok {
		split, p.index, p.of = name, index, of
	} else if numbered.MatchString(n.Stem) && len(dirs) > 0 && p.suffix == ".parquet" {
		split = ""
		p.index, _ = strconv.Atoi(n.Stem)
	}
	if split == "" && len(dirs) > 0 {
		split, dirs = dirs[len(dirs)-1], dirs[:len(dirs)-1]
	}
	if len(dirs) > 0 && dirs[0] == "data" {
		dirs = dirs[1:]
	}
	config = cmp.Or(strings.Join(dirs, "/"), DefaultConfig)
	return config, split, p, true
}

// Shard takes the name of a shard, without extensions, apart: test-00001-of-00003
// is number 1 of 3 of test.
func Shard(stem string) (split string, index, of int, ok bool) {
	m := shard.FindStringSubmatch(stem)
	if m == nil {
		return "", 0, 0, false
	}
	// Six digits at most, so there is nothing to fail.
	index, _ = strconv.Atoi(m[2])
	of, _ = strconv.Atoi(m[3])
	return m[1], index, of, true
}

// join makes one split of the files that bear its name.
func join(config, name string, parts []part) Split {
	s := Split{Config: config, Name: name}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.file, b.file))
	})
	first := parts[0]
	for i, p := range parts {
		s.Files = append(s.Files, p.file)
		if i > 0 && (p.index < 0 || p.index == parts[i-1].index || p.of != first.of || p.prefix != first.prefix || p.suffix != first.suffix) {
			s.clash = true
		}
	}
	if first.index < 0 || s.clash {
		return s
	}
	there := make(map[int]bool, len(parts))
	for _, p := range parts {
		there[p.index] = true
	}
	total := cmp.Or(first.of, parts[len(parts)-1].index+1)
	if last := parts[len(parts)-1].index; last >= total || total > maxShards {
		s.clash = true
		return s
	}
	for i := 0; i < total && len(s.Missing) < 10; i++ {
		if !there[i] {
			s.Missing = append(s.Missing, fmt.Sprintf("shard %05d of %d", i, total))
		}
	}
	return s
}

// Configs returns the names of the configurations among splits, each once.
func Configs(splits []Split) []string {
	var out []string
	seen := make(map[string]bool)
	for _, s := range splits {
		if !seen[s.Config] {
			seen[s.Config] = true
			out = append(out, s.Config)
		}
	}
	return out
}

// Names returns the names of the splits.
func Names(splits []Split) []string {
	var out []string
	for _, s := range splits {
		out = append(out, s.Name)
	}
	return out
}
