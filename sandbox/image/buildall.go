package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Progress is one recipe of a BuildAll, when it starts and when it has ended.
type Progress struct {
	Index, Total int // Index counts from 1
	Recipe       *Recipe
	Done         bool
	Built        Built // valid when Done and Err is nil
	Err          error
	Duration     time.Duration // when Done
}

// FindRecipes reads every recipe (*.yaml) below dir, or dir itself when it is a
// file, and returns them and what they are built from, parents first.
func FindRecipes(dir string) ([]*Recipe, error) {
	var out []*Recipe
	var errs []error
	seen := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != dir && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(p) != ".yaml":
			return nil
		}
		if !looksLikeRecipe(p) {
			return nil
		}
		r, err := LoadRecipe(p)
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		for _, x := range r.chain() {
			switch other, ok := seen[x.Name]; {
			case !ok:
				seen[x.Name] = x.Path
				out = append(out, x)
			case other != x.Path:
				errs = append(errs, fmt.Errorf("recipes %s and %s have the same name %s", other, x.Path, x.Name))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find recipes: %w", err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("find recipes: no *.yaml recipe below %s", dir)
	}
	// A recipe's chain is longer than that of anything it is built from.
	slices.SortStableFunc(out, func(a, b *Recipe) int { return len(a.chain()) - len(b.chain()) })
	return out, nil
}

// looksLikeRecipe tells recipes from the YAML files that a recipe's own folder
// of files may hold: a recipe has a parent or is a Debian base.
func looksLikeRecipe(p string) bool {
	text, err := readCapped(p, maxRecipeBytes)
	if err != nil {
		return true // let the loader say why
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "from:") || strings.HasPrefix(line, "debian:") {
			return true
		}
	}
	return false
}

// BuildAll builds recipes in order, one at a time (a build uses the machine's
// cores itself), and goes on after a failure with those that don't need it. The
// error joins all failures.
func (b *Builder) BuildAll(ctx context.Context, recipes []*Recipe, report func(Progress)) ([]Built, error) {
	var built []Built
	var errs []error
	failed := map[string]bool{}
	for i, r := range recipes {
		if err := ctx.Err(); err != nil {
			return built, errors.Join(append(errs, context.Cause(ctx))...)
		}
		p := Progress{Index: i + 1, Total: len(recipes), Recipe: r}
		report(p)
		started := time.Now()
		if r.Parent != nil && failed[r.Parent.Path] {
			p.Err = fmt.Errorf("build image %s: %s, which it is built from, could not be built", r.Name, r.Parent.Name)
		} else {
			p.Built, p.Err = b.Build(ctx, r)
		}
		p.Done, p.Duration = true, time.Since(started)
		report(p)
		if p.Err != nil {
			failed[r.Path] = true
			errs = append(errs, p.Err)
			continue
		}
		built = append(built, p.Built)
	}
	return built, errors.Join(errs...)
}
