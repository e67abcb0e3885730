package fetch

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

const (
	schemeHub = "hf"
	schemeS3  = "s3"
)

// Address is where a dataset lives.
type Address struct {
	Scheme   string
	Repo     string // of the hub: org/name
	Revision string // of the hub: branch, tag or commit; "main" when none is given
	Path     string // behind the repository: a split, a configuration, both, or a file; "" for none
	raw      string
}

// String is the address as it was given.
func (a Address) String() string { return a.raw }

// AddressError is for an address that can't be fetched as it stands: the reason
// says what to write, or which right is missing.
type AddressError struct {
	Address string
	Reason  string
}

func (e *AddressError) Error() string { return "fetch " + e.Address + ": " + e.Reason }

func refuse(address, format string, args ...any) error {
	return &AddressError{Address: address, Reason: fmt.Sprintf(format, args...)}
}

// IsAddress tells an address from a path or a name.
func IsAddress(s string) bool { return strings.Contains(s, "://") }

// How long a name may be is no part of its grammar: every start of the program
// would compile as many repetitions.
const (
	maxRepoPart = 96
	maxRevision = 255
)

var (
	repoPart = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	revision = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+-]*$`)
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// Parse reads hf://org/name[@revision][/PATH] or s3://bucket/prefix. A revision
// may be written refs/pr/1 or refs%2Fpr%2F1.
func Parse(raw string) (Address, error) {
	scheme, rest, found := strings.Cut(raw, "://")
	switch {
	case !found:
		return Address{}, refuse(raw, "it is no address; write hf://org/name or s3://bucket/prefix")
	case scheme == schemeS3 && strings.Trim(strings.SplitN(rest, "?", 2)[0], "/") == "":
		return Address{}, refuse(raw, "want s3://bucket/prefix")
	case scheme == schemeS3:
		return Address{Scheme: schemeS3, raw: raw}, nil
	case scheme == "https" && strings.HasPrefix(rest, "huggingface.co/datasets/"):
		return Address{}, refuse(raw, "that is the page of a dataset; write hf://org/name[@revision][/split]")
	case scheme != schemeHub:
		return Address{}, refuse(raw, "%s:// is not supported; write hf://org/name or s3://bucket/prefix, or fetch the file and give its path", scheme)
	}
	if strings.ContainsAny(rest, "?#") {
		return Address{}, refuse(raw, "? and # have no meaning in it")
	}
	// The form that pandas, Polars and DuckDB use names the kind of repository.
	rest = strings.TrimPrefix(rest, "datasets/")
	parts := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	for i, p := range parts {
		text, err := url.PathUnescape(p)
		if err != nil || text == "" || text == "." || text == ".." || strings.ContainsAny(text, "\x00\\") {
			return Address{}, refuse(raw, "part %q can't be read; write hf://org/name[@revision][/split]", p)
		}
		parts[i] = text
	}
	if len(parts) < 2 {
		return Address{}, refuse(raw, "want hf://org/name[@revision][/split]")
	}
	name, rev, given := strings.Cut(parts[1], "@")
	path := parts[2:]
	switch {
	case !given:
		rev = "main"
	case rev == "refs" && len(path) >= 2:
		rev, path = strings.Join(append([]string{rev}, path[:2]...), "/"), path[2:]
	}
	if max(len(parts[0]), len(name)) > maxRepoPart || !repoPart.MatchString(parts[0]) || !repoPart.MatchString(name) {
		return Address{}, refuse(raw, "%q is not the name of a repository", parts[0]+"/"+name)
	}
	if len(rev) > maxRevision || !revision.MatchString(rev) || strings.Contains(rev, "..") || strings.Contains(rev, "//") {
		return Address{}, refuse(raw, "%q can't be a revision; give a branch, a tag or a commit", rev)
	}
	return Address{Scheme: schemeHub, Repo: parts[0] + "/" + name, Revision: rev, Path: strings.Join(path, "/"), raw: raw}, nil
}

// pinned is the hub address of path at a commit.
func (a Address) pinned(commit, path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.TrimSuffix("hf://"+a.Repo+"@"+commit+"/"+strings.Join(segments, "/"), "/")
}
