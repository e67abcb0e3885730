package preprocess

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"harness/eval"
)

// Options of Inspect. The zero value works.
type Options struct {
	// TestPatch is the diff that brings the hidden tests; candidates that touch its files are flagged.
	TestPatch []byte
	// MaxBytes is the largest patch that is looked at; 0 means that of the default limits.
	MaxBytes int64
}

// Report is what is known of a patch before anything runs it.
type Report struct {
	// Facts are those of the patch as sent. Counts are nil when they can't be told.
	Facts    eval.PatchFacts
	Findings Findings
	// Reject says that the patch must not reach any tool: it leaves its tree, can't be represented, or is too large.
	Reject bool
	// Reason is one sentence for people, set with Reject.
	Reason string
	// Files is the parsed patch, nil when it is too large.
	Files []File
}

// Inspect parses a patch and applies the path policy. It never fails: what is
// wrong with the patch is in the report.
func Inspect(patch []byte, opts Options) Report {
	size := int64(len(patch))
	sum := sha256.Sum256(patch)
	r := Report{Facts: eval.PatchFacts{SHA256: hex.EncodeToString(sum[:]), Bytes: &size}}

	limit := opts.MaxBytes
	if limit <= 0 {
		limit = eval.DefaultLimits().PatchBytes
	}
	if size > limit {
		r.Findings = Findings{{Rule: "patch_too_large", Severity: High, Reject: true,
			Detail: fmt.Sprintf("the patch has %d bytes, at most %d are allowed", size, limit)}}
		r.settle()
		return r
	}

	d, err := Parse(patch)
	r.Files = d.Files
	r.Findings = append(d.Problems, Check(d, Policy{TestPaths: testPaths(opts.TestPatch, limit)})...)
	if err != nil {
		r.Findings = append(r.Findings, Finding{Rule: "too_many_files", Severity: High, Reject: true, Detail: err.Error()})
	} else {
		r.count(d)
	}
	r.settle()
	return r
}

// count fills in the facts that a whole patch has.
func (r *Report) count(d *Diff) {
	names := make(map[string]struct{}, len(d.Files))
	added, removed := 0, 0
	for i := range d.Files {
		f := &d.Files[i]
		names[f.Name()] = struct{}{}
		added += f.Added
		removed += f.Removed
	}
	files := len(names)
	r.Facts.FilesChanged = &files
	if !d.Uncounted {
		r.Facts.LinesAdded, r.Facts.LinesRemoved = &added, &removed
	}
}

// settle derives the verdict and the flags from the findings.
func (r *Report) settle() {
	for _, f := range r.Findings {
		if word, ok := strings.CutPrefix(f.Rule, TamperPrefix); ok && !slices.Contains(r.Facts.TamperFlags, word) {
			r.Facts.TamperFlags = append(r.Facts.TamperFlags, word)
		}
	}
	slices.Sort(r.Facts.TamperFlags)
	if f := r.Findings.reason(); f != nil {
		r.Reject = true
		r.Reason = "the patch is rejected: " + f.String()
	}
}

// testPaths lists the files of a test patch under their old and new names.
func testPaths(patch []byte, limit int64) []string {
	if int64(len(patch)) > limit {
		patch = patch[:limit]
	}
	d, _ := Parse(patch) // a test patch with too many files names as many as could be read
	var out []string
	for i := range d.Files {
		for _, n := range [...]string{d.Files[i].OldName, d.Files[i].NewName} {
			if n != "" {
				out = append(out, n)
			}
		}
	}
	return out
}
