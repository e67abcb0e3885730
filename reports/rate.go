package reports

import "math"

// Rate is a share with its uncertainty. Rate, Low and High are nil when Of is 0.
type Rate struct {
	Resolved int      `json:"resolved"`
	Of       int      `json:"of"`
	Rate     *float64 `json:"rate"`
	Low      *float64 `json:"low"`  // 95 % Wilson score interval
	High     *float64 `json:"high"` // its upper end
}

// newRate computes the interval of E. B. Wilson (1927), "Probable inference, the
// law of succession, and statistical inference", without continuity correction:
// it stays inside [0,1] and works for small n and shares of 0 and 1. It takes
// the counted attempts as independent, which several attempts at one task are not.
func newRate(resolved, of int) Rate {
	r := Rate{Resolved: resolved, Of: of}
	if of <= 0 {
		return r
	}
	const z = 1.959963984540054 // the 97.5 % quantile of the normal distribution
	n := float64(of)
	p := float64(resolved) / n
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	r.Rate = &p
	r.Low = some(max(0, centre-half))
	r.High = some(min(1, centre+half))
	if resolved == 0 {
		r.Low = some(0.0) // exactly, where rounding leaves a trace
	}
	if resolved == of {
		r.High = some(1.0)
	}
	return r
}
