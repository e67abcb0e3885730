package trial

import "bytes"

// TailBuffer keeps the last bytes written to it.
type TailBuffer struct {
	max int
	buf bytes.Buffer
}

// NewTailBuffer keeps at most limit bytes.
func NewTailBuffer(limit int) *TailBuffer { return &TailBuffer{max: limit} }

func (t *TailBuffer) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > t.max {
		p = p[len(p)-t.max:]
	}
	t.buf.Write(p)
	if over := t.buf.Len() - t.max; over > 0 {
		t.buf.Next(over)
	}
	return n, nil
}

// Bytes returns what is kept.
func (t *TailBuffer) Bytes() []byte { return bytes.Clone(t.buf.Bytes()) }
