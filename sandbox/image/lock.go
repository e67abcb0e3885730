package image

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Lock lists the files that the host fetches for a recipe. Nothing else from
// the network ever gets into a build.
type Lock struct {
	Schema int          `json:"schema"` // 1
	Files  []LockedFile `json:"files"`
}

// LockedFile is one file of a package index: its project (normalised name), its
// file name there, the hex SHA-256 of its bytes and their number.
type LockedFile struct {
	Project string `json:"project"`
	Name    string `json:"name"`
	SHA256  string `json:"sha256"`
	Size    int64  `json:"size"`
}

const (
	maxLockBytes   = 4 << 20
	maxLockedFiles = 2000
	maxLockedSize  = 4 << 30
)

var (
	projectGrammar = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)
	fileGrammar    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+!-]*$`)
	sha256Grammar  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// LoadLock reads and checks a lock file.
func LoadLock(path string) (*Lock, error) {
	b, err := readCapped(path, maxLockBytes)
	if err != nil {
		return nil, fmt.Errorf("load lock: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var l Lock
	if err := dec.Decode(&l); err != nil {
		return nil, fmt.Errorf("load lock %s: %w", path, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("load lock %s: text behind the JSON document", path)
	}
	if err := l.Validate(); err != nil {
		return nil, fmt.Errorf("load lock %s: %w", path, err)
	}
	return &l, nil
}

// Validate reports the first entry that can't work.
func (l *Lock) Validate() error {
	if l.Schema != 1 {
		return fmt.Errorf("schema %d is not known: this version reads schema 1", l.Schema)
	}
	if len(l.Files) > maxLockedFiles {
		return fmt.Errorf("%d files, at most %d are allowed", len(l.Files), maxLockedFiles)
	}
	seen := map[string]bool{}
	for i, f := range l.Files {
		if err := f.validate(); err != nil {
			return fmt.Errorf("files[%d]: %w", i, err)
		}
		if seen[f.Name] {
			return fmt.Errorf("files[%d]: %s is listed twice", i, f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

func (f LockedFile) validate() error {
	switch {
	case !projectGrammar.MatchString(f.Project):
		return fmt.Errorf("project %q: use the normalised name (lower case, \"-\")", f.Project)
	case !fileGrammar.MatchString(f.Name) || strings.Contains(f.Name, "..") || len(f.Name) > 250:
		return fmt.Errorf("name %q is not a plain file name", f.Name)
	case !sha256Grammar.MatchString(f.SHA256):
		return fmt.Errorf("%s: sha256 %q is not 64 hex digits", f.Name, f.SHA256)
	case f.Size <= 0 || f.Size > maxLockedSize:
		return fmt.Errorf("%s: size %d is not between 1 and %d", f.Name, f.Size, int64(maxLockedSize))
	}
	return nil
}
