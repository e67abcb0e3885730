package releasepinned

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"harness/datasets"
	"harness/eval"
	"harness/sandbox/image"
)

// Names in the folder that Import writes.
const (
	DatasetFile = "dataset.jsonl"
	OriginFile  = "origin.jsonl"
	ImagesDir   = "images"
)

// Options of Import.
type Options struct {
	Out   string // folder, made when absent
	Base  string // recipe of the Python base: deploy/images/python.yaml
	Index Index
	// FullOnly leaves out rows that are verified in part only.
	FullOnly bool
	Log      *slog.Logger // nil: silent
}

// Origin is a line of origin.jsonl: where a task comes from and what the
// publisher of the row said of it.
type Origin struct {
	InstanceID string   `json:"instance_id"`
	Image      string   `json:"image"`
	Recipe     string   `json:"recipe"` // below the dataset's folder
	Package    string   `json:"package"`
	Version    string   `json:"version"`
	BaseCommit string   `json:"published_base_commit"` // of the project's own repository; the image holds one commit, of the release
	Pins       []string `json:"pins"`
	Partial    bool     `json:"partial"` // some published tests were not seen to behave as published
	Notes      string   `json:"notes,omitempty"`
}

// Result says what Import wrote.
type Result struct {
	Tasks   []eval.Task
	Origins []Origin
	Images  int // distinct release images
	Layers  int // distinct dependency layers below them
}

// Import writes dataset.jsonl, origin.jsonl and a folder of image recipes with
// their lock files. Images are shared: one layer of dependencies for each set
// of pins, one image for each release upon it. Nothing is downloaded but the
// index's own pages. The test lists are the published ones until Freeze.
//
// Rows that can't be imported are named in the error, all of them, and nothing
// is written then.
func Import(ctx context.Context, rows []Row, o Options) (*Result, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	base, err := image.LoadRecipe(o.Base)
	if err != nil {
		return nil, fmt.Errorf("import release-pinned rows: the Python base: %w", err)
	}
	im := importer{ctx: ctx, opts: o, files: map[string][]byte{}, releases: map[string]*releaseImage{}}
	if err := im.addBase(base); err != nil {
		return nil, fmt.Errorf("import release-pinned rows: %w", err)
	}
	var errs []error
	for i := range rows {
		if o.FullOnly && !rows[i].Release.Verified.Full() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if err := im.add(&rows[i]); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("import release-pinned rows: %w", errors.Join(errs...))
	}
	if len(im.rows) == 0 {
		return nil, errors.New("import release-pinned rows: no row is left to import")
	}
	return im.write()
}

type importer struct {
	ctx      context.Context
	opts     Options
	baseName string            // file name of the base below images/
	files    map[string][]byte // what goes below images/
	releases map[string]*releaseImage
	rows     []importedRow
	layers   int
}

type importedRow struct {
	row    *Row
	script string
	image  *releaseImage
	pins   []string
}

// releaseImage is one recipe that instances share.
type releaseImage struct {
	recipe string // file name below images/
	ref    string // known once all files are written
}

func (im *importer) addBase(base *image.Recipe) error {
	if base.From != "" {
		return fmt.Errorf("the Python base %s is itself built from another recipe: name one that starts from Debian packages", base.Path)
	}
	text, err := os.ReadFile(base.Path)
	if err != nil {
		return err
	}
	im.baseName = base.Name + ".yaml"
	im.files[im.baseName] = text
	return nil
}

func (im *importer) add(r *Row) error {
	script, err := r.evalScript()
	if err != nil {
		return err
	}
	pins, err := r.pins()
	if err != nil {
		return err
	}
	rel, err := im.release(r, pins)
	if err != nil {
		return fmt.Errorf("%s: %w", r.InstanceID, err)
	}
	im.rows = append(im.rows, importedRow{r, script, rel, pins.list()})
	return nil
}

var notName = regexp.MustCompile(`[^a-z0-9]+`)

