package fetch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"harness/datasets/internal/layout"
	"harness/datasets/internal/source"
)

// listing is what a repository of the hub holds at one commit.
type listing struct {
	Commit  string   `json:"commit"`
	Files   []entry  `json:"files"`
	Configs []config `json:"configs,omitempty"`

	splits   []layout.Split // what offered returns; nil when it was not asked yet
	standard string         // likewise
}

// entry is one file.
type entry struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	// SHA256 of the content where the hub names it, else GitID: the SHA-1 that git
	// computes over a header and the content.
	SHA256 string `json:"sha256,omitempty"`
	GitID  string `json:"git_id,omitempty"`
}

func (l *listing) paths() []string {
	var out []string
	for _, e := range l.Files {
		out = append(out, e.Path)
	}
	return out
}

// maxPages and maxEntries bound the listing of a repository.
const (
	maxPages   = 1000
	maxEntries = 200_000
)

// revisionInfo is what the hub says of a revision.
type revisionInfo struct {
	Commit string          `json:"sha"`
	Card   json.RawMessage `json:"cardData"`
}

// configs are those that the card declares. People write cards: one that can't be
// read declares nothing.
func (r *revisionInfo) configs() []config {
	var card struct {
		Configs []config `json:"configs"`
	}
	if json.Unmarshal(r.Card, &card) != nil {
		return nil
	}
	return card.Configs
}

func (f *Fetcher) fetchHub(ctx context.Context, a Address, split string) (*Result, error) {
	c, l, err := f.look(ctx, a)
	if err != nil {
		return nil, err
	}
	chosen, err := l.choose(a, split)
	if err != nil {
		return nil, err
	}
	dir := f.snapshot(c, a, l.Commit)
	files := make([]entry, 0, len(chosen.Files))
	listed := make(map[string]entry, len(l.Files))
	for _, e := range l.Files {
		listed[e.Path] = e
	}
	for _, name := range chosen.Files {
		files = append(files, listed[name])
	}
	if err := f.checkSize(a, files); err != nil {
		return nil, err
	}
	for _, e := range files {
		if err := f.bring(ctx, c.wait, dir, e, e.content(), a.pinned(l.Commit, e.Path), f.fromHub(c, a, l.Commit, e)); err != nil {
			return nil, faultOf(a, err)
		}
	}
	_, name, _ := strings.Cut(a.Repo, "/")
	return &Result{Dir: dir, Files: chosen.Files, Name: name, Split: chosen.Name, Source: l.address(a, chosen)}, nil
}

func (f *Fetcher) listHub(ctx context.Context, a Address) ([]Item, error) {
	_, l, err := f.look(ctx, a)
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64, len(l.Files))
	for _, e := range l.Files {
		sizes[e.Path] = e.Size
	}
	var out []Item
	splits, _ := l.offered()
	for _, s := range splits {
		if a.Path == "" || a.Path == s.Config || a.Path == s.Name || a.Path == s.Config+"/"+s.Name || slices.Contains(s.Files, a.Path) {
			out = append(out, item(&s, sizes, l.address(a, &s)))
		}
	}
	if len(out) == 0 {
		return nil, l.nothing(a)
	}
	return out, nil
}

// look finds out what the repository holds at the address's revision.
func (f *Fetcher) look(ctx context.Context, a Address) (*client, *listing, error) {
	c, err := f.client()
	if err != nil {
		return nil, nil, err
	}
	l, err := f.listing(ctx, c, a)
	if err != nil {
		return nil, nil, err
	}
	return c, l, l.checkCard(a)
}

