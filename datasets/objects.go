package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"

	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// Bounds of what a task brings along. A task is held in memory, stored with each
// run, and its files are written into every sandbox.
const (
	maxFiles     = 1000
	maxFileBytes = 16 << 20
	maxAllBytes  = 64 << 20
	maxPathBytes = 4096
	maxAssets    = 1000
	maxURLBytes  = 8192
)

// decodeAssets reads image_assets. The published sets write an address as a
// string where no place in the repository belongs to it.
func decodeAssets(raw []byte, t *eval.Task) error {
	v, err := strictjson.Parse(raw)
	if err != nil {
		return err
	}
	if v.Kind != strictjson.Object {
		return fmt.Errorf("it is %s, an object is expected", v.Kind)
	}
	if err := v.CheckText(); err != nil {
		return err
	}
	var a eval.ImageAssets
	into := map[string]*[]eval.Asset{"problem_statement": &a.ProblemStatement, "patch": &a.Patch, "test_patch": &a.TestPatch}
	err = strictjson.Members(raw, func(key []byte, v strictjson.Value) error {
		list := into[string(key)]
		switch {
		case list == nil:
			return fmt.Errorf("key %s is unknown or given twice", quote(string(key)))
		case v.Kind == strictjson.Array:
		case v.Kind == strictjson.Null:
			return nil
		default:
			return fmt.Errorf("%s is %s, a list is expected", key, v.Kind)
		}
		delete(into, string(key))
		if err := assetList(v.Raw, list); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	t.ImageAssets = &a
	return err
}

func assetList(raw []byte, into *[]eval.Asset) error {
	return strictjson.Elements(raw, func(v strictjson.Value) error {
		var one eval.Asset
		var err error
		switch v.Kind {
		case strictjson.String:
			one.URL, err = v.Text()
		case strictjson.Object:
			err = unmarshalStrict(v.Raw, &one)
		default:
			err = fmt.Errorf("it is %s, an address or {url, path} is expected", v.Kind)
		}
		if err != nil {
			return fmt.Errorf("element %d: %w", len(*into)+1, err)
		}
		*into = append(*into, one)
		return nil
	})
}

// checkAssets looks at pictures' places. Where they are published is only data:
// nothing is fetched here.
func checkAssets(a *eval.ImageAssets) error {
	if a == nil {
		return nil
	}
	n := 0
	for _, list := range [][]eval.Asset{a.ProblemStatement, a.Patch, a.TestPatch} {
		for _, one := range list {
			switch n++; {
			case n > maxAssets:
				return fmt.Errorf("there are more than %d pictures", maxAssets)
			case one.URL == "" && one.Path == "":
				return errors.New("a picture has neither url nor path")
			case len(one.URL) > maxURLBytes || strings.ContainsFunc(one.URL, unicode.IsControl):
				return fmt.Errorf("url %s is not an address", quote(one.URL))
			case one.Path != "" && (len(one.Path) > maxPathBytes || !insideRepo(one.Path)):
				return fmt.Errorf("path %s is not a clean path inside the repository", quote(one.Path))
			}
		}
	}
	staged := map[string]string{}
	for _, one := range a.OfPatches() {
		place := one.Staged()
		if other, ok := staged[place]; ok && other != one.Path {
			return fmt.Errorf("%s and %s wait in the same file %s", quote(other), quote(one.Path), quote(place))
		}
		staged[place] = one.Path
	}
	return nil
}

func insideRepo(p string) bool {
	return !path.IsAbs(p) && path.Clean(p) == p && p != "." && p != ".." && !strings.HasPrefix(p, "../") &&
		!strings.ContainsFunc(p, unicode.IsControl)
}

// checkFiles looks at files that a task brings. They are written into the
// sandbox as root, so a path must be plain, and none of the harness's own.
func checkFiles(files []eval.TaskFile) error {
	if len(files) > maxFiles {
		return fmt.Errorf("there are %d files, at most %d are allowed", len(files), maxFiles)
	}
	seen := make(map[string]bool, len(files))
	all := 0
	for _, f := range files {
		if err := checkPath(f.Path); err != nil {
			return err
		}
		if seen[f.Path] {
			return fmt.Errorf("path %s is given twice", quote(f.Path))
		}
		seen[f.Path] = true
		if f.Mode > 0o777 {
			return fmt.Errorf("mode %s of %s is more than permission bits", strconv.FormatUint(uint64(f.Mode), 8), quote(f.Path))
		}
		if all += len(f.Data); len(f.Data) > maxFileBytes || all > maxAllBytes {
			return fmt.Errorf("the files up to %s are too large: at most %d MiB each and %d MiB together", quote(f.Path), maxFileBytes>>20, maxAllBytes>>20)
		}
	}
	return nil
}

func checkPath(p string) error {
	switch {
	case !path.IsAbs(p) || path.Clean(p) != p || p == "/":
		return fmt.Errorf("path %s is not a clean absolute path", quote(p))
	case len(p) > maxPathBytes || strings.ContainsFunc(p, unicode.IsControl):
		return fmt.Errorf("path %s is too long or has control characters", quote(p))
	case p == eval.PatchFile:
		return fmt.Errorf("path %s is where the candidate's patch goes", quote(p))
	}
	for _, kernel := range []string{"/proc", "/sys", "/dev"} {
		if p == kernel || strings.HasPrefix(p, kernel+"/") {
			return fmt.Errorf("path %s belongs to the kernel", quote(p))
		}
	}
	return nil
}

// objectTexts hands every text inside a task's objects to fn.
func objectTexts(t *eval.Task, fn func(field, text string)) {
	list := func(field string, texts []string) {
		for _, s := range texts {
			fn(field, s)
		}
	}
	if f := t.Frozen; f != nil {
		list("frozen", []string{f.Runtime, f.ImageDigest, f.Note})
		list("frozen", f.Missing)
	}
	if a := t.ImageAssets; a != nil {
		for _, assets := range [][]eval.Asset{a.ProblemStatement, a.Patch, a.TestPatch} {
			for _, one := range assets {
				list("image_assets", []string{one.URL, one.Path})
			}
		}
	}
	for _, f := range t.Files {
		fn("files", f.Path)
	}
	if s := t.Solution; s != nil {
		fn("solution", s.Script)
		for _, f := range s.Files {
			fn("solution", f.Path)
		}
	}
	if b := t.Baseline; b != nil {
		for _, s := range []*eval.TestStates{b.Run, b.Test, b.Gold} {
			if s != nil {
				list("baseline", s.Passed)
				list("baseline", s.Failed)
				list("baseline", s.Skipped)
			}
		}
		list("baseline", b.SkipToPass)
		list("baseline", b.NoneToPass)
	}
}

// normaliseObjects brings objects to the form that reading their JSON gives: an
// empty one is none, lists that are always written are never nil. What the
// caller's pointers point to is left alone.
func normaliseObjects(t *eval.Task) {
	if a := t.ImageAssets; a != nil {
		if len(a.ProblemStatement)+len(a.Patch)+len(a.TestPatch) == 0 {
			t.ImageAssets = nil
		} else {
			t.ImageAssets = &eval.ImageAssets{ProblemStatement: orNil(a.ProblemStatement), Patch: orNil(a.Patch), TestPatch: orNil(a.TestPatch)}
		}
	}
	t.Files = withData(t.Files)
	if s := t.Solution; s != nil {
		t.Solution = &eval.Solution{Script: s.Script, Files: withData(s.Files), TimeoutSeconds: s.TimeoutSeconds}
	}
	if b := t.Baseline; b != nil {
		n := eval.Baseline{Run: withLists(b.Run), Test: withLists(b.Test), Gold: withLists(b.Gold), SkipToPass: orNil(b.SkipToPass), NoneToPass: orNil(b.NoneToPass)}
		t.Baseline = &n
		if n.Run == nil && n.Test == nil && n.Gold == nil && n.SkipToPass == nil && n.NoneToPass == nil {
			t.Baseline = nil
		}
	}
}

func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// withData gives an empty file empty data: nil would be written as null.
func withData(files []eval.TaskFile) []eval.TaskFile {
	var out []eval.TaskFile
	for _, f := range files {
		if f.Data == nil {
			f.Data = []byte{}
		}
		out = append(out, f)
	}
	return out
}

func withLists(s *eval.TestStates) *eval.TestStates {
	if s == nil {
		return nil
	}
	n := *s
	for _, l := range []*[]string{&n.Passed, &n.Failed, &n.Skipped} {
		if *l == nil {
			*l = []string{}
		}
	}
	return &n
}

// marshalObject is the JSON of an object field, "" for none.
func marshalObject(f *field, t *eval.Task) (string, error) {
	raw, err := json.Marshal(f.object(t))
	if err != nil {
		return "", fmt.Errorf("task %q: field %s: %w", t.InstanceID, f.name, err)
	}
	if string(raw) == "null" {
		return "", nil
	}
	return string(raw), nil
}
