package artifacts

import (
	"context"
	"io"
)

// ContextReader returns ctx's cause from the first Read after ctx has ended.
// Drivers use it where a plain reader would not notice.
func ContextReader(ctx context.Context, r io.Reader) io.Reader { return &contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}
