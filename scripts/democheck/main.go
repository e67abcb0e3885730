// Command democheck is the demo's referee: it reads the tables that `harness`
// wrote, compares outcomes with the expected ones and prints one table. It knows
// columns and JSON that others may rely on, and nothing else of the harness.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const usage = `usage:
  democheck ids EXPECTED.json              print the instance ids, one a line
  democheck expect OUTCOME ID...           print an expected file with one outcome for all ids
  democheck field NAME                     print a field of the JSON object on standard input
  democheck reach URL                      exit 0 when the URL answers
  democheck table SET=TRIALS.parquet=EXPECTED.json ...
                                           print the table; exit 3 when an outcome is not the expected one
`

// Exit codes follow the harness's own: 2 usage, 3 a check failed.
const (
	exitFailure  = 1
	exitUsage    = 2
	exitMismatch = 3
)

var (
	errUsage    = errors.New("usage")
	errMismatch = errors.New("outcomes differ from the expected ones")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	code := 0
	switch {
	case err == nil:
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		code = exitUsage
	case errors.Is(err, errMismatch):
		fmt.Fprintln(os.Stderr, "democheck:", err)
		code = exitMismatch
	default:
		fmt.Fprintln(os.Stderr, "democheck:", err)
		code = exitFailure
	}
	if code != 0 {
		stop()
		os.Exit(code)
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) < 2 {
		return errUsage
	}
	cmd, args := args[0], args[1:]
	switch {
	case cmd == "ids" && len(args) == 1:
		return printIDs(stdout, args[0])
	case cmd == "expect" && len(args) > 1:
		return printExpected(stdout, args[0], args[1:])
	case cmd == "field" && len(args) == 1:
		return printField(stdout, stdin, args[0])
	case cmd == "reach" && len(args) == 1:
		return reach(ctx, args[0])
	case cmd == "table":
		return table(ctx, stdout, args)
	}
	return errUsage
}
