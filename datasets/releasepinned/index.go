package releasepinned

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"harness/sandbox/image"
)

// Index is the part of a package index that choosing files needs.
type Index interface {
	Files(ctx context.Context, project string) ([]image.IndexFile, error)
}

// target is what wheels must fit: CPython 3.11 on 64-bit x86 Linux with the
// glibc of Debian 12, as deploy/images/python.yaml has them.
const (
	targetMinor = 11
	targetGlibc = 36
	targetArch  = "x86_64"
)

// wheel returns the best file of a pinned release: the most specific wheel that
// fits, or the source archive where there is no such wheel.
func chooseFile(ctx context.Context, idx Index, project, version string) (image.LockedFile, error) {
	return choose(ctx, idx, project, version, func(f image.IndexFile) int {
		if rank := wheelRank(f.Name); rank > 0 {
			return rank + 1
		}
		if isSdist(f.Name) {
			return 1
		}
		return 0
	})
}

// chooseSdist returns the source archive of a release.
func chooseSdist(ctx context.Context, idx Index, project, version string) (image.LockedFile, error) {
	return choose(ctx, idx, project, version, func(f image.IndexFile) int {
		switch {
		case strings.HasSuffix(f.Name, ".tar.gz"):
			return 2
		case isSdist(f.Name):
			return 1
		}
		return 0
	})
}

func choose(ctx context.Context, idx Index, project, version string, rank func(image.IndexFile) int) (image.LockedFile, error) {
	files, err := idx.Files(ctx, project)
	if err != nil {
		return image.LockedFile{}, err
	}
	best, top := image.IndexFile{}, 0
	for _, f := range files {
		// A yanked file is still the one that an exact pin means.
		if !sameVersion(fileVersion(project, f.Name), version) {
			continue
		}
		if r := rank(f); r > top || r == top && r > 0 && f.Name < best.Name {
			best, top = f, r
		}
	}
	switch {
	case top == 0:
		return image.LockedFile{}, fmt.Errorf("choose file: the index has no file of %s %s that fits CPython 3.%d on %s, and no source archive", project, version, targetMinor, targetArch)
	case best.SHA256 == "" || best.Size == 0:
		return image.LockedFile{}, fmt.Errorf("choose file: the index tells no sha256 or size of %s: use an index with the JSON API (PEP 691), such as https://pypi.org/simple", best.Name)
	}
	return image.LockedFile{Project: project, Name: best.Name, SHA256: best.SHA256, Size: best.Size}, nil
}

func isSdist(name string) bool {
	return strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".zip")
}

// fileVersion is the version in a file's name, "" when it is another project's.
func fileVersion(project, name string) string {
	if stem, ok := strings.CutSuffix(name, ".whl"); ok {
		parts := strings.Split(stem, "-")
		if len(parts) < 5 || normalName(parts[0]) != project {
			return ""
		}
		return parts[1]
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(name, ".tar.gz"), ".zip")
	i := strings.LastIndexByte(stem, '-')
	if stem == name || i < 0 || normalName(stem[:i]) != project {
		return ""
	}
	return stem[i+1:]
}

var zeros = regexp.MustCompile(`^(\d+(?:\.\d+)*?)(?:\.0+)*([a-z].*)?$`)

// sameVersion compares as the index does, as far as pins need it: "3.2" and
// "3.2.0" are one version, "3.2" and "3.2a1" are not.
func sameVersion(a, b string) bool {
	return a != "" && zeros.ReplaceAllString(strings.ToLower(a), "$1$2") == zeros.ReplaceAllString(strings.ToLower(b), "$1$2")
}

// wheelRank is 0 when the wheel does not fit; else higher is more specific.
func wheelRank(name string) int {
	stem, ok := strings.CutSuffix(name, ".whl")
	parts := strings.Split(stem, "-")
	if !ok || len(parts) < 5 {
		return 0
	}
	n := len(parts)
	best := 0
	for python := range strings.SplitSeq(parts[n-3], ".") {
		for abi := range strings.SplitSeq(parts[n-2], ".") {
			for platform := range strings.SplitSeq(parts[n-1], ".") {
				best = max(best, tagRank(python, abi, platform))
			}
		}
	}
	return best
}

func tagRank(python, abi, platform string) int {
	p := platformRank(platform)
	own := "cp3" + strconv.Itoa(targetMinor)
	switch {
	case p == 0:
		return 0
	case python == own && abi == own:
		return 3000 + p
	case abi == "abi3" && strings.HasPrefix(python, "cp3"):
		minor, err := strconv.Atoi(python[len("cp3"):])
		if err != nil || minor > targetMinor {
			return 0
		}
		return 2000 + p
	case abi == "none" && (python == "py3" || python == own || python == "py3"+strconv.Itoa(targetMinor)):
		return 1000 + p
	}
	return 0
}

var manylinux = regexp.MustCompile(`^manylinux_2_(\d+)_` + targetArch + `$`)

func platformRank(platform string) int {
	switch platform {
	case "any":
		return 1
	case "manylinux1_" + targetArch:
		return 10 + 5
	case "manylinux2010_" + targetArch:
		return 10 + 12
	case "manylinux2014_" + targetArch:
		return 10 + 17
	}
	m := manylinux.FindStringSubmatch(platform)
	if m == nil {
		return 0
	}
	if glibc, err := strconv.Atoi(m[1]); err == nil && glibc <= targetGlibc {
		return 10 + glibc
	}
	return 0
}