// release returns the image of the row's release upon its pins, adding recipes
// where they are new.
func (im *importer) release(r *Row, p pins) (*releaseImage, error) {
	deps, err := im.dependencies(p)
	if err != nil {
		return nil, err
	}
	key := normalName(r.Release.Package) + " " + r.Release.Version + " " + deps
	if rel, ok := im.releases[key]; ok {
		return rel, nil
	}
	name := "rel-" + strings.Trim(notName.ReplaceAllString(strings.ToLower(r.Release.Package+"-"+r.Release.Version), "-"), "-")
	if _, taken := im.files[name+".yaml"]; taken {
		name += "-" + strings.TrimPrefix(deps, "deps-")[:6]
	}
	sdist, err := chooseSdist(im.ctx, im.opts.Index, normalName(r.Release.Package), r.Release.Version)
	if err != nil {
		return nil, err
	}
	unpack := "tar -xzf " + image.Wheelhouse + "/" + sdist.Name + " -C /testbed --strip-components=1 --no-same-owner"
	if strings.HasSuffix(sdist.Name, ".zip") {
		unpack = "python3 -m zipfile -e " + image.Wheelhouse + "/" + sdist.Name + " /tmp/sdist && cp -a /tmp/sdist/*/. /testbed/"
	}
	recipe := image.Recipe{
		Name: name, From: deps + ".yaml", Fetch: name + ".lock.json",
		Steps:   []string{"mkdir /testbed\n" + unpack, byteCode("/testbed")},
		Commit:  &image.Commit{Dir: "/testbed"},
		Outputs: []string{"/testbed"},
		WorkDir: "/testbed",
	}
	if err := im.put(recipe, []image.LockedFile{sdist}); err != nil {
		return nil, err
	}
	rel := &releaseImage{recipe: name + ".yaml"}
	im.releases[key] = rel
	return rel, nil
}

const sitePackages = "/opt/venv/lib/python3.11/site-packages"

