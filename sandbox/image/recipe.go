package image

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"harness/eval"
)

// Bounds of a recipe. They are far above any real one.
const (
	maxRecipeBytes = 1 << 20
	maxChain       = 8
	maxSteps       = 100
)

// Recipe says how one image is made: from what, with which files, by which
// offline steps, and which folders become its layer.
type Recipe struct {
	Name    string            `yaml:"name"`
	From    string            `yaml:"from,omitempty"`   // another recipe, relative to this file; empty for a base
	Debian  *Debian           `yaml:"debian,omitempty"` // a base only
	Fetch   string            `yaml:"fetch,omitempty"`  // lock file, relative to this file
	Files   []FileSet         `yaml:"files,omitempty"`
	Steps   []string          `yaml:"steps,omitempty"` // each run by bash -euo pipefail, without network
	Commit  *Commit           `yaml:"commit,omitempty"`
	Outputs []string          `yaml:"outputs,omitempty"` // absolute paths that become the new layer
	Env     map[string]string `yaml:"env,omitempty"`
	WorkDir string            `yaml:"workdir,omitempty"`
	Limits  *BuildLimits      `yaml:"limits,omitempty"`

	// Path is the file it was read from, Parent the recipe that From names.
	Path   string  `yaml:"-"`
	Parent *Recipe `yaml:"-"`
	Lock   *Lock   `yaml:"-"`

	text []byte
}

// Debian is a base root file system, made from signed packages only.
type Debian struct {
	Suite    string   `yaml:"suite"`
	Packages []string `yaml:"packages"`
	// Mirror is the archive's address; empty means http://deb.debian.org/debian with its security archive.
	Mirror string `yaml:"mirror,omitempty"`
}

// FileSet is a folder or file of the recipe's own that the steps find at To.
type FileSet struct {
	From string `yaml:"from"` // relative to the recipe
	To   string `yaml:"to"`   // absolute
}

// Commit makes one git commit of Dir after the steps.
type Commit struct {
	Dir string `yaml:"dir"`
}

// BuildLimits bound the sandbox of the steps; absent ones keep the default.
type BuildLimits struct {
	CPUs           float64 `yaml:"cpus,omitempty"`
	MemoryMiB      int64   `yaml:"memory_mib,omitempty"`
	DiskMiB        int64   `yaml:"disk_mib,omitempty"`
	TimeoutSeconds int64   `yaml:"timeout_seconds,omitempty"` // for all steps together
}

var (
	nameGrammar    = regexp.MustCompile(`^[a-z0-9]+(?:[._-][a-z0-9]+)*$`)
	packageGrammar = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	suiteGrammar   = regexp.MustCompile(`^[a-z]{3,20}$`)
	mirrorGrammar  = regexp.MustCompile(`^https?://[A-Za-z0-9.:/_~-]+$`)
	envGrammar     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// LoadRecipe reads the recipe at path and, through From, everything below it.
// Unknown fields, cycles and values that can't work are errors that name file,
// line and reason.
func LoadRecipe(path string) (*Recipe, error) {
	return loadRecipe(path, nil)
}

func loadRecipe(file string, chain []string) (*Recipe, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("load recipe %s: %w", file, err)
	}
	if slices.Contains(chain, abs) {
		return nil, fmt.Errorf("load recipe %s: it is built from itself (%s)", file, strings.Join(append(chain, abs), " -> "))
	}
	if len(chain) == maxChain {
		return nil, fmt.Errorf("load recipe %s: more than %d recipes below one another", chain[0], maxChain)
	}
	text, err := readCapped(abs, maxRecipeBytes)
	if err != nil {
		return nil, fmt.Errorf("load recipe: %w", err)
	}
	r := &Recipe{Path: abs, text: text}
	if err := yaml.UnmarshalWithOptions(text, r, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("load recipe %s: %s", file, strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("load recipe %s: %w", file, err)
	}
	if r.Fetch != "" {
		if r.Lock, err = LoadLock(r.local(r.Fetch)); err != nil {
			return nil, fmt.Errorf("load recipe %s: fetch: %w", file, err)
		}
	}
	if r.From != "" {
		if r.Parent, err = loadRecipe(r.local(r.From), append(chain, abs)); err != nil {
			return nil, fmt.Errorf("load recipe %s: from: %w", file, err)
		}
	}
	return r, nil
}

// local resolves a path written in the recipe. Recipes are the operator's own
// files: they may point anywhere the operator can read.
func (r *Recipe) local(p string) string {
	return filepath.Join(filepath.Dir(r.Path), filepath.FromSlash(p))
}

func (r *Recipe) validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }

	if !nameGrammar.MatchString(r.Name) || len(r.Name) > 100 {
		bad("name %q: use lower case letters and digits, joined by single \".\", \"_\" or \"-\", at most 100", r.Name)
	}
	switch {
	case r.Debian == nil && r.From == "":
		bad("neither from nor debian: a base needs debian, anything else needs from")
	case r.Debian != nil && r.From != "":
		bad("both from and debian: only a base has debian")
	case r.Debian != nil:
		r.Debian.validate(bad)
		if r.Fetch != "" || len(r.Files) > 0 || len(r.Steps) > 0 || r.Commit != nil || len(r.Outputs) > 0 || r.Limits != nil {
			bad("a base has only name, debian, env and workdir: put fetch, files, steps, commit, outputs and limits into a recipe that is built from it")
		}
	default:
		if len(r.Outputs) == 0 {
			bad("outputs is empty: name the folders that become the layer, such as /testbed")
		}
	}
	if len(r.Steps) > maxSteps {
		bad("%d steps, at most %d are allowed", len(r.Steps), maxSteps)
	}
	for i, o := range r.Outputs {
		if err := checkAbs(o); err != nil {
			bad("outputs[%d]: %w", i, err)
		}
		for _, other := range r.Outputs[:i] {
			if within(o, other) || within(other, o) {
				bad("outputs[%d]: %s and %s contain one another", i, other, o)
			}
		}
	}
	for i, f := range r.Files {
		if err := checkAbs(f.To); err != nil {
			bad("files[%d].to: %w", i, err)
		}
		if f.From == "" || filepath.IsAbs(f.From) {
			bad("files[%d].from %q: must be a path relative to the recipe", i, f.From)
		}
	}
	if r.Commit != nil {
		if err := checkAbs(r.Commit.Dir); err != nil {
			bad("commit.dir: %w", err)
		} else if !slices.ContainsFunc(r.Outputs, func(o string) bool { return within(r.Commit.Dir, o) }) {
			bad("commit.dir %s is in none of the outputs: the commit would be lost", r.Commit.Dir)
		}
	}
	if r.WorkDir != "" {
		if err := checkAbs(r.WorkDir); err != nil {
			bad("workdir: %w", err)
		}
	}
	for k, v := range r.Env {
		if !envGrammar.MatchString(k) || strings.ContainsRune(v, 0) {
			bad("env %q: not a variable name and value", k)
		}
	}
	if r.Limits != nil {
		if err := r.limits().Validate(); err != nil {
			bad("limits: %w", err)
		}
	}
	return errors.Join(errs...)
}

