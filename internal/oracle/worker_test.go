//go:build oracle

package oracle

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"harness/eval"
)

// official is a process that grades as one release does.
type official struct {
	in   io.WriteCloser
	out  *bufio.Reader
	task *eval.Task // the one that the process has
}

// answer is what a release makes of a log.
type answer struct {
	Found     bool            `json:"found"`
	StatusMap [][2]string     `json:"status_map"`
	Report    json.RawMessage `json:"report"`
	Error     string          `json:"error"` // the harness would end the instance as an error
	TooSlow   bool            `json:"too_slow"`
	Seconds   float64         `json:"seconds"`
}

// resolved is what the report says; there is none where the release raises.
func (a answer) resolved(t *testing.T) bool {
	t.Helper()
	if a.Error != "" {
		return false
	}
	var report struct{ Resolved bool }
	if err := json.Unmarshal(a.Report, &report); err != nil {
		t.Fatal(err)
	}
	return report.Resolved
}

func start(t *testing.T, dir, release string) *official {
	t.Helper()
	cmd := exec.Command(dir+"/bin/python", "-B", "-u", "worker.py", dir, release)
	cmd.Env = append(os.Environ(), "PYTHONUTF8=1", "PYTHONHASHSEED=0")
	cmd.Stderr = os.Stderr
	// It ends with its input, which the clean-up closes.
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("worker of %s: %v", release, err)
		}
	})
	return &official{in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

func (o *official) grade(task *eval.Task, log []byte) (answer, error) {
	request := map[string]any{"size": len(log)}
	if o.task != task {
		request["task"] = map[string]any{
			"instance_id": task.InstanceID, "repo": task.Repo, "version": task.Version, "log_parser": task.LogParser,
			"eval_type": task.EvalType, "FAIL_TO_PASS": orEmpty(task.FailToPass), "PASS_TO_PASS": orEmpty(task.PassToPass),
		}
		o.task = task
	}
	head, err := json.Marshal(request)
	if err != nil {
		return answer{}, err
	}
	// The log may be larger than the pipe, and is read whole before an answer comes.
	if _, err := o.in.Write(append(append(head, '\n'), log...)); err != nil {
		return answer{}, fmt.Errorf("the worker is gone: %w", err)
	}
	line, err := o.out.ReadBytes('\n')
	if err != nil {
		return answer{}, fmt.Errorf("the worker is gone: %w", err)
	}
	var a answer
	return a, json.Unmarshal(line, &a)
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
