// Package buildinfo says which build of the harness this is. It knows nothing
// of what the harness does.
package buildinfo

import "runtime/debug"

// version is set by the linker:
//
//	go build -ldflags "-X harness/internal/buildinfo.version=v0.1.0"
var version string

// Version returns the version of this build, as recorded in runs and results:
// what the linker was told, else the module version or the commit that Go
// recorded, else "devel". It is never empty.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = nil
	}
	return pick(version, info)
}

func pick(linked string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	if info == nil {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	var commit, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if commit == "" {
		return "devel"
	}
	return "devel-" + commit + dirty
}