func (d *Debian) validate(bad func(string, ...any)) {
	if !suiteGrammar.MatchString(d.Suite) {
		bad("debian.suite %q: use a code name such as bookworm", d.Suite)
	}
	if d.Mirror != "" && !mirrorGrammar.MatchString(d.Mirror) {
		bad("debian.mirror %q: must be an http or https address", d.Mirror)
	}
	for i, p := range d.Packages {
		if !packageGrammar.MatchString(p) {
			bad("debian.packages[%d] %q: not a package name", i, p)
		}
	}
}

// limits are those of the sandbox in which the steps run.
func (r *Recipe) limits() eval.Limits {
	l := eval.DefaultLimits()
	l.CPUs, l.DiskBytes = 2, 16*eval.GiB
	if b := r.Limits; b != nil {
		if b.CPUs != 0 {
			l.CPUs = b.CPUs
		}
		if b.MemoryMiB != 0 {
			l.MemoryBytes = b.MemoryMiB * eval.MiB
		}
		if b.DiskMiB != 0 {
			l.DiskBytes = b.DiskMiB * eval.MiB
		}
		if b.TimeoutSeconds != 0 {
			l.WallSeconds = b.TimeoutSeconds
		}
	}
	return l
}

// env is that of the image: the parents' variables, then this recipe's, sorted by name.
func (r *Recipe) env() []string {
	all := map[string]string{}
	for _, x := range r.chain() {
		maps.Copy(all, x.Env)
	}
	if all["PATH"] == "" {
		all["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	out := make([]string, 0, len(all))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, k+"="+all[k])
	}
	return out
}

// workDir is the nearest one that the chain sets.
func (r *Recipe) workDir() string {
	for x := r; x != nil; x = x.Parent {
		if x.WorkDir != "" {
			return x.WorkDir
		}
	}
	return "/"
}

// chain lists the recipes from the base to r.
func (r *Recipe) chain() []*Recipe {
	var out []*Recipe
	for x := r; x != nil; x = x.Parent {
		out = append(out, x)
	}
	slices.Reverse(out)
	return out
}

func checkAbs(p string) error {
	switch {
	case !path.IsAbs(p) || path.Clean(p) != p || strings.ContainsRune(p, 0):
		return fmt.Errorf("%q must be an absolute, clean path inside the image", p)
	case p == "/":
		return errors.New("\"/\" is too much: name folders below it")
	case len(p) > maxPathBytes:
		return fmt.Errorf("path of %d bytes, at most %d are allowed", len(p), maxPathBytes)
	}
	return nil
}

// within reports whether p is dir or below it. Both are clean.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

func readCapped(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("read %s: larger than %d bytes", file, limit)
	}
	return b, nil
}
