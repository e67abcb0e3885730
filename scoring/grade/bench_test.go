package grade_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"harness/eval"
	"harness/scoring/grade"
	"harness/scoring/logparse"
)

// BenchmarkRealLogs grades all logs of the real data, one profile at a time;
// unpacking them is not counted.
func BenchmarkRealLogs(b *testing.B) {
	type graded struct {
		task eval.Task
		log  []byte
	}
	var all []graded
	var size int64
	eachCase(b, func(c realCase) {
		g := graded{log: c.log}
		if err := json.Unmarshal(c.instance, &g.task); err != nil {
			b.Fatal(err)
		}
		if _, ok := logparse.Lookup(g.task.LogParser); ok {
			all = append(all, g)
			size += int64(len(c.log))
		}
	})
	for _, name := range []string{"swebench", "swebench-4", "swebench-2", "live", "strict"} {
		b.Run(name, func(b *testing.B) {
			p := profile(b, name)
			b.SetBytes(size)
			for b.Loop() {
				for i := range all {
					in := grade.Input{
						Task: &all[i].task, PatchGiven: true, Applied: true,
						Log: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(all[i].log)), nil },
					}
					if _, err := p.Grade(in); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(len(all)), "logs")
		})
	}
}
