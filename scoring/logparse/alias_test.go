package logparse_test

import (
	"testing"

	"harness/scoring/logparse"
)

func TestLookupByPullRequest(t *testing.T) {
	for name, want := range map[string]string{
		"multi/alibaba/fastjson2:pr-2775": "multi/surefire_plain", "multi/google/gson:pr-1787": "multi/gson",
		"multi/facebook/zstd:pr-1831": "multi/zstd_decoder", "multi/gradle": "multi/gradle",
		"multi/octo/calc:pr-1": "", "multi/gson:pr-1": "", "multi/google/gson:pr-x": "", "google/gson:pr-1": "",
	} {
		if p, ok := logparse.Lookup(name); p.Name != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", name, p.Name, want)
		}
	}
}
