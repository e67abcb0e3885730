package scoring_test

import (
	"math"
	"testing"

	"harness/scoring"
)

// The values were computed apart from this code, with double precision.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 1, 0, 0.7934507}, {1, 1, 0.2065493, 1}, {0, 3, 0, 0.5614970}, {1, 2, 0.0945312, 0.9054688},
		{1, 3, 0.0614919, 0.7923404}, {1, 10, 0.0178762, 0.4041500}, {500, 1000, 0.4690696, 0.5309304},
	} {
		low, high := scoring.Wilson(c.k, c.n)
		if math.Abs(low-c.low) > 1e-6 || math.Abs(high-c.high) > 1e-6 {
			t.Errorf("Wilson(%d, %d) = %.7f, %.7f, want %.7f, %.7f", c.k, c.n, low, high, c.low, c.high)
		}
	}
}
