package source

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// KindError says that a file holds something else than its name says.
type KindError struct {
	Want string // what the name promises, with its article
	Got  string // what the first bytes are, with its article
	Fix  string
}

func (e *KindError) Error() string {
	return fmt.Sprintf("its name says that it holds %s, its first bytes are those of %s; %s", e.Want, e.Got, e.Fix)
}

// sniffBytes is how much of a file is looked at to tell its kind.
const sniffBytes = 512

// kind is what the first bytes of a file give away.
type kind struct {
	name  string // with its article
	fix   string // what to do with a file of another name
	magic string // it starts with it, in lower case where text is set
	at    int    // where magic stands
	text  bool   // magic is compared without case and behind white space
}

// Kinds that a name can promise.
const (
	kindText    = "text"
	kindGzip    = "a gzip file"
	kindZstd    = "a zstd file"
	kindParquet = "a Parquet file"
	kindArrow   = "an Arrow stream"
)

const fixGzip, fixZstd = "add .gz behind its name, in front of which stands what it unpacks to (tasks.jsonl.gz)",
	"add .zst behind its name, in front of which stands what it unpacks to (tasks.jsonl.zst)"

var kinds = []kind{
	{name: kindGzip, fix: fixGzip, magic: "\x1f\x8b"},
	{name: kindZstd, fix: fixZstd, magic: "\x28\xb5\x2f\xfd"},
	{name: kindParquet, fix: "name it .parquet", magic: "PAR1"},
	{name: kindArrow, fix: "give the whole folder that save_to_disk wrote, or name the file .arrow", magic: "\xff\xff\xff\xff"},
	{name: "an Arrow file (Feather)", fix: "write it as Parquet", magic: "ARROW1"},
	{name: "a zip archive", fix: "unpack it and give the file that is inside", magic: "PK\x03\x04"},
	{name: "an empty zip archive", fix: "look for the file that was meant", magic: "PK\x05\x06"},
	{name: "a bzip2 file", fix: "unpack it with `bunzip2`, or pack it with gzip or zstd", magic: "1AY&SY", at: 4},
	{name: "an xz file", fix: "unpack it with `unxz`, or pack it with gzip or zstd", magic: "\xfd7zXZ\x00"},
	{name: "a 7-Zip archive", fix: "unpack it and give the file that is inside", magic: "7z\xbc\xaf\x27\x1c"},
	{name: "a tar archive", fix: "unpack it and give the file or folder that is inside", magic: "ustar", at: 257},
	{name: "an SQLite database", fix: "export its table as CSV or JSON Lines", magic: "SQLite format 3\x00"},
	{name: "a PDF", fix: "look for the file that was meant", magic: "%PDF-"},
	{name: "text in UTF-16", fix: "save it as UTF-8", magic: "\xff\xfe"},
	{name: "text in UTF-16", fix: "save it as UTF-8", magic: "\xfe\xff"},
	{name: "a git-lfs pointer", fix: "the data itself is elsewhere: run `git lfs pull` in the clone, or give the hf:// address", magic: "version https://git-lfs.github.com/spec/"},
	{name: "a web page", fix: "it is an error page or a page about the file: fetch the file itself (on the Hugging Face hub /resolve/ in place of /blob/), or give the hf:// address", magic: "<!doctype html", text: true},
	{name: "a web page", fix: "it is an error page or a page about the file: fetch the file itself (on the Hugging Face hub /resolve/ in place of /blob/), or give the hf:// address", magic: "<html", text: true},
	{name: "XML", fix: "it may be an error of an object store: look into it, and fetch the file again", magic: "<?xml", text: true},
}

// check compares the first bytes of a file, or of what it unpacks to, with
// what its name promises. Too few bytes to tell are left to the reader.
func check(head []byte, want string) error {
	bare := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"))
	for _, k := range kinds {
		looked := head[min(k.at, len(head)):]
		if k.text {
			looked = bare
		}
		if !bytes.HasPrefix(looked, []byte(k.magic)) {
			continue
		}
		if k.name == want {
			return nil
		}
		return &KindError{Want: want, Got: k.name, Fix: k.fix}
	}
	if want == kindText || len(head) < 4 {
		return nil
	}
	if len(bare) > 0 && (bare[0] == '{' || bare[0] == '[') && isText(head) {
		return &KindError{Want: want, Got: "JSON", Fix: "name it .jsonl when it has one row a line, .json when it is one list"}
	}
	if isText(head) {
		return &KindError{Want: want, Got: "text", Fix: "name it by what it holds: .jsonl, .json or .csv"}
	}
	return &KindError{Want: want, Got: "nothing that is known", Fix: "it is damaged, or its name is wrong; get it again"}
}

func isText(b []byte) bool {
	// The end of the head may stand inside a character.
	for i := 0; i < utf8.UTFMax && len(b) > 0 && !utf8.Valid(b); i++ {
		b = b[:len(b)-1]
	}
	return !strings.ContainsFunc(string(b), func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == '\ufffd' })
}

// promise is what the inside of a file is by its name, once unpacked.
func (f Format) promise() string {
	switch f {
	case Parquet:
		return kindParquet
	case Arrow:
		return kindArrow
	}
	return kindText
}
