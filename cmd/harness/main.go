// Command harness evaluates coding agents on repository tasks.
//
// Its files translate flags into option structs and calls; nothing else.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"harness/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	// A second signal ends the process at once: after the first, the handler is gone.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, cli.System(), os.Args[1:]))
}

// endings are the signals that end a command in good order. One that is ignored,
// as under nohup, stays ignored.
func endings() []os.Signal {
	var out []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			out = append(out, s)
		}
	}
	return out
}

// run executes the command line args and returns the exit code.
func run(ctx context.Context, app *cli.App, args []string) int {
	root := newRoot(app)
	root.SetArgs(args)
	root.SetIn(app.In)
	root.SetOut(app.Out)
	root.SetErr(app.Err)
	return app.ExitCode(ctx, root.ExecuteContext(ctx))
}
