package sandbox

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"harness/eval"
)

const (
	maxID   = 60
	maxWord = 3000 // Owner and Trial become labels of at most 4,096 bytes with their name
	maxPath = 4095
)

var idPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// ValidID guards every use of an id as container name, path, label or cgroup.
func ValidID(id string) error {
	if len(id) > maxID || !idPattern.MatchString(id) {
		return fmt.Errorf("%w: sandbox id %q: want words of [a-z0-9] joined by single \"-\", at most %d bytes", ErrInvalidSpec, clip(id), maxID)
	}
	return nil
}

// ValidPath accepts absolute clean paths of at most 4,095 bytes.
func ValidPath(p string) error {
	if !strings.HasPrefix(p, "/") || path.Clean(p) != p || strings.IndexByte(p, 0) >= 0 || len(p) > maxPath {
		return fmt.Errorf("%w: path %q is not absolute and clean", ErrInvalidSpec, clip(p))
	}
	return nil
}

// ValidEnv accepts KEY=VALUE entries without NUL bytes.
func ValidEnv(env []string) error {
	for _, kv := range env {
		if strings.IndexByte(kv, '=') < 1 || strings.IndexByte(kv, 0) >= 0 {
			return fmt.Errorf("%w: environment entry %q is not KEY=VALUE", ErrInvalidSpec, clip(kv))
		}
	}
	return nil
}

// Validate reports everything that can't work, in one error that wraps
// ErrInvalidSpec. Every Runtime calls it first.
func (s Spec) Validate() error {
	if err := ValidID(s.ID); err != nil {
		return err
	}
	errs := []error{s.Limits.Validate(), ValidEnv(s.Env)}
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Network != eval.NetworkNone && s.Network != "" {
		bad("network policy %q: only %q is offered", s.Network, eval.NetworkNone)
	}
	if s.ImageDigest == "" {
		bad("image digest is empty: call Resolve first")
	}
	if s.WorkDir != "" {
		errs = append(errs, ValidPath(s.WorkDir))
	}
	for _, f := range s.Files {
		if f.Path == "/" {
			bad("file path is \"/\"")
		}
		errs = append(errs, ValidPath(f.Path))
	}
	if len(s.Owner) > maxWord || len(s.Trial) > maxWord {
		bad("owner has %d and trial %d bytes, at most %d are allowed", len(s.Owner), len(s.Trial), maxWord)
	}
	if s.Lease < 0 {
		bad("lease %s is negative", s.Lease)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sandbox %s: %w: %w", s.ID, ErrInvalidSpec, err)
	}
	return nil
}

// Validate reports a command that no runtime can be asked to run.
func (p Process) Validate() error {
	if len(p.Args) == 0 || p.Args[0] == "" {
		return fmt.Errorf("%w: no command is given", ErrInvalidSpec)
	}
	for _, a := range p.Args {
		if strings.IndexByte(a, 0) >= 0 {
			return fmt.Errorf("%w: an argument has a NUL byte", ErrInvalidSpec)
		}
	}
	if p.WorkDir != "" {
		if err := ValidPath(p.WorkDir); err != nil {
			return err
		}
	}
	return ValidEnv(p.Env)
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}
