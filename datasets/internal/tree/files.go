package tree

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"

	"harness/eval"
)

// Files reads every file below dir, in the order of their paths, as files that
// are put below target inside a sandbox. A link to a file that stays inside the
// folder stands for that file; one to a folder is refused. Modes are those that
// version control keeps: executable or not.
func (f *Folder) Files(dir, target string) ([]eval.TaskFile, error) {
	var out []eval.TaskFile
	seen := 0
	var walk func(at string, depth int) error
	walk = func(at string, depth int) error {
		if depth > maxDepth {
			return &Problem{File: f.Path(at), Reason: fmt.Sprintf("folders are nested more than %d deep", maxDepth), Fix: "flatten them"}
		}
		entries, err := f.entries(at, MaxFiles)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(at, e.Name())
			if seen++; seen > MaxFiles {
				return &Problem{File: f.Path(dir), Reason: fmt.Sprintf("it holds more than %d files, which is the most", MaxFiles), Fix: "bring them in the image, or as one archive that the tests unpack"}
			}
			if !printable(e.Name()) || len(name) > maxName {
				return &Problem{File: f.Path(at), Reason: "it holds a file whose name is too long or has unprintable characters: " + strconv.QuoteToASCII(clip(e.Name())), Fix: "rename it"}
			}
			if e.IsDir() {
				if err := walk(name, depth+1); err != nil {
					return err
				}
				continue
			}
			file, err := f.File(name, path.Join(target, name[len(dir):]))
			if err != nil {
				return err
			}
			out = append(out, file)
		}
		return nil
	}
	return out, walk(dir, 0)
}

// File reads one file, to be put at target inside a sandbox.
func (f *Folder) File(name, target string) (eval.TaskFile, error) {
	if info, err := f.root.Stat(filepath.FromSlash(name)); err == nil && info.IsDir() {
		return eval.TaskFile{}, &Problem{File: f.Path(name), Reason: "it is a link to a folder", Fix: "put the files themselves there"}
	}
	data, info, err := f.read(name, MaxFileBytes)
	if err != nil {
		return eval.TaskFile{}, err
	}
	return eval.TaskFile{Path: target, Mode: uint32(mode(info)), Data: data}, nil
}

func mode(info fs.FileInfo) fs.FileMode {
	if info.Mode().Perm()&0o100 != 0 {
		return 0o755
	}
	return 0o644
}

func clip(s string) string { return s[:min(len(s), 100)] }