// listing finds the commit that the revision stands for, and what it holds.
func (f *Fetcher) listing(ctx context.Context, c *client, a Address) (*listing, error) {
	if commitID.MatchString(a.Revision) {
		if l := f.cachedListing(c, a, a.Revision); l != nil {
			return l, nil
		}
	}
	if f.Offline {
		return f.lastSeen(c, a, errors.New("HF_HUB_OFFLINE is set"))
	}
	api := c.hub.String() + "/api/datasets/" + a.Repo
	var info revisionInfo
	_, err := c.json(ctx, api+"/revision/"+url.PathEscape(a.Revision), &info)
	if err != nil {
		err = faultOf(a, err)
		if ctx.Err() != nil || errors.As(err, new(*AddressError)) {
			return nil, err
		}
		return f.lastSeen(c, a, err)
	}
	if !commitID.MatchString(info.Commit) {
		return nil, fmt.Errorf("fetch %s: the hub names no commit for revision %s", a, a.Revision)
	}
	if l := f.cachedListing(c, a, info.Commit); l != nil {
		return l, f.remember(c, a, l)
	}
	l := &listing{Commit: info.Commit, Configs: info.configs()}
	if l.Files, err = c.tree(ctx, api+"/tree/"+info.Commit+"?recursive=true"); err != nil {
		return nil, faultOf(a, err)
	}
	return l, f.remember(c, a, l)
}

// tree lists all files of a commit.
func (c *client) tree(ctx context.Context, address string) ([]entry, error) {
	var out []entry
	for range maxPages {
		var page []struct {
			Type string `json:"type"`
			Path string `json:"path"`
			Size int64  `json:"size"`
			OID  string `json:"oid"`
			LFS  *struct {
				OID  string `json:"oid"`
				Size int64  `json:"size"`
			} `json:"lfs"`
		}
		next, err := c.json(ctx, address, &page)
		if err != nil {
			return nil, err
		}
		for _, p := range page {
			if p.Type != "file" {
				continue
			}
			e := entry{Path: p.Path, Size: p.Size, GitID: p.OID}
			if p.LFS != nil {
				e.Size, e.SHA256, e.GitID = p.LFS.Size, strings.TrimPrefix(p.LFS.OID, "sha256:"), ""
			}
			if err := e.check(); err != nil {
				return nil, permanentError{err}
			}
			out = append(out, e)
		}
		if len(out) > maxEntries {
			return nil, permanentError{fmt.Errorf("it has more than %d files", maxEntries)}
		}
		if next == "" {
			return out, nil
		}
		address = next
	}
	return nil, permanentError{fmt.Errorf("its listing has more than %d pages", maxPages)}
}

var (
	sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)
	sha1Hex   = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// check refuses what a hub should never list: the path becomes one on this machine.
func (e *entry) check() error {
	switch {
	case !filepath.IsLocal(filepath.FromSlash(e.Path)) || path.Clean(e.Path) != e.Path || strings.ContainsAny(e.Path, "\x00\\") || len(e.Path) > 1000:
		return fmt.Errorf("the hub lists a file named %.100q, which is refused", e.Path)
	case e.Size < 0:
		return fmt.Errorf("the hub says that file %.100q has %d bytes", e.Path, e.Size)
	case e.SHA256 != "" && !sha256Hex.MatchString(e.SHA256), e.SHA256 == "" && !sha1Hex.MatchString(e.GitID):
		return fmt.Errorf("the hub names no digest for file %.100q", e.Path)
	}
	return nil
}

// choose finds the split that the address and split mean together. Which is
// meant is never guessed.
func (l *listing) choose(a Address, split string) (*layout.Split, error) {
	splits, standard := l.offered()
	// A file by its path comes first: it is what the form of other tools means.
	if slices.ContainsFunc(l.Files, func(e entry) bool { return e.Path == a.Path }) {
		n := source.ParseName(a.Path)
		if n.Format == "" {
			return nil, refuse(a.raw, "%s does not say what it holds; the file must be .jsonl, .json, .csv or .parquet (.gz and .zst too)", a.Path)
		}
		if _, index, of, ok := layout.Shard(n.Stem); ok && of != 1 {
			return nil, refuse(a.raw, "the file is shard %d of %d only; name the split in place of the file", index, of)
		}
		return &layout.Split{Name: split, Files: []string{a.Path}}, nil
	}
	var found []layout.Split
	for _, s := range splits {
		inConfig := a.Path == s.Config || a.Path == "" && s.Config == standard
		named := a.Path == s.Config+"/"+s.Name || a.Path == s.Name && s.Config == standard
		if named && (split == "" || split == s.Name) || inConfig && (split == "" || split == s.Name) {
			found = append(found, s)
		}
	}
	// A split of that name in the standard configuration is meant rather than a configuration.
	if i := slices.IndexFunc(found, func(s layout.Split) bool { return s.Name == a.Path && s.Config == standard }); i >= 0 {
		found = found[i : i+1]
	}
	switch len(found) {
	case 0:
		if a.Path == "" && standard == "" && len(splits) > 0 {
			return nil, refuse(a.raw, "it has several configurations (%s); name one behind the revision: %s", strings.Join(layout.Configs(splits), ", "), a.pinned(l.Commit, layout.Configs(splits)[0]))
		}
		if split != "" {
			a.Path = path.Join(a.Path, split)
		}
		return nil, l.nothing(a)
	case 1:
		if err := found[0].Err(); err != nil {
			return nil, refuse(a.raw, "%s", err)
		}
		return &found[0], nil
	}
	return nil, refuse(a.raw, "it has several splits (%s); name one with --split or in the address: %s", strings.Join(layout.Names(found), ", "), l.address(a, &found[0]))
}

