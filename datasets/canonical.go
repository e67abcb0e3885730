package datasets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"unicode/utf8"

	"harness/eval"
)

// CanonicalJSON returns the one JSON form of a task: the keys of eval.Task in
// its order, defaults spelled out, no white space, no newline at the end. It is
// what is hashed, and what is stored for each task of a run. Text that is not
// valid UTF-8 is an error, since JSON can't carry it unchanged.
func CanonicalJSON(t *eval.Task) ([]byte, error) {
	var c canonical
	b, err := c.encode(t)
	return bytes.Clone(b), err
}

// Digest is the hex SHA-256 over the canonical JSON of the tasks in order, each
// followed by a newline. It does not depend on the file format that the tasks
// came in.
func Digest(tasks []eval.Task) (string, error) {
	d := newDigester()
	for i := range tasks {
		if _, err := d.add(&tasks[i]); err != nil {
			return "", err
		}
	}
	return d.sum(), nil
}

type digester struct {
	canonical
	hash hash.Hash
}

func newDigester() *digester { return &digester{hash: sha256.New()} }

// add hashes the task and returns its canonical JSON with the newline, valid
// until the next call.
func (d *digester) add(t *eval.Task) ([]byte, error) {
	if _, err := d.encode(t); err != nil {
		return nil, err
	}
	d.hash.Write(d.buf.Bytes())
	return d.buf.Bytes(), nil
}

func (d *digester) sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// canonical is an encoder whose buffer is reused.
type canonical struct {
	buf bytes.Buffer
	enc *json.Encoder
}

func (c *canonical) encode(task *eval.Task) ([]byte, error) {
	t := *task
	normalise(&t)
	if err := checkUTF8(&t); err != nil {
		return nil, err
	}
	if c.enc == nil {
		c.enc = json.NewEncoder(&c.buf)
		c.enc.SetEscapeHTML(false)
	}
	c.buf.Reset()
	if err := c.enc.Encode(&t); err != nil {
		return nil, fmt.Errorf("encode task %q: %w", t.InstanceID, err)
	}
	return c.buf.Bytes()[:c.buf.Len()-1], nil
}

func checkUTF8(t *eval.Task) error {
	for i := range fields {
		f := &fields[i]
		ok := true
		switch f.shape {
		case shapeText:
			ok = utf8.ValidString(*f.text(t))
		case shapeList:
			for _, s := range *f.list(t) {
				ok = ok && utf8.ValidString(s)
			}
		case shapeObject: // below
		}
		if !ok {
			return fmt.Errorf("encode task %q: field %s is not valid UTF-8", t.InstanceID, f.name)
		}
	}
	bad := ""
	objectTexts(t, func(field, text string) {
		if bad == "" && !utf8.ValidString(text) {
			bad = field
		}
	})
	if bad != "" {
		return fmt.Errorf("encode task %q: field %s is not valid UTF-8", t.InstanceID, bad)
	}
	return nil
}
