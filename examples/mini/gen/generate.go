package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"harness/eval"
)

// generate returns the content of every generated file by its path below root.
func generate(root string, tasks []*source) (map[string][]byte, error) {
	files := make(map[string][]byte)
	var dataset bytes.Buffer
	sets := make(map[string]bool)
	for _, t := range tasks {
		row, err := t.row(root)
		if err != nil {
			return nil, err
		}
		if err := writeLine(&dataset, row); err != nil {
			return nil, err
		}
		for name := range t.Predictions {
			sets[name] = true
		}
	}
	files["dataset.jsonl"] = dataset.Bytes()
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		predictions, expected, err := predictionSet(set, tasks)
		if err != nil {
			return nil, err
		}
		files["predictions/"+set+".jsonl"] = predictions
		files["expected/"+set+".json"] = expected
	}
	return files, nil
}

func (t *source) row(root string) (*eval.Task, error) {
	commit, err := commitID(filepath.Join(root, "images", "repos", t.Repo))
	if err != nil {
		return nil, fmt.Errorf("commit of %s: %w", t.Repo, err)
	}
	script, err := t.script()
	if err != nil {
		return nil, fmt.Errorf("eval script of %s: %w", t.ID, err)
	}
	return &eval.Task{
		InstanceID: t.ID, Repo: "mini/" + t.Repo, BaseCommit: commit, Version: t.Version,
		Language: t.Language, Difficulty: t.Difficulty, CreatedAt: t.CreatedAt,
		ProblemStatement: t.problem, HintsText: t.Hints,
		Patch: t.gold, TestPatch: t.test,
		FailToPass: t.FailToPass, PassToPass: t.PassToPass,
		Image: "harness.local/mini-" + t.Repo + ":latest", EvalScript: script,
		LogParser: languages[t.Language].parser, EvalType: eval.EvalPassAndFail,
		Limits: t.Limits.spec(),
	}, nil
}

// heredocEnd is the delimiter that the official eval scripts use.
const heredocEnd = "EOF_114329324912"

// script follows the eval scripts of the official datasets. It says HEAD where
// theirs name a commit: an image of ours holds exactly one.
func (t *source) script() (string, error) {
	modified, added, err := touched(t.test)
	if err != nil {
		return "", err
	}
	if strings.Contains(t.test, heredocEnd) {
		return "", fmt.Errorf("the test patch contains %s, which ends it inside the script", heredocEnd)
	}
	lang := languages[t.Language]
	reset := make([]string, 0, 2)
	if len(modified) > 0 {
		reset = append(reset, "git checkout HEAD "+strings.Join(modified, " "))
	}
	if len(added) > 0 {
		reset = append(reset, "rm -f "+strings.Join(added, " "))
	}
	command := t.TestCommand
	if lang.piped {
		command = "(" + command + ") | cat"
	}
	lines := []string{
		"#!/bin/bash",
		"set -uxo pipefail",
		`export HOME="${HOME:-/root}"`,
		"cd /testbed",
		"git config --global --add safe.directory /testbed",
		"git status",
		"git show",
		"git -c core.fileMode=false diff HEAD",
	}
	lines = append(lines, lang.setup...)
	lines = append(lines, reset...)
	lines = append(lines, "git apply -v - <<'"+heredocEnd+"'", t.test+heredocEnd)
	lines = append(lines, ": '>>>>> Start Test Output'", command, ": '>>>>> End Test Output'")
	lines = append(lines, reset...)
	return strings.Join(lines, "\n") + "\n", nil
}

// touched lists the files that a patch of ours changes and those it adds. Paths
// are ours: plain words without blanks.
func touched(patch string) (modified, added []string, err error) {
	if !strings.HasSuffix(patch, "\n") {
		return nil, nil, fmt.Errorf("the test patch does not end in a newline")
	}
	var path string
	for line := range strings.SplitSeq(patch, "\n") {
		if _, b, ok := strings.Cut(line, " b/"); ok && strings.HasPrefix(line, "diff --git ") {
			path = b
			modified = append(modified, b)
		}
		if strings.HasPrefix(line, "new file mode ") {
			modified = modified[:len(modified)-1]
			added = append(added, path)
		}
	}
	if path == "" {
		return nil, nil, fmt.Errorf("the test patch has no \"diff --git\" line")
	}
	return modified, added, nil
}

// expectation is an entry of expected/<set>.json.
type expectation struct {
	Outcome any    `json:"outcome"` // one word, or a list where the platform decides
	Why     string `json:"why"`
}

func predictionSet(set string, tasks []*source) (predictions, expected []byte, err error) {
	var lines bytes.Buffer
	want := make(map[string]expectation)
	for _, t := range tasks {
		if _, ok := t.Predictions[set]; !ok {
			continue
		}
		p, err := t.resolve(set)
		if err != nil {
			return nil, nil, fmt.Errorf("%s, prediction %s: %w", t.ID, set, err)
		}
		if err := writeLine(&lines, eval.Prediction{InstanceID: t.ID, Model: "mini-" + set, Patch: p.patch}); err != nil {
			return nil, nil, err
		}
		e := expectation{Outcome: p.outcome, Why: p.why}
		if len(p.outcome) == 1 {
			e.Outcome = p.outcome[0]
		}
		want[t.ID] = e
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(want); err != nil {
		return nil, nil, err
	}
	return lines.Bytes(), buf.Bytes(), nil
}

// writeLine appends v as one line of JSON Lines.
func writeLine(buf *bytes.Buffer, v any) error {
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
