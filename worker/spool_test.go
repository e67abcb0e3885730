package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"harness/internal/proc"
)

func TestClearSpool(t *testing.T) {
	home := t.TempDir()
	self := proc.Self()
	old := time.Now().Add(-48 * time.Hour)
	for _, c := range []struct {
		name string
		aged bool
		gone bool
	}{
		{filepath.Base(spoolDir(home)), true, false},
		{fmt.Sprintf("%d-%d-%08x", self.Pid, self.Start+1, bootHash()), false, true}, // the number was used again
		{fmt.Sprintf("%d-%d-%08x", 1<<22+1, 7, bootHash()), false, true},
		{fmt.Sprintf("%d-%d-%08x", self.Pid, self.Start, bootHash()+1), false, false},
		{fmt.Sprintf("%d-%d-%08x", self.Pid, self.Start, bootHash()+2), true, true},
		{"something-else", false, false},
	} {
		dir := filepath.Join(spools(home), c.name)
		if err := os.MkdirAll(filepath.Join(dir, "report"), 0o755); err != nil {
			t.Fatal(err)
		}
		if c.aged {
			if err := os.Chtimes(dir, old, old); err != nil {
				t.Fatal(err)
			}
		}
		if err := ClearSpool(home); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); os.IsNotExist(err) != c.gone {
			t.Errorf("%s: %v, want gone %t", c.name, err, c.gone)
		}
	}
	if err := ClearSpool(t.TempDir()); err != nil {
		t.Errorf("a home without a spool: %v", err)
	}
}
