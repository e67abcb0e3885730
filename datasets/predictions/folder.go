package predictions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"harness/datasets/internal/source"
	"harness/datasets/internal/strictjson"
)

// Bounds of a folder. SWE-agent puts <id>/<id>.pred two levels below.
const (
	maxDepth   = 3
	maxEntries = 1 << 20
)

// knownFiles are names under which agents leave all predictions in one file.
var knownFiles = []string{"preds.json", "preds.jsonl", "all_preds.jsonl", "predictions.json", "predictions.jsonl", "output.jsonl"}

// folder reads the files of one dialect below a folder. Nothing outside of it is
// ever opened: links are not followed.
type folder struct {
	root  *os.Root
	limit int   // bytes of one file
	left  int64 // bytes that may still be read
	total int64
}

// listing is what a folder holds.
type listing struct {
	files  map[string][]string // by dialect, in path order
	whole  []string            // knownFiles
	inside string              // a patch in a folder below, "" when there is none
}

func (f *folder) list(ctx context.Context) (listing, error) {
	l := listing{files: map[string][]string{}}
	n := 0
	err := fs.WalkDir(f.root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if n++; n > maxEntries {
			return fmt.Errorf("it holds more than %d files and folders", maxEntries)
		}
		if e.IsDir() {
			if p != "." && strings.Count(p, "/") >= maxDepth {
				return fs.SkipDir
			}
			return nil
		}
		if slices.Contains(knownFiles, p) && e.Type().IsRegular() {
			l.whole = append(l.whole, p)
		}
		for _, d := range builtin {
			_, ok := d.hasFile(e.Name())
			switch inside := strings.Contains(p, "/"); {
			case ok && d.bare && inside:
				// SWE-agent writes its patches there once more.
				l.inside = cmp.Or(l.inside, p)
			case ok:
				l.files[d.Name] = append(l.files[d.Name], p)
			}
		}
		return nil
	})
	return l, err
}

// dialect tells which files of the folder are meant.
func (l *listing) dialect(dir string) (Dialect, error) {
	var found []string
	for _, d := range builtin {
		if len(l.files[d.Name]) > 0 {
			found = append(found, d.Name)
		}
	}
	switch {
	case len(found) == 0 && len(l.whole) > 0:
		return Dialect{}, fmt.Errorf("it is a folder; give the file in it: -p %s", shell(path.Join(dir, l.whole[0])))
	case len(found) == 0:
		return Dialect{}, l.nothing(dir, builtin...)
	case len(found) > 1 || len(l.whole) > 0:
		e := &AmbiguousError{Names: found}
		var parts []string
		for _, name := range found {
			parts = append(parts, fmt.Sprintf("%d %s files", len(l.files[name]), strings.Join(named(name).files, " or ")))
		}
		if len(l.whole) > 0 {
			parts = append(parts, fmt.Sprintf("%s (give it with -p %s)", l.whole[0], shell(path.Join(dir, l.whole[0]))))
		}
		e.What = "the folder holds " + strings.Join(parts, " and ")
		return Dialect{}, e
	}
	return named(found[0]), nil
}

// nothing says why a folder has no file of the dialects.
func (l *listing) nothing(dir string, dialects ...Dialect) error {
	var endings []string
	for _, d := range dialects {
		if d.bare && l.inside != "" {
			return fmt.Errorf("%s is in a folder inside it, where patches are not looked for; give -p %s", printable(l.inside), shell(path.Join(dir, path.Dir(l.inside))))
		}
		endings = append(endings, d.files...)
	}
	last := len(endings) - 1
	list := endings[last]
	if last > 0 {
		list = strings.Join(endings[:last], ", ") + " or " + list
	}
	return fmt.Errorf("the folder has no predictions: files that end in %s are looked for", list)
}

// records reads the files of a dialect, in path order.
func (f *folder) records(d Dialect, paths []string) stream {
	return func() (record, error) {
		if len(paths) == 0 {
			return record{}, io.EOF
		}
		p := paths[0]
		paths = paths[1:]
		rec := record{where: printable(p)}
		rec.key, _ = d.hasFile(path.Base(p))
		raw, err := f.read(p)
		if rec.raw = raw; err != nil {
			rec.err = err
			return rec.orEnd()
		}
		return rec, nil
	}
}

func (f *folder) read(p string) ([]byte, error) {
	info, err := f.root.Lstat(p)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = errors.New("it is a symbolic link, which is not followed")
	}
	if err != nil {
		return nil, &recordError{err}
	}
	r, _, err := source.Regular(f.root, p)
	if err != nil {
		return nil, &recordError{err}
	}
	defer func() { _ = r.Close() }()
	raw, err := io.ReadAll(io.LimitReader(r, int64(f.limit)+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > f.limit {
		return nil, &strictjson.TooLargeError{Max: f.limit}
	}
	if f.left -= int64(len(raw)); f.left < 0 {
		return nil, fmt.Errorf("its files hold more than %d bytes", f.total)
	}
	return raw, nil
}

// printable shows a file name of others: as it is, or quoted.
func printable(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}
