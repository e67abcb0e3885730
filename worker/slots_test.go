package worker

import (
	"testing"

	"harness/eval"
)

func limits(cpus float64, memory int64) eval.Limits {
	return eval.Limits{CPUs: cpus, MemoryBytes: memory}
}

func TestSlots(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits eval.Limits
		cpus   int
		memory int64
		want   int
	}{
		{"cores bound", limits(1, eval.GiB), 4, 64 * eval.GiB, 4},
		{"memory bounds", limits(1, 4*eval.GiB), 16, 24 * eval.GiB, 5},
		{"shares of a core", limits(0.5, eval.GiB), 2, 64 * eval.GiB, 4},
		{"never none", limits(8, 64*eval.GiB), 2, 8 * eval.GiB, 1},
		{"memory not known", limits(1, 64*eval.GiB), 2, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := slots(c.limits, c.cpus, c.memory); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestSlotsFor(t *testing.T) {
	small, large, huge := limits(1, 4*eval.GiB), limits(1, 16*eval.GiB), limits(1, 64*eval.GiB)
	for _, c := range []struct {
		name   string
		limits []eval.Limits
		cpus   int
		want   int
	}{
		{"alike", []eval.Limits{small, small, small, small, small, small, small}, 16, 5},
		{"one large", []eval.Limits{small, large, small, small}, 16, 2},
		{"cores bound", []eval.Limits{small, small, small}, 2, 2},
		{"all fit", []eval.Limits{small, small}, 16, 2},
		{"one does not fit", []eval.Limits{small, huge}, 16, 0},
		{"none asked", nil, 16, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := slotsFor(c.limits, c.cpus, 24*eval.GiB); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
