package evalscript

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Lines between which graders look for results. The shell is traced (set -x),
// so a no-op that holds the marker puts it into the log in the right place.
const (
	StartMarker = ": '>>>>> Start Test Output'"
	EndMarker   = ": '>>>>> End Test Output'"
)

// Header are the first lines of a script: traced, and going on after a command
// that fails, since a failing test is a result.
var Header = []string{"#!/bin/bash", "set -uxo pipefail"}

// ErrNUL: bash drops NUL bytes, so text that has them would not arrive unchanged.
var ErrNUL = errors.New("it holds a NUL byte, which no shell script can carry")

// Join makes a script of lines. It ends with a newline.
func Join(lines ...[]string) string {
	var b strings.Builder
	for _, part := range lines {
		for _, line := range part {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Quote makes s one word of a shell command. Plain words are left as they are.
func Quote(s string) string {
	plain := s != ""
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("_./:,@%+-", c) >= 0
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// QuoteAll is Quote over a list, joined by blanks.
func QuoteAll(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Quote(w)
	}
	return strings.Join(out, " ")
}

// heredocWord is the end mark of the official scripts.
const heredocWord = "EOF_114329324912"

// HereDoc feeds content to the standard input of command, byte for byte; a last
// line without its newline gets one. No line of content can end it early.
func HereDoc(command, content string) (string, error) {
	if strings.IndexByte(content, 0) >= 0 {
		return "", ErrNUL
	}
	if content != "" && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	word := endMark(content)
	return command + " <<'" + word + "'\n" + content + word, nil
}

// endMark is a word that is not in content.
func endMark(content string) string {
	word := heredocWord
	for n := 0; strings.Contains(content, word); n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", n, content))
		word = "EOF_" + hex.EncodeToString(sum[:8])
	}
	return word
}

// ApplyTestPatch applies a task's test patch from standard input. A task without
// one gets no line.
func ApplyTestPatch(command, patch string) ([]string, error) {
	if strings.TrimSpace(patch) == "" {
		return nil, nil
	}
	doc, err := HereDoc(command, patch)
	if err != nil {
		return nil, fmt.Errorf("test_patch: %w", err)
	}
	return []string{doc}, nil
}

// Between puts the markers round the commands that run the tests.
func Between(commands ...string) []string {
	out := append(make([]string, 0, len(commands)+2), StartMarker)
	return append(append(out, commands...), EndMarker)
}
