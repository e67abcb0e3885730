package image_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/sandbox/image"
)

// write puts files into a fresh folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	base  = "name: base\ndebian: {suite: bookworm, packages: [bash]}\n"
	child = "name: child\nfrom: base.yaml\noutputs: [/testbed]\n"
)

func TestLoadRecipe(t *testing.T) {
	dir := write(t, map[string]string{"base.yaml": base, "sub/child.yaml": strings.Replace(child, "base.yaml", "../base.yaml", 1)})
	r, err := image.LoadRecipe(filepath.Join(dir, "sub/child.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Parent == nil || r.Parent.Name != "base" || !slices.Equal(r.Parent.Debian.Packages, []string{"bash"}) {
		t.Errorf("parent = %+v", r.Parent)
	}
	ref, err := r.Ref()
	if err != nil || !strings.HasPrefix(ref, "harness.local/child:") || len(ref) != len("harness.local/child:")+12 {
		t.Errorf("Ref() = %q, %v", ref, err)
	}
}

func TestLoadRecipeRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"unknown field":        {child + "step: [x]\n", `[4:1] unknown field "step"`},
		"wrong type":           {"name: [a]\nfrom: base.yaml\noutputs: [/a]\n", "[1:7]"},
		"no base":              {"name: x\noutputs: [/a]\n", "neither from nor debian"},
		"both":                 {base + "from: base.yaml\n", "both from and debian"},
		"base with steps":      {base + "steps: [true]\n", "a base has only"},
		"bad name":             {"name: ../x\nfrom: base.yaml\noutputs: [/a]\n", `name "../x"`},
		"bad package":          {"name: x\ndebian: {suite: bookworm, packages: [\"--hook=x\"]}\n", `packages[0] "--hook=x"`},
		"bad suite":            {"name: x\ndebian: {suite: \"-x\"}\n", "debian.suite"},
		"no outputs":           {"name: x\nfrom: base.yaml\n", "outputs is empty"},
		"root as output":       {"name: x\nfrom: base.yaml\noutputs: [/]\n", "name folders below it"},
		"relative output":      {"name: x\nfrom: base.yaml\noutputs: [testbed]\n", "absolute, clean path"},
		"unclean output":       {"name: x\nfrom: base.yaml\noutputs: [/a/../b]\n", "absolute, clean path"},
		"nested outputs":       {"name: x\nfrom: base.yaml\noutputs: [/a, /a/b]\n", "contain one another"},
		"commit not in output": {"name: x\nfrom: base.yaml\noutputs: [/a]\ncommit: {dir: /b}\n", "the commit would be lost"},
		"absolute files":       {child + "files: [{from: /etc, to: /x}]\n", "relative to the recipe"},
		"bad env":              {child + "env: {\"A=B\": x}\n", "env"},
		"bad limit":            {child + "limits: {memory_mib: 1}\n", "limit memory"},
		"itself":               {"name: x\nfrom: r.yaml\noutputs: [/a]\n", "built from itself"},
		"no parent":            {"name: x\nfrom: none.yaml\noutputs: [/a]\n", "none.yaml"},
		"no lock":              {child + "fetch: none.json\n", "none.json"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"base.yaml": base, "r.yaml": tc.text})
			_, err := image.LoadRecipe(filepath.Join(dir, "r.yaml"))
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "r.yaml") {
				t.Errorf("error = %v\nwant it to name the file and say %q", err, tc.want)
			}
		})
	}
}

func TestLock(t *testing.T) {
	const sum = `"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`
	good := `{"schema":1,"files":[{"project":"a-b","name":"a_b-1.0.tar.gz","sha256":` + sum + `,"size":3}]}`
	for name, tc := range map[string]struct{ text, want string }{
		"good":         {good, ""},
		"other schema": {strings.Replace(good, `"schema":1`, `"schema":2`, 1), "schema 2"},
		"unknown":      {strings.Replace(good, `"schema"`, `"hooks":1,"schema"`, 1), "hooks"},
		"trailing":     {good + "{}", "behind the JSON"},
		"path":         {strings.Replace(good, "a_b-1.0.tar.gz", "../x", 1), "plain file name"},
		"flag":         {strings.Replace(good, "a_b-1.0.tar.gz", "-x", 1), "plain file name"},
		"short sum":    {strings.Replace(good, "0123456789abcdef", "", 1), "64 hex digits"},
		"no size":      {strings.Replace(good, `"size":3`, `"size":0`, 1), "size 0"},
		"project":      {strings.Replace(good, `"a-b"`, `"a/../b"`, 1), "normalised"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"l.json": tc.text})
			_, err := image.LoadLock(filepath.Join(dir, "l.json"))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}

// The digest must follow everything that a build depends on, and nothing else.
func TestDigestFollowsInputs(t *testing.T) {
	dir := write(t, map[string]string{"base.yaml": base, "child.yaml": child + "files: [{from: src, to: /testbed}]\n", "src/a": "1", "src/b/c": "2"})
	digest := func() string {
		t.Helper()
		r, err := image.LoadRecipe(filepath.Join(dir, "child.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		d, err := r.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was := digest()
	put("src/a", "1")
	if digest() != was {
		t.Error("writing the same file again changed the digest")
	}
	for _, change := range []func(){
		func() { put("src/a", "3") },
		func() { put("src/new", "") },
		func() {
			if err := os.Chmod(filepath.Join(dir, "src/a"), 0o755); err != nil {
				t.Fatal(err)
			}
		},
		func() { put("base.yaml", strings.Replace(base, "bash", "dash", 1)) },
		func() { put("child.yaml", child+"files: [{from: src, to: /testbed}]\nworkdir: /testbed\n") },
	} {
		change()
		if now := digest(); now == was {
			t.Error("a change of the inputs left the digest as it was")
		} else {
			was = now
		}
	}
}

func TestFilesRefuseLinksOut(t *testing.T) {
	dir := write(t, map[string]string{"base.yaml": base, "child.yaml": child + "files: [{from: src, to: /testbed}]\n", "src/a": "1"})
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "src/link")); err != nil {
		t.Fatal(err)
	}
	r, err := image.LoadRecipe(filepath.Join(dir, "child.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Digest(); err == nil || !strings.Contains(err.Error(), "must be relative") {
		t.Errorf("error = %v", err)
	}
}

func TestFindRecipesPutsParentsFirst(t *testing.T) {
	dir := write(t, map[string]string{
		"base.yaml":           base,
		"m/a.yaml":            "name: a\nfrom: z.yaml\noutputs: [/a]\n",
		"m/z.yaml":            "name: z\nfrom: ../base.yaml\noutputs: [/z]\n",
		"m/repo/compose.yaml": "services: {}\n",
	})
	rs, err := image.FindRecipes(filepath.Join(dir, "m"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range rs {
		names = append(names, r.Name)
	}
	if want := []string{"base", "z", "a"}; !slices.Equal(names, want) {
		t.Errorf("order = %v, want %v", names, want)
	}
}

func TestFindRecipesRefusesTwins(t *testing.T) {
	dir := write(t, map[string]string{"a.yaml": base, "b.yaml": base})
	if _, err := image.FindRecipes(dir); err == nil || !strings.Contains(err.Error(), "same name") {
		t.Errorf("error = %v", err)
	}
}
