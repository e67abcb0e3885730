package scoring

import "math"

// Wilson returns the 95 % score interval of E. B. Wilson (1927), "Probable
// inference, the law of succession, and statistical inference", for k of n,
// without continuity correction: it stays inside [0,1] and works for small n and
// shares of 0 and 1. It takes what is counted as independent. n must be above 0.
func Wilson(k, n int) (low, high float64) {
	const z = 1.959963984540054 // the 97.5 % quantile of the normal distribution
	p, m := float64(k)/float64(n), float64(n)
	centre := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	low, high = max(0, centre-half), min(1, centre+half)
	// Exactly, where rounding leaves a trace.
	if k == 0 {
		low = 0
	}
	if k == n {
		high = 1
	}
	return low, high
}
