package source

import (
	"io/fs"
	"os"
	"syscall"
)

// Files is where Regular looks files up: an *os.Root, or Host.
type Files interface {
	Stat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
}

// Host are the files of this machine, by path.
type Host struct{}

var (
	_ Files = Host{}
	_ Files = (*os.Root)(nil)
)

// Stat is os.Stat.
func (Host) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// OpenFile is os.OpenFile.
func (Host) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// Regular opens a regular file for reading. Anything else is an *IrregularError:
// a pipe would be waited for without end, and a device could do anything when it
// is opened. So the kind is looked at first; and again behind, since what the
// name stands for may be changing.
func Regular(files Files, name string) (*os.File, fs.FileInfo, error) {
	info, err := files.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &IrregularError{info.Mode()}
	}
	f, err := files.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &IrregularError{info.Mode()}
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// IrregularError: what stands there is no regular file.
type IrregularError struct{ Mode fs.FileMode }

func (e *IrregularError) Error() string {
	what := "a device or another special file"
	switch {
	case e.Mode.IsDir():
		what = "a folder"
	case e.Mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case e.Mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return "it is " + what + ", a regular file is expected"
}
