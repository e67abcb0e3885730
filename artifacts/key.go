package artifacts

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxKeyBytes is the longest key. S3 allows 1,024; the rest is left to a bucket prefix.
	MaxKeyBytes = 900
	// MaxPartBytes is the longest path part: what file systems hold.
	MaxPartBytes = 255
	// ReservedDir is the first path part under which drivers keep what is not an
	// object. No key may start with it and no listing shows it.
	ReservedDir = ".harness-tmp"
)

// CheckKey accepts a relative, clean, slash-separated path of printable UTF-8:
// at most MaxKeyBytes in all and MaxPartBytes a part, without empty, "." or ".."
// parts, backslashes, or ReservedDir in front. What it accepts, every driver can
// hold. The error wraps ErrBadKey.
func CheckKey(key string) error {
	bad := func(format string, args ...any) error {
		shown := key
		if len(shown) > 80 {
			shown = shown[:80] + "..."
		}
		return fmt.Errorf("%w %q: %s", ErrBadKey, shown, fmt.Sprintf(format, args...))
	}
	switch {
	case key == "":
		return bad("it is empty")
	case len(key) > MaxKeyBytes:
		return bad("it has %d bytes, at most %d are allowed", len(key), MaxKeyBytes)
	case !utf8.ValidString(key):
		return bad("it is not valid UTF-8")
	}
	for _, r := range key {
		if !unicode.IsPrint(r) || r == '\\' || r == utf8.RuneError {
			return bad("character %U is not allowed", r)
		}
	}
	first := true
	for part := range strings.SplitSeq(key, "/") {
		switch {
		case part == "":
			return bad("it has an empty path part")
		case part == "." || part == "..":
			return bad("%q is not allowed as a path part", part)
		case len(part) > MaxPartBytes:
			return bad("a path part has %d bytes, at most %d are allowed", len(part), MaxPartBytes)
		case first && part == ReservedDir:
			return bad("%q is reserved", ReservedDir)
		}
		first = false
	}
	return nil
}

// CheckPrefix accepts "", a key, or a key followed by one slash.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	return CheckKey(strings.TrimSuffix(prefix, "/"))
}

// CheckDir accepts what Dirs takes: "" or a key followed by one slash.
func CheckDir(prefix string) error {
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		return fmt.Errorf("%w %q: a folder ends in \"/\"", ErrBadKey, prefix)
	}
	return CheckPrefix(prefix)
}
