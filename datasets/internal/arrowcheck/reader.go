package arrowcheck

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Reader passes a stream on, message by message.
type Reader struct {
	r       io.Reader
	head    int64 // most bytes of a message's description
	body    int64 // most bytes of its data
	pending []byte
	left    int64 // bytes of the data that are still to be passed on
	whole   bool
}

// NewReader reads the stream r, whose messages have at most head bytes of
// description and body bytes of data.
func NewReader(r io.Reader, head, body int64) *Reader { return &Reader{r: r, head: head, body: body} }

// Whole reports whether the mark at the end of the stream was read.
func (r *Reader) Whole() bool { return r.whole }

func (r *Reader) Read(p []byte) (int, error) {
	if len(r.pending) == 0 && r.left == 0 {
		if r.whole {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	if len(r.pending) > 0 {
		n := copy(p, r.pending)
		r.pending = r.pending[n:]
		return n, nil
	}
	n, err := r.r.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	if errors.Is(err, io.EOF) && r.left > 0 {
		err = errCut
	}
	if errors.Is(err, io.EOF) {
		err = nil // the next message will tell
	}
	return n, err
}

var errCut = errors.New("the stream does not end with the mark of its end: it was cut off")

// next reads the head of a message.
func (r *Reader) next() error {
	frame := make([]byte, 8)
	if _, err := io.ReadFull(r.r, frame); err != nil {
		return cut(err)
	}
	if binary.LittleEndian.Uint32(frame) != 0xffffffff {
		return errors.New("it is no stream of Arrow record batches (a Feather or .arrow file of another form?)")
	}
	n := int64(int32(binary.LittleEndian.Uint32(frame[4:])))
	switch {
	case n == 0:
		r.whole, r.pending = true, frame
		return nil
	case n < 0 || n > r.head:
		return fmt.Errorf("%w: it says that it has %d bytes, at most %d are taken", errDamaged, n, r.head)
	}
	head := make([]byte, n)
	if _, err := io.ReadFull(r.r, head); err != nil {
		return cut(err)
	}
	body, err := r.check(head)
	r.left, r.pending = body, append(frame, head...)
	return err
}

func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return err
}

// check looks at the description of a message. It returns how much data follows.
func (r *Reader) check(head []byte) (int64, error) {
	f := &buffer{b: head, left: maxTables}
	pos, ok := f.follow(0)
	if !ok {
		return 0, errDamaged
	}
	if err := f.check(pos, message, 0); err != nil {
		return 0, err
	}
	body := f.i64(pos, messageBody)
	if body < 0 || body > r.body {
		return 0, fmt.Errorf("a message says that it has %d bytes of data, at most %d are taken", body, r.body)
	}
	kind := byte(0)
	if at := f.field(pos, messageKind); at != 0 {
		kind = head[at]
	}
	header := f.field(pos, messageHeader)
	if header == 0 {
		return 0, errDamaged
	}
	of, _ := f.follow(header)
	switch kind {
	case kindSchema:
		return body, nil
	case kindBatch:
		return body, f.checkBatch(of, body)
	case kindDictionary:
		data := f.field(of, dictionaryData)
		if data == 0 {
			return 0, errDamaged
		}
		batch, _ := f.follow(data)
		return body, f.checkBatch(batch, body)
	}
	return 0, fmt.Errorf("it holds a message of kind %d, where record batches are expected", kind)
}

// checkBatch compares a batch with the bytes that it has. Each row takes a byte at
// least, and each value of a column a bit.
func (f *buffer) checkBatch(pos int, body int64) error {
	if f.field(pos, batchCompression) != 0 {
		return errors.New("its batches are packed; write it without compression, or as .parquet")
	}
	if n := f.i64(pos, batchLength); n < 0 || n > body {
		return fmt.Errorf("a batch of %d bytes says that it has %d rows", body, n)
	}
	err := f.pairs(pos, batchNodes, func(length, nulls int64) error {
		if length < 0 || length > 8*body || nulls > length {
			return fmt.Errorf("a column of a batch of %d bytes says that it has %d values", body, length)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return f.pairs(pos, batchBuffers, func(offset, length int64) error {
		if offset < 0 || length < 0 || offset > body || length > body-offset {
			return fmt.Errorf("a batch of %d bytes says that it has %d at %d", body, length, offset)
		}
		return nil
	})
}