// nothing says what there is in place of what was asked for.
func (l *listing) nothing(a Address) error {
	splits, _ := l.offered()
	if len(splits) == 0 {
		return refuse(a.raw, "commit %s has no .jsonl, .json, .csv or .parquet file (datasets that are made by a script are not supported: nothing of a repository is ever run)", l.Commit)
	}
	var names []string
	for _, s := range splits {
		names = append(names, s.Config+"/"+s.Name)
	}
	if more := len(names) - 30; more > 0 {
		names = append(names[:30], fmt.Sprintf("and %d more", more))
	}
	return refuse(a.raw, "commit %s has no split, configuration or file %q; there is %s", l.Commit, a.Path, strings.Join(names, ", "))
}

// standardConfig is the configuration that is meant when none is named, "" when
// that is not evident.
func standardConfig(splits []layout.Split, declared []config) string {
	for _, c := range declared {
		if c.Default {
			return c.Name
		}
	}
	names := layout.Configs(splits)
	if len(names) == 1 || slices.Contains(names, layout.DefaultConfig) && len(declared) == 0 {
		return cmp.Or(map[bool]string{true: names[0]}[len(names) == 1], layout.DefaultConfig)
	}
	if slices.Contains(names, layout.DefaultConfig) {
		return layout.DefaultConfig
	}
	return ""
}

// address names a split at the commit that was listed.
func (l *listing) address(a Address, s *layout.Split) string {
	_, standard := l.offered()
	switch {
	case s.Config == "": // a file by its path
		return a.pinned(l.Commit, s.Files[0])
	case s.Config == standard:
		return a.pinned(l.Commit, s.Name)
	}
	return a.pinned(l.Commit, s.Config+"/"+s.Name)
}

// faultOf says of an answer of the hub what it means for the address.
func faultOf(a Address, err error) error {
	var status *statusError
	if !errors.As(err, &status) {
		return fmt.Errorf("fetch %s: %w", a, err)
	}
	said := ""
	if status.message != "" {
		said = fmt.Sprintf(" (the hub says: %s)", status.message)
	}
	switch {
	case status.kind == "GatedRepo" || status.code == http.StatusForbidden:
		return refuse(a.raw, "access to it is restricted: accept its terms on its page on the hub, and set HF_TOKEN to a token of that account%s", said)
	case status.code == http.StatusUnauthorized:
		return refuse(a.raw, "it does not exist, or is private, or HF_TOKEN is not valid: check the name, and set HF_TOKEN to a token that may read it%s", said)
	case status.code == http.StatusNotFound && status.kind == "RevisionNotFound":
		return refuse(a.raw, "it has no revision %q%s", a.Revision, said)
	case status.code == http.StatusNotFound && status.kind == "EntryNotFound":
		return refuse(a.raw, "the file is not there%s", said)
	case status.code == http.StatusNotFound:
		return refuse(a.raw, "the hub has no dataset %s, or no revision %s of it%s", a.Repo, a.Revision, said)
	}
	return fmt.Errorf("fetch %s: %w", a, err)
}
