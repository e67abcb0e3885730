//go:build oracle

package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"time"

	"harness/eval"
	"harness/scoring/grade"
)

// ours grades a log with a profile.
func ours(p grade.Profile, task *eval.Task, log []byte) (grade.Result, time.Duration, error) {
	start := time.Now()
	res, err := p.Grade(grade.Input{
		Task: task, PatchGiven: true, Applied: true,
		Log: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(log)), nil },
	})
	return res, time.Since(start), err
}

// difference compares everything that the official harness says of a log: whether
// it is gradable, the status map in its order, and the report with the order of
// its lists. It is "" when all is equal.
func difference(got grade.Result, want answer) string {
	off := got.Verdict.Official
	if want.Error != "" {
		if off != nil {
			return "they raise " + want.Error + ", we give a report"
		}
		return ""
	}
	if off == nil {
		return "they give a report, we do not: " + got.Reason
	}
	if off.PatchApplied != want.Found {
		return fmt.Sprintf("found: they say %v, we say %v (%s)", want.Found, off.PatchApplied, got.Reason)
	}
	i := 0
	for name, status := range got.StatusMap.All() {
		if i >= len(want.StatusMap) {
			return fmt.Sprintf("status map: we have %q %s, they end before", name, status)
		}
		if w := want.StatusMap[i]; w[0] != name || w[1] != status {
			return fmt.Sprintf("status map at %d: they have %q %s, we have %q %s", i, w[0], w[1], name, status)
		}
		i++
	}
	if i < len(want.StatusMap) {
		return fmt.Sprintf("status map: they have %q %s, we end before", want.StatusMap[i][0], want.StatusMap[i][1])
	}
	raw, err := json.Marshal(off)
	if err != nil {
		return err.Error()
	}
	var g, w any
	if err := json.Unmarshal(raw, &g); err != nil {
		return err.Error()
	}
	if err := json.Unmarshal(want.Report, &w); err != nil {
		return err.Error()
	}
	if !reflect.DeepEqual(g, w) {
		return fmt.Sprintf("report: they say %.500s, we say %.500s", want.Report, raw)
	}
	return ""
}

// shrink makes a log smaller while the graders still differ, by leaving out ever
// smaller runs of lines and then of bytes. It asks at most so many times.
func shrink(log []byte, asks int, differ func([]byte) bool) []byte {
	for _, split := range []func([]byte) [][]byte{
		func(b []byte) [][]byte { return bytes.SplitAfter(b, []byte("\n")) },
		func(b []byte) [][]byte {
			out := make([][]byte, len(b))
			for i := range b {
				out[i] = b[i : i+1]
			}
			return out
		},
	} {
		parts := split(log)
		for n := max(len(parts)/2, 1); ; n = max(n/2, 1) {
			smaller := false
			for at := 0; at < len(parts) && asks > 0; {
				end := min(at+n, len(parts))
				rest := append(append([][]byte(nil), parts[:at]...), parts[end:]...)
				asks--
				if differ(bytes.Join(rest, nil)) {
					parts, smaller = rest, true
				} else {
					at = end
				}
			}
			if asks <= 0 || n == 1 && !smaller {
				break
			}
		}
		log = bytes.Join(parts, nil)
	}
	return log
}
