//go:build oracle

package oracle

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"harness/eval"
	"harness/internal/checkout"
)

// base is a log to mutate.
type base struct {
	name string
	task *eval.Task
	log  []byte
	real bool
}

// maxLog keeps 2,000 cases within two minutes; larger logs hold nothing that
// smaller ones of the same runner do not.
const maxLog = 400 << 10

// perParser is how many real logs a parser gives.
const perParser = 12

// bases are real logs of every parser that has some, and the small inputs of
// every parser between markers. Parsers take turns.
func bases(t *testing.T) []base {
	t.Helper()
	byParser := make(map[string][]base)
	eachLog(t, func(b base) {
		p := b.task.LogParser
		if p != "" && len(byParser[p]) < perParser {
			byParser[p] = append(byParser[p], b)
		}
	})
	empty := make(map[string]int)
	eachVector(t, func(b base) {
		p := b.task.LogParser
		if len(b.task.FailToPass)+len(b.task.PassToPass) == 0 {
			// Most of their mutations have no results either.
			if empty[p]++; empty[p] > 1 {
				return
			}
		}
		byParser[p] = append(byParser[p], b)
	})
	var names []string
	for p := range byParser {
		names = append(names, p)
	}
	slices.Sort(names)
	var out []base
	for i, more := 0, true; more; i++ {
		more = false
		for _, p := range names {
			if i < len(byParser[p]) {
				out = append(out, byParser[p][i])
				more = true
			}
		}
	}
	return out
}

func eachLog(t *testing.T, f func(base)) {
	file, err := os.Open(checkout.SharedData(t, "logs", "cases.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := zstd.NewReader(file, zstd.WithDecoderMaxWindow(1<<27), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	tasks := make(map[string]*eval.Task)
	logs := make(map[string][]byte)
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := path.Dir(h.Name)
		switch path.Base(h.Name) {
		case "instance.json":
			var task eval.Task
			if err := json.NewDecoder(tr).Decode(&task); err != nil {
				t.Fatalf("%s: %v", h.Name, err)
			}
			tasks[name] = &task
		case "test_output.txt":
			if h.Size > maxLog {
				continue
			}
			log, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			logs[name] = log
		default:
			continue
		}
		if tasks[name] != nil && logs[name] != nil {
			f(base{name: path.Base(name), task: tasks[name], log: logs[name], real: true})
			delete(logs, name)
		}
	}
}

func eachVector(t *testing.T, f func(base)) {
	file, err := os.Open(checkout.SharedData(t, "parser_vectors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for r := bufio.NewReaderSize(file, 1<<20); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			var v struct {
				Parser     string
				InstanceID string `json:"instance_id"`
				Version    string
				Log        string
				Expected   map[string]string
			}
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatal(err)
			}
			task := &eval.Task{InstanceID: v.InstanceID, Version: v.Version, LogParser: v.Parser, EvalType: eval.EvalPassAndFail}
			for name := range v.Expected {
				task.FailToPass = append(task.FailToPass, name)
			}
			slices.Sort(task.FailToPass)
			half := len(task.FailToPass) / 2
			task.FailToPass, task.PassToPass = task.FailToPass[:half], task.FailToPass[half:]
			log := "+ git apply -v -\nApplied patch x cleanly.\n+ : '>>>>> Start Test Output'\n" + v.Log + "\n+ : '>>>>> End Test Output'\n"
			f(base{name: "vector of " + v.Parser, task: task, log: []byte(log)})
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
