package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"harness/internal/cli"
	"harness/internal/doctor"
	"harness/internal/escape"
	"harness/internal/session"
	"harness/sandbox"
	"harness/sandbox/image"
)

func (c *command) sandboxCmd() *cobra.Command {
	return group("sandbox", "Look at sandboxes, clean up, check the machine",
		c.sandboxPsCmd(), c.sandboxGcCmd(), c.sandboxDoctorCmd(),
	)
}

// withRuntime runs f with a runtime of this machine's private containerd. All
// handlers see the same sandboxes.
func (c *command) withRuntime(ctx context.Context, f func(sandbox.Runtime) error) (err error) {
	s, err := session.OpenSandboxes(ctx, c.cfg, session.Glance)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	rt, err := s.Runtime(ctx, "runsc")
	if err != nil {
		return err
	}
	return f(rt)
}

func (c *command) sandboxPsCmd() *cobra.Command {
	return &cobra.Command{
		Use: "ps", Short: "List living sandboxes", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withRuntime(cmd.Context(), func(rt sandbox.Runtime) error {
				list, err := rt.List(cmd.Context())
				if err != nil {
					return err
				}
				if c.json {
					return c.app.JSON(list)
				}
				w := tabwriter.NewWriter(c.app.Out, 0, 4, 2, ' ', 0)
				fmt.Fprintln(w, "SANDBOX\tTRIAL\tSTATE\tPID\tAGE\tLEASE LEFT")
				now := c.app.Now()
				for _, s := range list {
					fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", s.ID, escape.Terminal(s.Trial), s.State, s.Pid,
						now.Sub(s.CreatedAt).Round(time.Second), s.LeaseExpires.Sub(now).Round(time.Second))
				}
				return w.Flush()
			})
		},
	}
}

func (c *command) sandboxGcCmd() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "gc", Short: "Remove sandboxes whose owner is gone or whose lease ran out", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withRuntime(cmd.Context(), func(rt sandbox.Runtime) error {
				matches := []sandbox.Match{{Orphan: true}, {Expired: true}}
				if all {
					matches = []sandbox.Match{{}}
				}
				total := 0
				for _, m := range matches {
					n, err := rt.Remove(cmd.Context(), m)
					if err != nil {
						return err
					}
					total += n
				}
				c.app.Note("removed %s", cli.Count(total, "sandbox"))
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove all of them, those that are in use, too")
	return cmd
}

func (c *command) sandboxDoctorCmd() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Find out by doing whether this machine can run sandboxes", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			results := doctor.Host(ctx, doctor.Options{Home: c.cfg.Home, ToolsDir: c.cfg.ToolsDir})
			results = append(results, c.doctorRuntimes(ctx)...)
			bad := 0
			for _, r := range results {
				if !r.OK {
					bad++
				}
			}
			if c.json {
				if err := c.app.JSON(results); err != nil {
					return err
				}
			} else {
				w := tabwriter.NewWriter(c.app.Out, 0, 4, 2, ' ', 0)
				for _, r := range results {
					mark := "ok"
					if !r.OK {
						mark = "BAD"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\n", mark, r.Check, escape.Terminal(r.Detail))
					if r.Fix != "" {
						fmt.Fprintf(w, "\t\tto do: %s\n", r.Fix)
					}
				}
				if err := w.Flush(); err != nil {
					return err
				}
			}
			if bad > 0 {
				return &cli.ExitError{Code: cli.ExitFailure, Msg: fmt.Sprintf("%d of %d checks failed", bad, len(results))}
			}
			return nil
		},
	}
}

// doctorRuntimes starts a sandbox under each handler.
func (c *command) doctorRuntimes(ctx context.Context) (out []doctor.Result) {
	s, err := session.OpenSandboxes(ctx, c.cfg, session.Glance)
	if err != nil {
		return []doctor.Result{{Check: "containerd", Detail: err.Error(), Fix: "see above, or the end of containerd.log in the data folder"}}
	}
	defer func() {
		if err := s.Close(ctx); err != nil {
			out = append(out, doctor.Result{Check: "clean-up", Detail: err.Error()})
		}
	}()
	out = append(out, doctor.Result{Check: "containerd", OK: true, Detail: s.Socket})
	for _, handler := range []string{"runsc", "runc"} {
		rt, err := s.Runtime(ctx, handler)
		if err != nil {
			out = append(out, doctor.Result{Check: "sandbox " + handler, Detail: err.Error()})
			continue
		}
		images, err := image.NewStore(rt.Client()).List(ctx)
		if err != nil || len(images) == 0 {
			out = append(out, doctor.Result{
				Check: "sandbox " + handler, Detail: "there is no image to try it with", Fix: "harness image build deploy/images/python.yaml",
			})
			continue
		}
		out = append(out, doctor.Runtime(ctx, handler, rt, images[0].Ref))
	}
	return out
}
