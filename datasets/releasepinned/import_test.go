package releasepinned_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/datasets"
	"harness/datasets/releasepinned"
	"harness/sandbox/image"
)

// everything is an index that has each version of each project, as a wheel and
// as a source archive.
type everything struct{ asked map[string]bool }

func (e everything) Files(_ context.Context, project string) ([]image.IndexFile, error) {
	e.asked[project] = true
	var out []image.IndexFile
	for _, v := range strings.Fields(`1.0 2.0 2.0a1 7.2.1 22.2.0 1.1.1 23.0 1.0.0`) {
		for _, name := range []string{strings.ReplaceAll(project, "-", "_") + "-" + v + "-py3-none-any.whl", project + "-" + v + ".tar.gz"} {
			out = append(out, image.IndexFile{Name: name, SHA256: strings.Repeat("ab", 32), Size: 10})
		}
	}
	return out, nil
}

const rowText = `{"repo":"o/r","instance_id":"o__r-%d","base_commit":"c","patch":"p","test_patch":"diff --git a/t.py b/t.py\n","log_parser":"parse_log_pytest","FAIL_TO_PASS":"[\"a\"]","PASS_TO_PASS":["b"],` +
	`"release":{"package":"Proj","version":"%s","test_cmd":"python -m pytest FILES","test_args":"t.py","verified_with":["pytest==7.2.1"],"verified":%s,"notes":"n"}}` + "\n"

func options(t *testing.T) releasepinned.Options {
	t.Helper()
	base := filepath.Join(t.TempDir(), "python.yaml")
	if err := os.WriteFile(base, []byte("name: python\ndebian: {suite: bookworm, packages: [python3]}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return releasepinned.Options{Out: t.TempDir(), Base: base, Index: everything{map[string]bool{}}}
}

func rows(t *testing.T, text string) []releasepinned.Row {
	t.Helper()
	out, err := releasepinned.ReadRows(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestImport(t *testing.T) {
	o := options(t)
	in := fmt.Sprintf(rowText, 1, "2.0", "true") + fmt.Sprintf(rowText, 2, "2.0", `"partial"`) + fmt.Sprintf(rowText, 3, "2.0a1", "true")
	res, err := releasepinned.Import(context.Background(), rows(t, in), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Tasks) != 3 || res.Images != 2 || res.Layers != 1 {
		t.Errorf("%d tasks, %d images, %d layers", len(res.Tasks), res.Images, res.Layers)
	}
	if res.Tasks[0].Image != res.Tasks[1].Image || res.Tasks[0].Image == res.Tasks[2].Image {
		t.Errorf("images %s, %s, %s", res.Tasks[0].Image, res.Tasks[1].Image, res.Tasks[2].Image)
	}
	if res.Origins[0].Partial || !res.Origins[1].Partial || res.Origins[0].BaseCommit != "c" || res.Tasks[0].BaseCommit != "" {
		t.Errorf("origins %+v", res.Origins[:2])
	}
	if want := []string{"attrs==22.2.0", "iniconfig==1.1.1", "packaging==23.0", "pluggy==1.0.0", "pytest==7.2.1"}; !slices.Equal(res.Origins[0].Pins, want) {
		t.Errorf("pins %v, want %v", res.Origins[0].Pins, want)
	}

	ds, err := datasets.Load(context.Background(), filepath.Join(o.Out, releasepinned.DatasetFile), datasets.Options{})
	if err != nil || len(ds.Tasks) != 3 {
		t.Fatalf("load: %v", err)
	}
	recipes, err := image.FindRecipes(filepath.Join(o.Out, releasepinned.ImagesDir))
	if err != nil {
		t.Fatal(err)
	}
	refs := map[string]bool{}
	for _, r := range recipes {
		ref, err := r.Ref()
		if err != nil {
			t.Fatal(err)
		}
		refs[ref] = true
	}
	if len(recipes) != 4 || !refs[ds.Tasks[0].Image] || !refs[ds.Tasks[2].Image] {
		t.Errorf("%d recipes, %v", len(recipes), refs)
	}

	// Fewer rows: no recipe is left over, and what stays is the same.
	again, err := releasepinned.Import(context.Background(), rows(t, fmt.Sprintf(rowText, 1, "2.0", "true")), o)
	if err != nil || again.Tasks[0].Image != res.Tasks[0].Image {
		t.Errorf("second import: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Out, releasepinned.ImagesDir, "rel-*.yaml")); len(left) != 1 {
		t.Errorf("recipes left: %v", left)
	}
}

func TestImportNamesEveryBadRow(t *testing.T) {
	o := options(t)
	in := fmt.Sprintf(rowText, 1, "9.9", "true") + strings.Replace(fmt.Sprintf(rowText, 2, "2.0", "true"), "python -m pytest", "make", 1) +
		strings.Replace(fmt.Sprintf(rowText, 3, "2.0", "true"), "pytest==7.2.1", "pytest>=7", 1)
	_, err := releasepinned.Import(context.Background(), rows(t, in), o)
	for _, want := range []string{"o__r-1: choose file: the index has no file of proj 9.9", "o__r-2: release.test_cmd", `o__r-3: release.verified_with: "pytest>=7"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(o.Out, releasepinned.DatasetFile)); !errors.Is(err, os.ErrNotExist) {
		t.Error("a dataset was written all the same")
	}
}

func TestImportFullOnly(t *testing.T) {
	o := options(t)
	o.FullOnly = true
	if _, err := releasepinned.Import(context.Background(), rows(t, fmt.Sprintf(rowText, 1, "2.0", `"partial"`)), o); err == nil || !strings.Contains(err.Error(), "no row is left") {
		t.Errorf("error = %v", err)
	}
}

func TestReadRowsRefuses(t *testing.T) {
	one := fmt.Sprintf(rowText, 1, "2.0", "true")
	for name, tc := range map[string]struct{ text, want string }{
		"empty":       {"\n", "there are none"},
		"no release":  {`{"instance_id":"a__b-1","test_patch":"x","log_parser":"p"}`, "no release-pinned row"},
		"twice":       {one + one, "line 2: o__r-1 was on line 1"},
		"no JSON":     {one + "{", "line 2"},
		"bad list":    {strings.Replace(one, `["b"]`, `"b"`, 1), "line 1"},
		"hostile id":  {strings.Replace(one, "o__r-1", "../x", 1), "instance id"},
		"null fields": {strings.Replace(one, `"test_args":"t.py"`, `"test_args":null`, 1), "release.test_args is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := releasepinned.ReadRows(strings.NewReader(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}
