package evidence

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxLine bounds a line of the file; the writer's are far shorter.
const maxLine = 1 << 20

// Read gives each event of a file that a Sink wrote to yield, and returns its
// summary. A file without one, whose writing ended halfway, is an error behind the
// last event. What yield returns ends the reading.
func Read(r io.Reader, yield func(Event) error) (*Summary, error) {
	dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("read evidence: %w", err)
	}
	defer dec.Close()
	lines := bufio.NewScanner(dec)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		var line struct {
			Event
			Summary *Summary `json:"summary"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("read evidence: line %d: %w", n, err)
		}
		if line.Summary != nil {
			return line.Summary, nil
		}
		if err := yield(line.Event); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read evidence: %w", err)
	}
	return nil, errors.New("read evidence: no summary at its end; writing it was cut short")
}
