// Package strictjson reads JSON records of datasets and predictions without
// changing a byte of their text.
//
// encoding/json replaces invalid UTF-8 and lone surrogates silently and lets
// the last of several equal keys win; a test id or a patch that went through
// that is another one. This package refuses instead, says where, bounds depth
// and size, and hands out records of a stream one at a time. It knows nothing
// of what the records mean.
package strictjson

import "fmt"

// MaxDepth is how deep a record may nest. Rows of real datasets stay below 10.
const MaxDepth = 256

// Kind is the type of a JSON value.
type Kind uint8

// The kinds. The zero value stands for a value that is not there.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"absent", "null", "a boolean", "a number", "a string", "a list", "an object"}

// String returns the kind with its article, for messages.
func (k Kind) String() string { return kindNames[k] }

// SyntaxError says why a record is not JSON. Offset counts bytes from the
// start of the record.
type SyntaxError struct {
	Offset int
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not valid JSON at byte %d: %s", e.Offset, e.Reason)
}

// TextError says why a JSON string is not text.
type TextError struct {
	Offset int // in the string's source
	Reason string
}

func (e *TextError) Error() string {
	return fmt.Sprintf("%s at byte %d of the string", e.Reason, e.Offset)
}
