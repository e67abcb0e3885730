package worker

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"slices"
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

// SlotsFor is Slots for trials of different limits: the largest number of which
// any choice fits. 0 says that not even each one alone does.
func SlotsFor(limits []eval.Limits) int {
	return slotsFor(limits, runtime.NumCPU(), totalMemory())
}

func slotsFor(limits []eval.Limits, cpus int, memory int64) int {
	cores, bytes := make([]float64, len(limits)), make([]float64, len(limits))
	for i, l := range limits {
		cores[i], bytes[i] = l.CPUs, float64(l.MemoryBytes)
	}
	n := largestThatFit(cores, float64(cpus))
	if memory > 0 {
		n = min(n, largestThatFit(bytes, float64(memory)*memoryShare))
	}
	return n
}

// largestThatFit is how many of the largest amounts fit into the budget.
func largestThatFit(amounts []float64, budget float64) int {
	slices.Sort(amounts)
	n := 0
	for _, a := range slices.Backward(amounts) {
		if budget -= a; budget < 0 {
			break
		}
		n++
	}
	return n
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
