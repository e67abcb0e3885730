package predictions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"harness/datasets/internal/strictjson"
)

// stream hands out the records of a file or folder one at a time; io.EOF is the
// orderly end, any other error says that the rest can't be read.
type stream func() (record, error)

// record is one record, valid until the next is asked for, or why it is lost.
type record struct {
	raw   []byte
	inMap bool
	key   string // in an object of predictions, or from the name of the file
	where string // "file:3: record 2"
	err   error
}

// lines reads one record a line. name is what positions begin with.
func lines(r io.Reader, name string, limit int) stream {
	in := strictjson.NewLines(r, limit)
	first := true
	return func() (record, error) {
		raw, line, err := in.Next()
		rec := record{raw: raw, where: fmt.Sprintf("%s:%d", name, line), err: err}
		if first && err == nil && raw[0] == '[' {
			return rec, errors.New("the file is a JSON list, not one prediction a line; name it .json")
		}
		first = false
		return rec.orEnd()
	}
}

// document reads a list, or an object whose values are records.
func document(r io.Reader, name string, limit int) (_ stream, isMap bool, _ error) {
	doc, err := strictjson.NewDocument(r, limit)
	if err != nil {
		return nil, false, err
	}
	n := 0
	return func() (record, error) {
		raw, line, err := doc.Next()
		n++
		rec := record{raw: raw, inMap: !doc.IsList(), where: fmt.Sprintf("%s:%d: record %d", name, line, n), err: err}
		if err == nil && rec.inMap {
			if err := rec.unwrap(); errors.Is(err, errOnePrediction) && n == 1 {
				return rec, err
			}
		}
		return rec.orEnd()
	}, !doc.IsList(), nil
}

// byteOrderMark is what some editors put first.
var byteOrderMark = []byte("\xef\xbb\xbf")

// single reads a file that is one record.
func single(r io.Reader, name string, limit int) stream {
	done := false
	return func() (record, error) {
		if done {
			return record{}, io.EOF
		}
		done = true
		raw, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
		rec := record{raw: bytes.Trim(bytes.TrimPrefix(raw, byteOrderMark), " \t\r\n"), where: name, err: err}
		if err == nil && len(raw) > limit {
			rec.raw, rec.err = nil, &strictjson.TooLargeError{Max: limit}
		}
		return rec.orEnd()
	}
}

// orEnd tells an error that loses one record from one that loses the rest.
func (rec record) orEnd() (record, error) {
	if rec.err != nil && !errors.As(rec.err, new(*strictjson.TooLargeError)) && !errors.As(rec.err, new(*recordError)) {
		return rec, rec.err
	}
	return rec, nil
}

// recordError says why one record is not what is expected there.
type recordError struct{ error }

func (e *recordError) Unwrap() error { return e.error }

// errOnePrediction means that what looked like a map of predictions is a prediction.
var errOnePrediction = errors.New("the file holds a prediction where a list or a map of predictions is expected; name it .jsonl if it has one prediction a line")

// unwrap takes key and value of the one member that an element of an object is.
func (rec *record) unwrap() error {
	var value []byte
	err := strictjson.Members(rec.raw, func(key []byte, v strictjson.Value) error {
		rec.key = string(key)
		if v.Kind != strictjson.Object {
			if telling[rec.key] {
				return errOnePrediction
			}
			return fmt.Errorf("the value of key %.80q is %s, a prediction is expected", rec.key, v.Kind)
		}
		value = v.Raw
		return nil
	})
	if err == nil && value == nil {
		err = errors.New("a key with a prediction is expected")
	}
	if rec.raw = value; err != nil {
		rec.raw, rec.err = nil, &recordError{err}
	}
	return err
}

// checkUTF8 says where text is not valid UTF-8, which nothing behind it could keep.
func checkUTF8(b []byte) error {
	if utf8.Valid(b) {
		return nil
	}
	at := 0
	for {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			return fmt.Errorf("the patch has invalid UTF-8 (byte 0x%02x) at byte %d; write it as valid UTF-8", b[at], at)
		}
		at += n
	}
}
