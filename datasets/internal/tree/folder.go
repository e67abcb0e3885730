package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"harness/datasets/internal/source"
)

// Folder is an open folder with a budget of bytes that may be read from it.
// Names are slash-separated and relative to it.
type Folder struct {
	root    *os.Root
	path    string
	budgets []*budget // its own and those of the folders above
}

type budget struct{ left, limit int64 }

// Open opens the folder at name, from which at most limit bytes will be read.
func Open(name string, limit int64) (*Folder, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Folder{root: root, path: name, budgets: []*budget{{limit, limit}}}, nil
}

// Sub opens a folder inside, with a budget of its own below that of f. A link
// that stays inside f is followed.
func (f *Folder) Sub(name string, limit int64) (*Folder, error) {
	root, err := f.root.OpenRoot(filepath.FromSlash(name))
	if err != nil {
		return nil, f.problem(name, err)
	}
	return &Folder{root: root, path: f.Path(name), budgets: append(slices.Clone(f.budgets), &budget{limit, limit})}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Path is the file as the user can open it.
func (f *Folder) Path(name string) string { return filepath.Join(f.path, filepath.FromSlash(name)) }

// Has reports whether there is something of this name.
func (f *Folder) Has(name string) bool {
	_, err := f.root.Lstat(filepath.FromSlash(name))
	return err == nil
}

// Read returns a regular file of at most limit bytes. Errors are *Problem; that
// of a file that is not there wraps fs.ErrNotExist.
func (f *Folder) Read(name string, limit int64) ([]byte, error) {
	data, _, err := f.read(name, limit)
	return data, err
}

// Text is Read for a file that holds UTF-8. Its bytes are not altered.
func (f *Folder) Text(name string, limit int64) (string, error) {
	data, err := f.Read(name, limit)
	if err != nil {
		return "", err
	}
	if at := invalid(data); at >= 0 {
		return "", &Problem{
			File: f.Path(name), Line: 1 + bytes.Count(data[:at], []byte("\n")),
			Reason: fmt.Sprintf("it is not UTF-8: byte %#02x at offset %d", data[at], at), Fix: "write the file as UTF-8",
		}
	}
	return string(data), nil
}

// invalid is the offset of the first byte that is not UTF-8, -1 when all are.
func invalid(b []byte) int {
	for at := 0; at < len(b); {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

func (f *Folder) read(name string, limit int64) ([]byte, fs.FileInfo, error) {
	file, info, err := source.Regular(f.root, filepath.FromSlash(name))
	if err != nil {
		return nil, nil, f.problem(name, err)
	}
	defer func() { _ = file.Close() }()
	if info.Size() > limit {
		return nil, nil, f.tooLarge(name, limit)
	}
	if err := f.spend(name, info.Size()); err != nil {
		return nil, nil, err
	}
	var buf bytes.Buffer
	buf.Grow(int(info.Size()) + bytes.MinRead)
	n, err := buf.ReadFrom(io.LimitReader(file, info.Size()+1))
	switch {
	case err != nil:
		return nil, nil, f.problem(name, err)
	case n != info.Size():
		return nil, nil, &Problem{File: f.Path(name), Reason: "it changed while it was read", Fix: "try again when nothing writes to the folder"}
	}
	return buf.Bytes(), info, nil
}

func (f *Folder) spend(name string, n int64) error {
	for i, b := range slices.Backward(f.budgets) {
		if n > b.left {
			what := "the task"
			if i == 0 {
				what = "the folder"
			}
			return &Problem{File: f.Path(name), Reason: fmt.Sprintf("with it the files of %s hold more than %d bytes, which is the most", what, b.limit), Fix: "leave out what the task does not need, or bring large data in the image"}
		}
	}
	for _, b := range f.budgets {
		b.left -= n
	}
	return nil
}

func (f *Folder) problem(name string, err error) error {
	p := &Problem{File: f.Path(name), Reason: err.Error()}
	// The path is said already, and that of an error is relative to the folder.
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		p.Reason = pe.Err.Error()
	}
	switch {
	case errors.As(err, new(*source.IrregularError)):
		p.Fix = "remove it"
	case errors.Is(err, fs.ErrNotExist):
		p.Reason = "there is no such file"
		return &missing{p}
	case strings.Contains(p.Reason, "escapes"):
		p.Reason, p.Fix = "it is a link that leads out of the folder", "put the file itself there"
	}
	return p
}

// missing keeps fs.ErrNotExist recognisable.
type missing struct{ *Problem }

func (m *missing) Unwrap() []error { return []error{m.Problem, fs.ErrNotExist} }

func (f *Folder) tooLarge(name string, limit int64) error {
	return &Problem{File: f.Path(name), Reason: fmt.Sprintf("it has more than %d bytes, which is the most", limit), Fix: "shorten it, or bring large data in the image"}
}

// Folders lists the folders directly inside, sorted, without hidden ones.
func (f *Folder) Folders(dir string) ([]string, error) {
	entries, err := f.entries(dir, MaxTasks)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := f.root.Stat(filepath.FromSlash(path.Join(dir, e.Name())))
		if err == nil && info.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

func (f *Folder) entries(dir string, most int) ([]fs.DirEntry, error) {
	d, err := f.root.Open(filepath.FromSlash(dir))
	if err != nil {
		return nil, f.problem(dir, err)
	}
	defer func() { _ = d.Close() }()
	entries, err := d.ReadDir(most + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, f.problem(dir, err)
	}
	if len(entries) > most {
		return nil, &Problem{File: f.Path(dir), Reason: fmt.Sprintf("it holds more than %d entries, which is the most", most), Fix: "split it"}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// printable accepts names that can be shown and that JSON can carry.
func printable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}
