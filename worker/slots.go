package worker

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"

	"harness/eval"
)

// memoryShare is the part of the machine's memory that sandboxes may be promised.
const memoryShare = 0.85

// Slots is how many sandboxes of the given limits this machine runs at once. It
// follows from what is declared, not from the load of the moment, so two runs on
// one machine behave alike. At least one.
func Slots(l eval.Limits) int {
	return slots(l, runtime.NumCPU(), totalMemory())
}

func slots(l eval.Limits, cpus int, memory int64) int {
	n := int(float64(cpus) / l.CPUs)
	if memory > 0 {
		n = min(n, int(float64(memory)*memoryShare/float64(l.MemoryBytes)))
	}
	return max(1, n)
}

// totalMemory is the machine's memory in bytes, 0 when unknown.
func totalMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var kib int64
		if strings.HasPrefix(sc.Text(), "MemTotal:") {
			if _, err := fmt.Sscanf(sc.Text(), "MemTotal: %d kB", &kib); err == nil {
				return kib * eval.KiB
			}
		}
	}
	return 0
}
