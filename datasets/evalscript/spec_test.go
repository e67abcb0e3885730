package evalscript

import (
	"strings"
	"testing"
)

func TestSpecTable(t *testing.T) {
	all, err := table()
	if err != nil {
		t.Fatal(err)
	}
	versions := 0
	for _, r := range all {
		for _, s := range r.Specs {
			versions += len(s.Versions)
		}
	}
	if len(all) < 64 || versions < 671 {
		t.Errorf("%d repositories, %d versions, want at least 64, 671", len(all), versions)
	}
}

func TestSpecFileFaults(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"not JSON", `{`, "EOF"},
		{"unknown field", `{"style": "python", "repo": {}}`, `unknown field "repo"`},
		{"unknown style", `{"style": "cobol"}`, `style "cobol" is unknown; use python`},
		{"no parser", `{"style": "python", "repos": {"a/b": {"specs": [{"versions": ["1"], "test": ["x"]}]}}}`, "a/b has no parser"},
		{"no test", `{"style": "python", "repos": {"a/b": {"parser": "p", "specs": [{"versions": ["1"]}]}}}`, "without versions or test"},
		{"a version twice", `{"style": "python", "repos": {"a/b": {"parser": "p", "specs": [
			{"versions": ["1"], "test": ["x"]}, {"versions": ["1"], "test": ["y"]}]}}}`, "version 1 twice"},
		{"a repository twice", `{"style": "python", "repos": {"known/one": {"parser": "p", "specs": [
			{"versions": ["1"], "test": ["x"]}]}}}`, "known/one is in another file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := addSpecs(map[string]*repoSpec{"known/one": {}}, []byte(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
