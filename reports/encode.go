package reports

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"harness/artifacts"
	"harness/eval"
)

// maxSummaryBytes bounds what ReadSummary takes in: ids of a million tasks fit.
const maxSummaryBytes = 1 << 30

// WriteJSON writes report.json: indented by four blanks and pure ASCII, as the
// official harness writes its own. So no candidate text in it can act on a
// terminal it is printed to, or open a command of a CI system.
func WriteJSON(w io.Writer, s Summary) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "    ")
	if err := enc.Encode(s); err != nil {
		return fmt.Errorf("encode report.json: %w", err)
	}
	if _, err := w.Write(ascii(buf.Bytes())); err != nil {
		return fmt.Errorf("write report.json: %w", err)
	}
	return nil
}

// ascii rewrites JSON so that only printable ASCII and line breaks remain.
// Everything else can only stand inside strings, where \u escapes mean the same.
func ascii(in []byte) []byte {
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		c := in[i]
		switch {
		case c == '#' && i > 0 && in[i-1] == '#', c == 0x7f:
			out = fmt.Appendf(out, `\u%04x`, c)
			i++
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(in[i:])
			for _, u := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, u)
			}
			i += n
		}
	}
	return out
}

// ReadSummary returns the stored report.json of a run. The error wraps
// artifacts.ErrNotFound when the run has no report yet.
func ReadSummary(ctx context.Context, store artifacts.Store, run string) (Summary, error) {
	var s Summary
	rc, _, err := store.Get(ctx, eval.ReportKey(run, FileReport))
	if err != nil {
		return s, fmt.Errorf("read report of run %s: %w", run, err)
	}
	defer rc.Close()
	raw, err := io.ReadAll(io.LimitReader(rc, maxSummaryBytes))
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return s, fmt.Errorf("read report of run %s: %w", run, err)
	}
	return s, nil
}

// specDigest is the SHA-256 of the spec's JSON without its creation time.
func specDigest(spec eval.RunSpec) (string, error) {
	spec.CreatedAt = time.Time{}
	raw, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("digest of the spec of run %s: %w", spec.RunID, err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}
