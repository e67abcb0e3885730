package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"harness/internal/cli"
)

var update = flag.Bool("update", false, "rewrite what scripts compare output with")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"harness": func() { os.Exit(run(context.Background(), cli.System(), os.Args[1:])) },
	})
}

// TestScripts runs the command as a person does, without root and without a stack.
// Scripts have three commands of their own:
//
//	exits CODE ARGS...   runs `harness ARGS` and wants that exit code
//	pictures FOLDER      serves the folder's files as https://example.com (see picturesCmd)
//	hub FOLDER           serves the folder as a dataset of a hub (see hubCmd)
//	store-run RUN        puts a run with hostile text into the store (see storeRun)
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HARNESS_HOME", e.WorkDir+"/home")
			e.Setenv("HARNESS_TOOLS", e.WorkDir+"/no-tools")
			e.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     exits,
			"hub":       hubCmd,
			"pictures":  picturesCmd,
			"store-run": storeRunCmd,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits CODE ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exit code: %v", err)
	}
	err = ts.Exec("harness", args[1:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("run harness: %v", err)
	}
	if got != want {
		ts.Fatalf("harness %q exited with %d, want %d", args[1:], got, want)
	}
}