// dependencies returns the name of the recipe that holds the pins.
func (im *importer) dependencies(p pins) (string, error) {
	sum := sha256.Sum256([]byte(strings.Join(p.list(), "\n")))
	name := "deps-" + hex.EncodeToString(sum[:6])
	if _, ok := im.files[name+".yaml"]; ok {
		return name, nil
	}
	var files []image.LockedFile
	for _, pin := range p.list() {
		project, version, _ := strings.Cut(pin, "==")
		f, err := chooseFile(im.ctx, im.opts.Index, project, version)
		if err != nil {
			return "", err
		}
		if isSdist(f.Name) {
			im.opts.Log.Warn("no wheel fits: the source archive will be built in the sandbox", "project", project, "version", version, "file", f.Name)
		}
		files = append(files, f)
	}
	// The release is imported from its folder, wherever it keeps its packages:
	// it has no installed copy that a patch would miss.
	install := "python3 -m venv --without-pip /opt/venv\n" +
		"printf '/testbed\\n/testbed/src\\n' >" + sitePackages + "/testbed.pth\n"
	if len(files) > 0 {
		// pip, and what builds a source archive, are the base's own; without
		// --ignore-installed pip would take the base's packages for the venv's.
		install += "PYTHONPATH=/usr/lib/python3/dist-packages python3 -m pip --python /opt/venv/bin/python install" +
			" --quiet --ignore-installed --no-deps --no-compile --no-build-isolation"
		for _, f := range files {
			install += " \\\n  " + image.Wheelhouse + "/" + f.Name
		}
	}
	recipe := image.Recipe{
		Name: name, From: im.baseName, Fetch: name + ".lock.json",
		Steps:   []string{strings.TrimSpace(install), byteCode("/opt/venv/lib")},
		Outputs: []string{"/opt/venv"},
		Env:     map[string]string{"PATH": "/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "VIRTUAL_ENV": "/opt/venv"},
	}
	if err := im.put(recipe, files); err != nil {
		return "", err
	}
	im.layers++
	return name, nil
}

// byteCode compiles ahead, so that a trial does not: with the sources' hash
// instead of their time in it, which SOURCE_DATE_EPOCH asks for. Files that are
// wrong on purpose (test data) are passed over.
func byteCode(dir string) string { return "python3 -m compileall -q " + dir + " >/dev/null || true" }

func (im *importer) put(r image.Recipe, files []image.LockedFile) error {
	if len(files) == 0 {
		r.Fetch = ""
	} else {
		lock, err := json.MarshalIndent(image.Lock{Schema: 1, Files: files}, "", "  ")
		if err != nil {
			return err
		}
		im.files[r.Fetch] = append(lock, '\n')
	}
	text, err := yaml.MarshalWithOptions(r, yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return fmt.Errorf("write recipe %s: %w", r.Name, err)
	}
	im.files[r.Name+".yaml"] = text
	return nil
}

// write puts everything into the folder. Recipes come first: the rows name the
// images by the recipes' digests.
func (im *importer) write() (*Result, error) {
	dir := filepath.Join(im.opts.Out, ImagesDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("write dataset folder: %w", err)
	}
	if err := im.removeStale(dir); err != nil {
		return nil, fmt.Errorf("write dataset folder: %w", err)
	}
	for name, text := range im.files {
		if err := replace(filepath.Join(dir, name), text); err != nil {
			return nil, fmt.Errorf("write dataset folder: %w", err)
		}
	}
	for _, rel := range im.releases {
		recipe, err := image.LoadRecipe(filepath.Join(dir, rel.recipe))
		if err != nil {
			return nil, err
		}
		if rel.ref, err = recipe.Ref(); err != nil {
			return nil, err
		}
	}
	res := &Result{Images: len(im.releases), Layers: im.layers}
	var origins bytes.Buffer
	enc := json.NewEncoder(&origins)
	for _, x := range im.rows {
		task, origin := x.task(), x.origin()
		res.Tasks, res.Origins = append(res.Tasks, task), append(res.Origins, origin)
		if err := enc.Encode(origin); err != nil {
			return nil, err
		}
	}
	if err := replace(filepath.Join(im.opts.Out, OriginFile), origins.Bytes()); err != nil {
		return nil, fmt.Errorf("write dataset folder: %w", err)
	}
	if err := datasets.WriteFile(im.ctx, filepath.Join(im.opts.Out, DatasetFile), &datasets.Dataset{Tasks: res.Tasks}); err != nil {
		return nil, err
	}
	return res, nil
}

// generated is what an earlier Import may have left: a recipe that no row uses
// any more would be built for nothing.
var generated = regexp.MustCompile(`^(?:rel|deps)-[a-z0-9-]+\.(?:yaml|lock\.json)$`)

func (im *importer) removeStale(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, wanted := im.files[e.Name()]; wanted || !generated.MatchString(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// task leaves base_commit empty: the project's commit is not in the image, and
// HEAD is what everything there is compared with.
func (x importedRow) task() eval.Task {
	r := x.row
	kind := r.EvalType
	if kind == "" {
		kind = eval.EvalPassAndFail
	}
	return eval.Task{
		InstanceID: r.InstanceID, Repo: r.Repo, Version: r.Version, Language: "python", Difficulty: r.Difficulty, CreatedAt: r.CreatedAt,
		ProblemStatement: r.ProblemStatement, HintsText: r.HintsText, Patch: r.Patch, TestPatch: r.TestPatch,
		FailToPass: slices.Clone([]string(r.FailToPass)), PassToPass: slices.Clone([]string(r.PassToPass)),
		Image: x.image.ref, EvalScript: x.script, LogParser: r.LogParser, EvalType: kind,
	}
}

func (x importedRow) origin() Origin {
	r := x.row
	return Origin{
		InstanceID: r.InstanceID, Image: x.image.ref, Recipe: ImagesDir + "/" + x.image.recipe,
		Package: r.Release.Package, Version: r.Release.Version, BaseCommit: r.BaseCommit, Pins: x.pins,
		Partial: !r.Release.Verified.Full(), Notes: r.Release.Notes,
	}
}

// replace writes a file in one step.
func replace(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if rm := os.Remove(f.Name()); !errors.Is(rm, fs.ErrNotExist) {
			err = errors.Join(err, rm)
		}
	}
	return err
}
