// Package cli is what every command shares: streams, exit codes, usage errors,
// progress lines. Commands never touch os.* directly, so tests run the real root
// command in-process.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"

	"harness/internal/escape"
)

// Exit codes of every command.
const (
	ExitOK          = 0
	ExitFailure     = 1 // ours
	ExitUsage       = 2
	ExitGate        = 3 // a gate failed or a regression was found
	ExitMissing     = 4 // finished, with more missing results than allowed
	ExitInterrupted = 130
)

// App carries what a command may use of its surroundings.
type App struct {
	In       io.Reader
	Out      io.Writer // data
	Err      io.Writer // notes and progress
	Getenv   func(string) string
	Now      func() time.Time
	Terminal bool // Err is one: progress may be redrawn
	Width    int  // of the terminal, 0 when unknown
}

// System is the process's own surroundings.
func System() *App {
	a := &App{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now}
	fd := int(os.Stderr.Fd())
	if a.Terminal = term.IsTerminal(fd) && os.Getenv("TERM") != "dumb"; a.Terminal {
		if w, _, err := term.GetSize(fd); err == nil {
			a.Width = w
		}
	}
	return a
}

// Note prints one line for people to Err.
func (a *App) Note(format string, args ...any) {
	fmt.Fprintf(a.Err, format+"\n", args...)
}

// JSON prints one document to Out.
func (a *App) JSON(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// UsageError is a mistake in how a command was called; it reads as help.
type UsageError struct {
	Err  error
	Hint string // what to do, "" when the error says it
}

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

// Usage makes a UsageError.
func Usage(format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...)}
}

// ExitError ends a command with a code and, if there is one, a message.
type ExitError struct {
	Code int
	Msg  string
}

func (e *ExitError) Error() string { return e.Msg }

// ExitCode says how a process that ended with err exits, and prints the error to
// Err; text in it may come from datasets or candidates, so it is escaped.
func (a *App) ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	var exit *ExitError
	if errors.As(err, &exit) {
		if exit.Msg != "" {
			a.Note("%s", escape.TerminalLines(exit.Msg))
		}
		return exit.Code
	}
	a.Note("harness: %s", escape.TerminalLines(err.Error()))
	var usage *UsageError
	switch {
	case errors.As(err, &usage):
		if usage.Hint != "" {
			a.Note("%s", usage.Hint)
		}
		return ExitUsage
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	return ExitFailure
}

// Size writes bytes the way people and the size flags do: "4GiB", "1.5MiB".
func Size(n int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.bytes {
			return strconv.FormatFloat(math.Round(float64(n)/float64(u.bytes)*10)/10, 'f', -1, 64) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
