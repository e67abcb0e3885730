package evidence

import "time"

// pacer holds reading down to a rate. While it sleeps the sentry's socket fills up,
// and the sentry drops and counts: a flood costs the sandbox its evidence, not the
// host its CPU.
type pacer struct {
	perWindow int
	now       func() time.Time
	sleep     func(time.Duration)
	start     time.Time
	n         int
	slept     int64 // windows that were full
}

// paceWindow is short, so that a burst that was stopped goes on soon.
const paceWindow = 50 * time.Millisecond

func newPacer(perSecond int, now func() time.Time, sleep func(time.Duration)) *pacer {
	return &pacer{perWindow: max(1, perSecond/int(time.Second/paceWindow)), now: now, sleep: sleep}
}

// step is called once a message.
func (p *pacer) step() {
	if p.n++; p.n < p.perWindow {
		return
	}
	now := p.now()
	if rest := paceWindow - now.Sub(p.start); rest > 0 && rest <= paceWindow {
		p.slept++
		p.sleep(rest)
		now = p.now()
	}
	p.start, p.n = now, 0
}
