package buildinfo

import (
	"runtime/debug"
	"testing"
)

func TestPick(t *testing.T) {
	vcs := func(commit, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{
			Main: debug.Module{Version: "(devel)"},
			Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: commit},
				{Key: "vcs.modified", Value: modified},
			},
		}
	}
	tests := []struct {
		name   string
		linked string
		info   *debug.BuildInfo
		want   string
	}{
		{"linker wins", "v1.2.3", vcs("0123456789abcdef", "false"), "v1.2.3"},
		{"installed module", "", &debug.BuildInfo{Main: debug.Module{Version: "v0.4.0"}}, "v0.4.0"},
		{"clean commit", "", vcs("0123456789abcdef", "false"), "devel-0123456789ab"},
		{"changed commit", "", vcs("0123456789abcdef", "true"), "devel-0123456789ab-dirty"},
		{"short revision", "", vcs("abc", "false"), "devel-abc"},
		{"no build information", "", nil, "devel"},
		{"nothing recorded", "", &debug.BuildInfo{}, "devel"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := pick(tt.linked, tt.info); got != tt.want {
				t.Errorf("pick(%q) = %q, want %q", tt.linked, got, tt.want)
			}
		})
	}
}

func TestVersionIsNeverEmpty(t *testing.T) {
	if Version() == "" {
		t.Error("Version() is empty")
	}
}
