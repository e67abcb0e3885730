package trial

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// kept is what a log of limit bytes keeps of data, worked out the plain way.
func kept(data []byte, limit int) []byte {
	if len(data) <= limit {
		return data
	}
	head, tail := data[:limit/2], data[len(data)-(limit-limit/2):]
	mark := fmt.Sprintf("\n[harness: %d bytes of output cut here]\n", len(data)-limit)
	return bytes.Join([][]byte{head, []byte(mark), tail}, nil)
}

func newLog(t testing.TB, limit int64) *CappedLog {
	t.Helper()
	c, err := NewCappedLog(t.TempDir(), limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func readLog(t testing.TB, c *CappedLog) []byte {
	t.Helper()
	r, err := c.Reader()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func check(t *testing.T, limit int, writes [][]byte) {
	t.Helper()
	c := newLog(t, int64(limit))
	var all []byte
	for _, w := range writes {
		if n, err := c.Write(w); n != len(w) || err != nil {
			t.Fatalf("Write of %d bytes = %d, %v", len(w), n, err)
		}
		all = append(all, w...)
		if got, want := c.Truncated(), int64(max(0, len(all)-limit)); got != want {
			t.Fatalf("limit %d, %d bytes written: Truncated = %d, want %d", limit, len(all), got, want)
		}
	}
	if got, want := readLog(t, c), kept(all, limit); !bytes.Equal(got, want) {
		t.Fatalf("limit %d, writes of %v bytes:\ngot  %q\nwant %q", limit, lens(writes), got, want)
	}
}

func lens(ws [][]byte) (out []int) {
	for _, w := range ws {
		out = append(out, len(w))
	}
	return out
}

// counter gives bytes of which each differs from its neighbours.
func counter(n, from int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + (from+i)%90)
	}
	return b
}

func TestCappedLogTwoWritesOfEverySize(t *testing.T) {
	for limit := 2; limit <= 9; limit++ {
		for a := 0; a <= 2*limit+1; a++ {
			for b := 0; b <= 2*limit+1; b++ {
				check(t, limit, [][]byte{counter(a, 0), counter(b, a)})
			}
		}
	}
}

func TestCappedLogIsTheNaiveOne(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		limit := 2 + rnd.IntN(200)
		var writes [][]byte
		at := 0
		for range rnd.IntN(30) {
			n := rnd.IntN(limit)
			if rnd.IntN(8) == 0 {
				n = rnd.IntN(5 * limit)
			}
			writes = append(writes, counter(n, at))
			at += n
		}
		check(t, limit, writes)
	}
}

// A flood costs neither memory nor disk beyond the limit.
func TestCappedLogFlood(t *testing.T) {
	total := int64(1 << 30)
	if testing.Short() {
		total = 64 << 20
	}
	const limit = 1 << 20
	c := newLog(t, limit)
	chunk := []byte(strings.Repeat("0123456789abcdef", 1<<14)) // 256 KiB
	allocs := testing.AllocsPerRun(10, func() { _, _ = c.Write(chunk) })
	if allocs > 0 {
		t.Errorf("a write allocates %v times", allocs)
	}
	for written := 11 * int64(len(chunk)); written < total; written += int64(len(chunk)) {
		if _, err := c.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := c.Truncated(), total-limit; got != want {
		t.Errorf("Truncated = %d, want %d", got, want)
	}
	info, err := c.f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > limit {
		t.Errorf("the spool has %d bytes, the limit is %d", info.Size(), limit)
	}
	data := readLog(t, c)
	if len(data) > limit+100 || !bytes.HasSuffix(data, chunk[:512]) {
		t.Errorf("kept %d bytes, ending in %q", len(data), data[len(data)-32:])
	}
}

func TestCappedLogSpool(t *testing.T) {
	dir := t.TempDir()
	c, err := NewCappedLog(dir, 100)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("spool folder holds %v (%v), a crash would leave it behind", left, err)
	}
	// A disk that fails never fails the writer; the reader is told.
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Write([]byte("lost")); n != 4 || err != nil {
		t.Errorf("Write on a failed disk = %d, %v; want 4, nil", n, err)
	}
	if _, err := c.Reader(); err == nil || !strings.Contains(err.Error(), "spool log") {
		t.Errorf("Reader on a failed disk: error %v", err)
	}
	if _, err := NewCappedLog(dir+"/none", 100); err == nil {
		t.Error("a spool in a folder that is not there was made")
	}
	for _, limit := range []int64{-1, 0, 1} {
		if _, err := NewCappedLog(dir, limit); err == nil {
			t.Errorf("a log of at most %d bytes was made", limit)
		}
	}
}

func TestTailBuffer(t *testing.T) {
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		limit := 1 + rnd.IntN(50)
		tb := NewTailBuffer(limit)
		var all []byte
		for range rnd.IntN(20) {
			w := counter(rnd.IntN(2*limit+2), len(all))
			if n, err := tb.Write(w); n != len(w) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
			all = append(all, w...)
		}
		if got, want := tb.Bytes(), all[max(0, len(all)-limit):]; !bytes.Equal(got, want) {
			t.Fatalf("limit %d: kept %q, want %q", limit, got, want)
		}
	}
}
