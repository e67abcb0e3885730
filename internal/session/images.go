package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	containerd "github.com/containerd/containerd/v2/client"
	"golang.org/x/sync/errgroup"

	"harness/sandbox"
	"harness/sandbox/image"
)

// imageLookups is how many images are looked up at once.
const imageLookups = 8

// MissingImages returns which of refs this machine's image store lacks, in their
// order; none for a session whose sandboxes run elsewhere. What can't be told is
// not missing: the trials that need it will say more.
func (s *Session) MissingImages(ctx context.Context, refs []string) ([]string, error) {
	if s.containerd == "" {
		return nil, nil
	}
	cl, err := containerd.New(s.containerd)
	if err != nil {
		return nil, fmt.Errorf("look for images: %w", err)
	}
	defer cl.Close()
	store := image.NewStore(cl)
	var mu sync.Mutex
	absent := map[string]bool{}
	var g errgroup.Group
	g.SetLimit(imageLookups)
	for _, ref := range refs {
		g.Go(func() error {
			if _, err := store.Resolve(ctx, ref); errors.Is(err, sandbox.ErrImageNotFound) {
				mu.Lock()
				defer mu.Unlock()
				absent[ref] = true
			}
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var missing []string
	for _, ref := range refs {
		if absent[ref] {
			missing = append(missing, ref)
		}
	}
	return missing, nil
}
