package preprocess

import "errors"

// MaxFiles is how many files one patch may name. The largest trees have fewer.
const MaxFiles = 100_000

// ErrTooManyFiles is returned by Parse together with what it read up to there.
var ErrTooManyFiles = errors.New("the patch names more than 100000 files")

// Kind says what a patch does to a file.
type Kind uint8

// Kinds. A change of mode alone is Modified without hunks.
const (
	Modified Kind = iota + 1
	Added
	Deleted
	Renamed
	Copied
)

func (k Kind) String() string {
	return [...]string{"invalid", "modified", "added", "deleted", "renamed", "copied"}[min(int(k), 5)]
}

// Format is the dialect in which a file's change is written.
type Format uint8

// Formats. Only Git and Plain are read in full; of the others the names are.
const (
	Git      Format = iota + 1 // diff --git
	Plain                      // --- and +++ without a git header, or Index: and a hunk
	Context                    // *** and ---, which GNU patch applies too
	Combined                   // diff --cc: no tool applies it
)

// Diff is a parsed patch.
type Diff struct {
	Files []File
	// Problems are findings about the text itself; none of them is a reason to reject.
	Problems Findings
	// Uncounted is set when a file's lines could not be counted because of its format.
	Uncounted bool
}

// File is the change of one file. Names are bytes as the file system would see
// them after the first path part is stripped (-p1), unquoted, maybe not UTF-8.
type File struct {
	OldName, NewName string // "" where the file does not exist
	Kind             Kind
	Format           Format
	OldMode, NewMode uint32 // as in git (0o100644), 0 when not told
	Binary           bool
	BinaryData       bool // the binary change itself is in the patch, not only its mention
	Added, Removed   int  // lines
	Hunks            []Hunk
	Line             int // where it starts, from 1

	link  []byte // what is added, for a symbolic link: its target
	names []name // every name that some tool might take
}

// Name is the path that the file has afterwards, or had if it is deleted.
func (f *File) Name() string {
	if f.NewName != "" {
		return f.NewName
	}
	return f.OldName
}

// Hunk is one changed region, as its header says.
type Hunk struct {
	Line               int32 // of the header, from 1
	OldStart, OldLines int32
	NewStart, NewLines int32
}

// name is a file name as it stands in the patch.
type name struct {
	raw  string // unquoted
	line int
	role role
}

type role uint8

const (
	gitOld role = iota
	gitNew
	minusName
	plusName
	fromName // rename from, copy from
	toName   // rename to, copy to
	indexName
)

// path is the name without its first part where tools strip one.
func (n name) path() string {
	if n.role == fromName || n.role == toName || n.role == indexName {
		return n.raw
	}
	return stripFirst(n.raw)
}

const devNull = "/dev/null"

func (f *File) named(r role) (string, bool) {
	for _, n := range f.names {
		if n.role == r {
			if n.raw == devNull {
				return "", true
			}
			return n.path(), true
		}
	}
	return "", false
}

// settle derives names and kind from what the headers said.
func (f *File) settle() {
	pick := func(roles ...role) string {
		for _, r := range roles {
			if s, ok := f.named(r); ok {
				return s
			}
		}
		return ""
	}
	f.OldName = pick(fromName, minusName, gitOld, indexName)
	f.NewName = pick(toName, plusName, gitNew, indexName)
	first := Hunk{OldStart: -1, NewStart: -1}
	if len(f.Hunks) > 0 && f.Format == Plain {
		first = f.Hunks[0]
	}
	switch {
	case f.Kind != 0: // a header told
	case f.OldName == "" || first.OldStart == 0 && first.OldLines == 0:
		f.Kind = Added
	case f.NewName == "" || first.NewStart == 0 && first.NewLines == 0:
		f.Kind = Deleted
	default:
		f.Kind = Modified
	}
	switch f.Kind {
	case Added:
		f.OldName = ""
	case Deleted:
		f.NewName = ""
	}
}
