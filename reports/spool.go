package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"

	"harness/eval"
)

// spool holds cleaned trials in a file, so that a run of any size can be put
// into row order with one trial in memory at a time: object stores list keys as
// text, where attempt 10 comes before attempt 2.
type spool struct {
	file  *os.File
	index []spooled
	end   int64
	enc   *zstd.Encoder
	dec   *zstd.Decoder
	buf   []byte
}

type spooled struct {
	id   eval.TrialID
	off  int64
	size int
}

func newSpool(dir string) (*spool, error) {
	f, err := os.CreateTemp(dir, "trials-*")
	if err != nil {
		return nil, fmt.Errorf("create spool of trials: %w", err)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err == nil {
		var dec *zstd.Decoder
		if dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)); err == nil {
			return &spool{file: f, enc: enc, dec: dec}, nil
		}
	}
	f.Close()
	return nil, fmt.Errorf("create spool of trials: %w", err)
}

func (s *spool) close() {
	s.enc.Close()
	s.dec.Close()
	s.file.Close()
}

func (s *spool) add(t eval.TrialResult) error {
	raw, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("spool trial %s: %w", shortID(t.TrialID), err)
	}
	s.buf = s.enc.EncodeAll(raw, s.buf[:0])
	if _, err := s.file.Write(s.buf); err != nil {
		return fmt.Errorf("spool trial %s: %w", shortID(t.TrialID), err)
	}
	s.index = append(s.index, spooled{t.TrialID, s.end, len(s.buf)})
	s.end += int64(len(s.buf))
	return nil
}

// sort fixes the order of sorted and refuses a trial that was given twice.
func (s *spool) sort() error {
	slices.SortStableFunc(s.index, func(a, b spooled) int { return compareTrials(a.id, b.id) })
	for i := 1; i < len(s.index); i++ {
		if s.index[i].id == s.index[i-1].id {
			return fmt.Errorf("trial %s is given twice: a trial has one result, so the record of the run is damaged or was read twice", shortID(s.index[i].id))
		}
	}
	return nil
}

func compareTrials(a, b eval.TrialID) int {
	return cmp.Or(cmp.Compare(a.InstanceID, b.InstanceID), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Round, b.Round))
}

// sorted yields the trials by instance, attempt and round.
func (s *spool) sorted() iter.Seq2[*eval.TrialResult, error] {
	return func(yield func(*eval.TrialResult, error) bool) {
		var packed, raw []byte
		for _, e := range s.index {
			packed = slices.Grow(packed[:0], e.size)[:e.size]
			_, err := io.ReadFull(io.NewSectionReader(s.file, e.off, int64(e.size)), packed)
			if err == nil {
				raw, err = s.dec.DecodeAll(packed, raw[:0])
			}
			t := new(eval.TrialResult)
			if err == nil {
				err = json.Unmarshal(raw, t)
			}
			if err != nil {
				yield(nil, fmt.Errorf("read back spooled trial %s: %w", shortID(e.id), err))
				return
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}
