package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/session"
	"harness/sandbox/image"
)

func (c *command) imageCmd() *cobra.Command {
	return group("image", "Build, import and list sandbox images",
		c.imageBuildCmd(), c.imageImportCmd(), c.imageListCmd(), c.imageRmCmd(),
	)
}

// withImages runs f with this machine's image builder and store.
func (c *command) withImages(ctx context.Context, handler string, use session.Use, f func(*image.Builder) error) (err error) {
	s, err := session.OpenSandboxes(ctx, c.cfg, use)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	b, err := s.Builder(ctx, handler, c.app.Getenv)
	if err != nil {
		return err
	}
	return f(b)
}

func (c *command) imageBuildCmd() *cobra.Command {
	var runtime string
	cmd := &cobra.Command{
		Use:   "build RECIPE|FOLDER...",
		Short: "Build images from recipes; what is built already is not built again",
		Long: `Build images from recipes; what is built already is not built again.

A base comes from Debian packages (mmdebstrap). Other recipes add a layer: files
of their own and steps, which run offline in a sandbox. docs/images.md describes
the format.`,
		Example: "  harness image build examples/mini/images",
		Args:    someArgs("RECIPE or FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var recipes []*image.Recipe
			seen := map[string]bool{}
			for _, a := range args {
				found, err := image.FindRecipes(a)
				if err != nil {
					return &cli.UsageError{Err: err}
				}
				for _, r := range found {
					if !seen[r.Path] {
						seen[r.Path] = true
						recipes = append(recipes, r)
					}
				}
			}
			return c.withImages(cmd.Context(), runtime, session.Work, func(b *image.Builder) error {
				built, err := b.BuildAll(cmd.Context(), recipes, c.showBuild)
				if err == nil && c.json {
					err = c.app.JSON(built)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&runtime, "runtime", "runsc", "sandbox runtime that runs the steps")
	return cmd
}

func (c *command) showBuild(p image.Progress) {
	at := fmt.Sprintf("[%d/%d] %s", p.Index, p.Total, p.Recipe.Name)
	switch {
	case !p.Done && c.app.Terminal:
		fmt.Fprintf(c.app.Err, "%s: building\r", at)
	case !p.Done && p.Recipe.Debian != nil:
		c.app.Note("%s: a base; building one takes minutes", at)
	case !p.Done:
	case p.Err != nil:
		c.app.Note("%s: failed after %s", at, p.Duration.Round(100*time.Millisecond))
	case p.Built.Cached:
		c.app.Note("%s: is there (%s)", at, p.Built.Ref)
	default:
		c.app.Note("%s: built in %s (%s)", at, p.Duration.Round(100*time.Millisecond), p.Built.Ref)
	}
}

func (c *command) imageImportCmd() *cobra.Command {
	return &cobra.Command{
		Use: "import ARCHIVE|FOLDER", Short: "Bring the images of an OCI archive or layout", Args: exactArgs("ARCHIVE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withImages(cmd.Context(), "runsc", session.Work, func(b *image.Builder) error {
				refs, err := b.Store.Import(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if c.json {
					return c.app.JSON(refs)
				}
				for _, r := range refs {
					fmt.Fprintln(c.app.Out, escape.Terminal(r))
				}
				return nil
			})
		},
	}
}

func (c *command) imageListCmd() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the images that sandboxes can use", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withImages(cmd.Context(), "runsc", session.Glance, func(b *image.Builder) error {
				list, err := b.Store.List(cmd.Context())
				if err != nil {
					return err
				}
				if c.json {
					return c.app.JSON(list)
				}
				w := tabwriter.NewWriter(c.app.Out, 0, 4, 2, ' ', 0)
				fmt.Fprintln(w, "IMAGE\tDIGEST\tSIZE\tMADE")
				for _, i := range list {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", escape.Terminal(i.Ref), escape.Cut(i.Digest, 19), cli.Size(i.Size), i.CreatedAt.Local().Format(time.DateTime))
				}
				return w.Flush()
			})
		},
	}
}

func (c *command) imageRmCmd() *cobra.Command {
	return &cobra.Command{
		Use: "rm IMAGE...", Short: "Take images out of the store", Args: someArgs("IMAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withImages(cmd.Context(), "runsc", session.Glance, func(b *image.Builder) error {
				return b.Store.Remove(cmd.Context(), args...)
			})
		},
	}
}
