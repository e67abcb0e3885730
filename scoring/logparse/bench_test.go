package logparse_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/scoring/logparse"
)

// pytestLog looks like a log of pytest -rA: progress, captured output, a
// traceback now and then, and the summary.
func pytestLog(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "tests/test_module_%d.py::TestThing::test_case_%d[param-%d]\n", i%40, i, i%7)
		b.WriteString(strings.Repeat("DEBUG    some.logger:module.py:120 a message of the usual length that a test prints\n", 6))
		if i%20 == 0 {
			b.WriteString("    def test_case():\n>       assert left == right\nE       AssertionError: assert 1 == 2\nE        +  where 1 = f()\n\n")
		}
	}
	for i := range 3000 {
		fmt.Fprintf(&b, "PASSED tests/test_module_%d.py::TestThing::test_case_%d[param-%d]\n", i%40, i, i%7)
	}
	b.WriteString("FAILED tests/test_module_1.py::test_x - AssertionError: assert 1 == 2\n")
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	log := pytestLog(8 << 20)
	for _, name := range []string{"parse_log_pytest", "parse_log_pytest_v2", "parse_log_django", "parse_log_sympy", "parse_log_gotest", "parse_log_tap", "rebench2/parse_log_cpp_v3", "rebench2/parse_java_mvn", "multi/gradle"} {
		p, ok := logparse.Lookup(name)
		if !ok {
			b.Fatal(name)
		}
		b.Run(strings.TrimPrefix(name, "parse_log_"), func(b *testing.B) {
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Parse(logparse.TextMode(bytes.NewReader(log)), logparse.Options{Dialect: logparse.V5}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// pytestReader is such a log of any size, made while it is read: a part that is
// repeated, and a summary with as many names as a large suite has.
func pytestReader(size int64) io.Reader {
	const summary = 8 << 20
	body := string(pytestLog(1 << 20))
	return io.MultiReader(
		&pattern{text: body, left: size - summary},
		&counter{format: "\nPASSED tests/test_module.py::TestThing::test_case_%d[param]", left: summary},
	)
}

// BenchmarkPytestGigabyte reads 1 GB of a log of pytest -rA. It reports how much a
// second of processor time reads, which other work on the machine does not
// change, and the most memory that the heap took. Making the log is a part of it.
func BenchmarkPytestGigabyte(b *testing.B) {
	const size = 1 << 30
	p, _ := logparse.Lookup("parse_log_pytest")
	b.SetBytes(size)
	begin := cpuTime(b)
	for b.Loop() {
		res, err := p.Parse(logparse.TextMode(pytestReader(size)), logparse.Options{Dialect: logparse.V5})
		if err != nil || res.Tests.Len() < 100_000 {
			b.Fatalf("%d names, %v", res.Tests.Len(), err)
		}
	}
	b.ReportMetric(size*float64(b.N)/1e6/(cpuTime(b)-begin).Seconds(), "MB/cpu-s")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys)/(1<<20), "heap-MB")
}

// cpuTime is the processor time that the process has used.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// What a log of pytest costs in memory is its names, not its size: one that is
// four times as long allocates nothing more.
func TestPytestAllocations(t *testing.T) {
	p, _ := logparse.Lookup("parse_log_pytest")
	allocated := func(size int64) int64 {
		r := logparse.TextMode(pytestReader(size))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := p.Parse(r, logparse.Options{Dialect: logparse.V5}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	small, large := allocated(16<<20), allocated(64<<20)
	if large > 64<<20 || large-small > 4<<20 {
		t.Errorf("64 MiB of a log allocate %d MiB, 16 MiB allocate %d MiB", large>>20, small>>20)
	}
}

// BenchmarkStructured reads reports of 20,000 tests.
func BenchmarkStructured(b *testing.B) {
	const tests = 20_000
	for _, f := range []struct{ parser, begin, test, end string }{
		{
			"junit_xml", "<testsuites><testsuite>\n",
			"<testcase classname=\"tests.test_module\" name=\"test_case_%d\" time=\"0.01\"><system-out>some output of the test, of usual length</system-out></testcase>\n",
			"</testsuite></testsuites>\n",
		},
		{"tap", "TAP version 14\n", "ok %[1]d - description %[1]d of usual length\n  ---\n  duration_ms: 3\n  ...\n", ""},
		{
			"ctrf", "{\"results\":{\"tests\":[{\"name\":\"first\",\"status\":\"passed\"}\n",
			",{\"name\":\"test case %d\",\"status\":\"passed\",\"duration\":12,\"suite\":\"a suite\",\"message\":\"a message of usual length\"}\n", "]}}\n",
		},
		{"gotest_json", "", "{\"Time\":\"2024-01-01T00:00:00Z\",\"Action\":\"pass\",\"Package\":\"example.com/module/pkg\",\"Test\":\"TestCase%d\",\"Elapsed\":0.01}\n", ""},
		{"pytest_json", "", "{\"nodeid\":\"tests/test_module.py::test_%d\",\"when\":\"call\",\"outcome\":\"passed\",\"$report_type\":\"TestReport\",\"longrepr\":null}\n", ""},
	} {
		b.Run(f.parser, func(b *testing.B) {
			log := []byte(f.begin)
			for i := range tests {
				log = fmt.Appendf(log, f.test, i)
			}
			log = append(log, f.end...)
			p, _ := logparse.Lookup(f.parser)
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				res, err := p.Parse(bytes.NewReader(log), logparse.Options{Dialect: logparse.V5})
				if err != nil || res.Tests.Len() < tests {
					b.Fatalf("%d tests, %v", res.Tests.Len(), err)
				}
			}
		})
	}
}
