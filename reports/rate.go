package reports

import "harness/scoring"

// Rate is a share with its uncertainty. Rate, Low and High are nil when Of is 0.
type Rate struct {
	Resolved int      `json:"resolved"`
	Of       int      `json:"of"`
	Rate     *float64 `json:"rate"`
	Low      *float64 `json:"low"`  // 95 % Wilson score interval
	High     *float64 `json:"high"` // its upper end
}

// newRate takes the counted attempts as independent, which several attempts at
// one task are not.
func newRate(resolved, of int) Rate {
	r := Rate{Resolved: resolved, Of: of}
	if of <= 0 {
		return r
	}
	low, high := scoring.Wilson(resolved, of)
	r.Rate, r.Low, r.High = some(float64(resolved)/float64(of)), &low, &high
	return r
}
