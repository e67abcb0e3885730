package worker

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"harness/internal/proc"
)

// foreignSpool is how long the spool of a process is left alone that belongs to
// another boot or pid namespace, so that nobody can tell whether it lives.
const foreignSpool = 24 * time.Hour

func spools(home string) string { return filepath.Join(home, "spool") }

// spoolDir is this process's own folder for files that are only worth something
// while it lives: logs and tables that are being written. Its name tells whose it
// is, so that others can remove it when the process was killed.
func spoolDir(home string) string {
	self := proc.Self()
	return filepath.Join(spools(home), fmt.Sprintf("%d-%d-%08x", self.Pid, self.Start, bootHash()))
}

func bootHash() uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(proc.Boot())) // never fails
	return h.Sum32()
}

// ClearSpool removes what dead workers left in the spool of a data folder.
func ClearSpool(home string) error {
	ents, err := os.ReadDir(spools(home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("clear the spool: %w", err)
	}
	var errs []error
	for _, e := range ents {
		if !spoolIsDead(e) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(spools(home), e.Name())); err != nil {
			errs = append(errs, fmt.Errorf("clear the spool: %w", err))
		}
	}
	return errors.Join(errs...)
}

func spoolIsDead(e fs.DirEntry) bool {
	var id proc.ID
	var boot uint32
	_, err := fmt.Sscanf(e.Name(), "%d-%d-%x", &id.Pid, &id.Start, &boot)
	if err == nil && boot == bootHash() {
		id.Boot = proc.Boot()
		return !id.Alive()
	}
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) > foreignSpool
}
