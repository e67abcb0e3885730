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
	"strings"
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
	// OutTerminal: Out is one, so that long lines may be cut.
	OutTerminal bool
	// Size is that of the terminal as it is now, zeros when unknown; nil for none.
	Size func() (width, height int)
}

// Width of the terminal in characters, 0 when there is none or it is unknown.
func (a *App) Width() int {
	w, _ := a.size()
	return w
}

// OutWidth bounds the lines of what is printed to Out, 0 for no bound.
func (a *App) OutWidth() int {
	if !a.OutTerminal {
		return 0
	}
	return a.Width()
}

// Height of the terminal in lines, 0 when there is none or it is unknown.
func (a *App) Height() int {
	_, h := a.size()
	return h
}

func (a *App) size() (width, height int) {
	if a.Size == nil {
		return 0, 0
	}
	return a.Size()
}

// System is the process's own surroundings.
func System() *App {
	a := &App{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now}
	a.OutTerminal = term.IsTerminal(int(os.Stdout.Fd()))
	fd := int(os.Stderr.Fd())
	if a.Terminal = term.IsTerminal(fd) && os.Getenv("TERM") != "dumb"; a.Terminal {
		a.Size = func() (int, int) {
			w, h, err := term.GetSize(fd)
			if err != nil {
				return 0, 0
			}
			return w, h
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

// JSONLine prints one document of a stream of them to Out, on one line.
func (a *App) JSONLine(v any) error {
	enc := json.NewEncoder(a.Out)
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

// ExitCode says how a process exits whose command ended with err under ctx, and
// prints the error to Err; text in it may come from datasets or candidates, so it
// is escaped.
func (a *App) ExitCode(ctx context.Context, err error) int {
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
	if ctx.Err() != nil {
		// Whatever it says, it failed because it was told to end.
		a.Note("interrupted")
		return ExitInterrupted
	}
	a.Note("harness: %s", escape.TerminalLines(err.Error()))
	var usage *UsageError
	if errors.As(err, &usage) {
		if usage.Hint != "" {
			a.Note("%s", usage.Hint)
		}
		return ExitUsage
	}
	return ExitFailure
}

// Count writes a number of things: "1 trial", "2 sandboxes", "0.5 cores".
func Count[N int | int64 | float64](n N, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
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
