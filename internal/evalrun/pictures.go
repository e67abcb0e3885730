package evalrun

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"harness/datasets"
	"harness/datasets/evalscript"
	"harness/datasets/fetch"
	"harness/eval"
	"harness/internal/cli"
)

const (
	// maxPicture is the most that a file of a task may hold.
	maxPicture = 16 << 20
	// maxPictures bounds what is held in memory of one dataset.
	maxPictures = 1 << 30
	// shownPictures is how many failures are told one by one.
	shownPictures = 20
)

// fetchPictures gives tasks the pictures of their patches that they only name by
// address. When one can't be had, all that can't are named, and the error says
// how to leave their tasks out.
func fetchPictures(ctx context.Context, app *cli.App, f *fetch.Fetcher, tasks []eval.Task, filter string) error {
	var failures []string
	var without []string // tasks
	count, total, given := 0, int64(0), 0
	for i := range tasks {
		t := &tasks[i]
		missing := datasets.MissingPictures(t)
		if len(missing) == 0 {
			continue
		}
		app.Note("fetching %s of %s", cli.Count(len(missing), "picture"), t.InstanceID)
		failed := len(failures)
		for _, a := range missing {
			p, err := picture(ctx, f, t, a)
			if errors.As(err, new(*fetch.AddressError)) {
				failures = append(failures, fmt.Sprintf("%s: %s: %v", t.InstanceID, a.Path, err))
				continue
			}
			if err != nil {
				return fmt.Errorf("task %s: picture %s: %w", t.InstanceID, a.Path, err)
			}
			count++
			if total += p.Size; total > maxPictures {
				return cli.Usage("the pictures hold more than %s, which is the most for one import; import a part with -i or --filter", cli.Size(maxPictures))
			}
		}
		if given++; len(failures) > failed {
			without = append(without, t.InstanceID)
		}
	}
	if len(failures) == 0 {
		app.Note("%s for %s, %s", cli.Count(count, "picture"), cli.Count(given, "task"), cli.Size(total))
		return nil
	}
	text := fmt.Sprintf("%s can't be had, so nothing is imported:\n  %s", cli.Count(len(failures), "picture"), strings.Join(failures[:min(shownPictures, len(failures))], "\n  "))
	if more := len(failures) - shownPictures; more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return errors.New(text + leaveOut(without, filter, len(tasks)))
}

func picture(ctx context.Context, f *fetch.Fetcher, t *eval.Task, a eval.Asset) (*fetch.Picture, error) {
	if a.URL == "" {
		return nil, &fetch.AddressError{Address: a.Path, Reason: "the row gives no address for it"}
	}
	p, err := f.Picture(ctx, a.URL, maxPicture)
	if err != nil {
		return nil, err
	}
	return p, datasets.AddPicture(t, a, p.Data)
}

// withFilter adds to the error of tasks that can't be executed how to run the others.
func withFilter(err error, filter string, total int) error {
	var u *datasets.UnrunnableError
	if !errors.As(err, &u) {
		return err
	}
	return fmt.Errorf("%w%s", err, leaveOut(u.IDs(), filter, total))
}

// maxFilterIDs is how many ids a filter is written out for.
const maxFilterIDs = 50

// leaveOut is a line that says how to select the tasks but these ids, "" when there
// are no others.
func leaveOut(ids []string, filter string, total int) string {
	rest := total - len(ids)
	switch {
	case rest == 0:
		return ""
	case len(ids) > maxFilterIDs:
		return fmt.Sprintf("\nselect the other %d with -i or --filter; `harness dataset validate --json` names these (not_runnable_tasks)", rest)
	}
	quoted := make([]string, len(ids))
	for i, id := range ids {
		quoted[i] = `"` + id + `"`
	}
	condition := "instance_id not in [" + strings.Join(quoted, ", ") + "]"
	if strings.TrimSpace(filter) != "" {
		condition = "(" + filter + ") and " + condition
	}
	return fmt.Sprintf("\nto go on with the other %d: --filter %s", rest, evalscript.Quote(condition))
}
