package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"harness/eval"
	"harness/sandbox"
)

// The files of the tests must be what the task says, whatever the candidate did
// before. They are in place from the start where the candidate can't reach them;
// nothing of it runs before the tests, so that seeing them is of no use to it.
// Those that it can reach come behind its patch or solution.

// testFiles are the eval script and the files that the task brings.
func (r *runner) testFiles() []sandbox.File {
	return append(files(r.in.Files), sandbox.File{Path: evalPath, Mode: 0o755, Data: []byte(r.in.Script)})
}

func files(list []eval.TaskFile) []sandbox.File {
	out := make([]sandbox.File, 0, len(list)+1)
	for _, f := range list {
		out = append(out, sandbox.File{Path: f.Path, Mode: fs.FileMode(f.Mode).Perm(), Data: f.Data})
	}
	return out
}

// reached reports whether the candidate can change a file of this path: with a
// patch below its folder, with a solution anywhere.
func (r *runner) reached(path string) bool {
	switch dir := r.in.WorkDir; {
	case r.in.Solution != nil:
		return true
	case r.in.Patch == nil:
		return false
	default:
		return dir == "" || dir == "/" || strings.HasPrefix(path, dir+"/")
	}
}

// bring copies in the files that the candidate could reach. If what it left does
// not let them in, the candidate counts as not applied.
func (r *runner) bring(ctx context.Context, sb sandbox.Sandbox, log io.Writer) error {
	for _, f := range r.testFiles() {
		if !r.reached(f.Path) {
			continue
		}
		err := sb.CopyIn(ctx, f.Path, f.Mode, int64(len(f.Data)), bytes.NewReader(f.Data))
		if errors.Is(err, sandbox.ErrInside) {
			r.out.Applied, r.out.ApplyMethod = false, ""
			fmt.Fprintf(log, "\nthe tests can't be put in place: %v\n", err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("bring the tests of %s: %w", r.in.Trial, err)
		}
	}
	return nil
}
