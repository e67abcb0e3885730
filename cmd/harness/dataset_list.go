package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"harness/datasets"
	"harness/datasets/fetch"
	"harness/internal/cli"
	"harness/internal/escape"
	"harness/internal/evalrun"
)

func (c *command) datasetListCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "list [DATASET]",
		Short: "List the datasets that were imported by name, or the splits of one",
		Long: `List the datasets that were imported by name, or the splits that DATASET has,
without fetching or reading them.` + datasetHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return nil
			}
			return exactArgs("DATASET")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return c.listSplits(cmd.Context(), args[0])
			}
			return c.listImported(cmd.Context())
		},
	}
}

func (c *command) listImported(ctx context.Context) error {
	type item struct {
		Name   string `json:"name"`
		Tasks  int    `json:"tasks"`
		Digest string `json:"digest"`
		Path   string `json:"path"`
		Source string `json:"source,omitempty"`
	}
	files, err := filepath.Glob(filepath.Join(evalrun.DatasetsDir(c.cfg), "*"))
	if err != nil {
		return err
	}
	list := []item{}
	for _, f := range files {
		// A hidden file is an import that is under way, or was killed; a calibration
		// belongs to the dataset beside it.
		if name := filepath.Base(f); strings.HasPrefix(name, ".") || datasets.IsCalibration(name) {
			continue
		}
		ds, err := datasets.Load(ctx, f, datasets.Options{})
		if err != nil {
			c.app.Note("harness: %s", escape.TerminalLines(err.Error()))
			continue
		}
		list = append(list, item{strings.TrimSuffix(filepath.Base(f), ".parquet"), len(ds.Tasks), ds.Digest, f, ds.Source})
	}
	if c.json {
		return c.app.JSON(list)
	}
	if len(list) == 0 {
		c.app.Note("no dataset was imported; `harness dataset import DATASET` does, and -d takes any file, folder or address as well")
		return nil
	}
	w := tabwriter.NewWriter(c.app.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "DATASET\tTASKS\tDIGEST\tFILE\tFROM")
	for _, i := range list {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", escape.Terminal(i.Name), i.Tasks, escape.Cut(i.Digest, 12), escape.Terminal(i.Path), escape.Terminal(i.Source))
	}
	return w.Flush()
}

func (c *command) listSplits(ctx context.Context, given string) error {
	items, err := evalrun.ListDataset(ctx, c.app, c.cfg, given)
	if err != nil {
		return err
	}
	if c.json {
		if items == nil {
			items = []fetch.Item{}
		}
		return c.app.JSON(items)
	}
	if len(items) == 0 {
		c.app.Note("%s holds no split", escape.Terminal(given))
		return nil
	}
	w := tabwriter.NewWriter(c.app.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "CONFIGURATION\tSPLIT\tFILES\tSIZE\tADDRESS")
	for _, i := range items {
		files, size := "", ""
		if len(i.Files) > 0 { // of a folder only the names are known
			files, size = fmt.Sprint(len(i.Files)), cli.Size(i.Bytes)
		}
		where := i.Address
		if !fetch.IsAddress(where) {
			where += " --split " + i.Split
		}
		if i.Problem != "" {
			where = i.Problem
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", escape.Terminal(i.Config), escape.Terminal(i.Split), files, size, escape.Terminal(where))
	}
	return w.Flush()
}
