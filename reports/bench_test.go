package reports

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"harness/artifacts"
	"harness/eval"
)

// discardStore takes files without keeping them.
type discardStore struct{ *memStore }

func (discardStore) Put(_ context.Context, key string, r io.Reader, _ artifacts.PutOptions) (artifacts.Info, error) {
	n, err := io.Copy(io.Discard, r)
	return artifacts.Info{Key: key, Size: n}, err
}

// BenchmarkMillionTests builds the report of a run with 1,000,000 test rows and
// tells the peak of the heap, which must not grow with the run:
//
//	go test ./reports -bench MillionTests -benchtime 1x
func BenchmarkMillionTests(b *testing.B) {
	const trials, each = 5000, 200
	for b.Loop() {
		var peak atomic.Uint64
		stop := make(chan struct{})
		go func() {
			var m runtime.MemStats
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					runtime.ReadMemStats(&m)
					peak.Store(max(peak.Load(), m.HeapInuse))
				}
			}
		}()
		input := func(yield func(eval.TrialResult, error) bool) {
			for i := range trials {
				r := trial("r1", fmt.Sprintf("owner__name-%05d", i), eval.Resolved)
				r.Tests = make([]eval.TestResult, each)
				for k := range r.Tests {
					r.Tests[k] = eval.TestResult{
						Name:  fmt.Sprintf("tests/package_%d/test_module_%d.py::TestClass::test_case_number_%d[parameter-%d]", i%50, k%10, k, i),
						Group: eval.GroupP2P, Status: "PASSED", RawStatus: "PASSED", Seconds: some(float64(k) / 1000),
					}
				}
				if !yield(r, nil) {
					return
				}
			}
		}
		s, err := Build(b.Context(), discardStore{newMemStore()}, testSpec("r1", trials), input, Options{TempDir: b.TempDir()})
		close(stop)
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range s.Harness.Files {
			if f.Name == FileTests {
				b.ReportMetric(float64(f.Size)/(1<<20), "file-MiB")
				b.ReportMetric(float64(*f.Rows), "rows")
			}
		}
		b.ReportMetric(float64(peak.Load())/(1<<20), "peak-MiB")
	}
}
