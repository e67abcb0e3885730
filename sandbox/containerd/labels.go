package containerd

import (
	"strconv"
	"time"

	"harness/internal/proc"
	"harness/sandbox"
)

// Labels on the lease and on the container of every sandbox. The lease is made
// first and deleted last, so whatever a crash leaves is found by its lease.
const (
	labelID      = "harness/id"
	labelOwner   = "harness/owner"
	labelTrial   = "harness/trial"
	labelImage   = "harness/image"
	labelHandler = "harness/handler"
	labelWorker  = "harness/worker"
	labelCreated = "harness/created"
	labelExpires = "harness/expires" // the authority on the lease's end; Renew moves it
	labelPid     = "harness/owner-pid"
	labelStart   = "harness/owner-start"
	labelBoot    = "harness/owner-boot"
)

// record is what the labels of a sandbox say.
type record struct {
	id, owner, trial, image string
	handler, worker         string
	created, expires        time.Time
	process                 proc.ID
}

func (r record) labels() map[string]string {
	return map[string]string{
		labelID: r.id, labelOwner: r.owner, labelTrial: r.trial, labelImage: r.image,
		labelHandler: r.handler, labelWorker: r.worker,
		labelCreated: stamp(r.created), labelExpires: stamp(r.expires),
		labelPid: strconv.Itoa(r.process.Pid), labelStart: strconv.FormatUint(r.process.Start, 10), labelBoot: r.process.Boot,
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// readRecord never fails: a label that is missing or damaged leaves a zero
// value, and a sandbox without times or owner counts as an expired orphan.
func readRecord(l map[string]string) record {
	r := record{id: l[labelID], owner: l[labelOwner], trial: l[labelTrial], image: l[labelImage], handler: l[labelHandler], worker: l[labelWorker]}
	r.created, _ = time.Parse(time.RFC3339Nano, l[labelCreated])
	r.expires, _ = time.Parse(time.RFC3339Nano, l[labelExpires])
	r.process.Pid, _ = strconv.Atoi(l[labelPid])
	r.process.Start, _ = strconv.ParseUint(l[labelStart], 10, 64)
	r.process.Boot = l[labelBoot]
	return r
}

// orphan: the process that made it is known to be gone. A process of another
// pid namespace can't be judged from here; its sandboxes fall to their expiry.
// After a reboot of the machine nothing lives on.
func (r record) orphan() bool {
	if r.process.Pid == 0 {
		return true
	}
	if !r.process.Local() {
		return !sameBoot(r.process.Boot, proc.Boot())
	}
	return !r.process.Alive()
}

func sameBoot(a, b string) bool {
	cut := func(s string) string {
		for i := range s {
			if s[i] == '/' {
				return s[:i]
			}
		}
		return s
	}
	return cut(a) == cut(b)
}

func (r record) matches(m sandbox.Match, now time.Time) bool {
	switch {
	case m.ID != "" && m.ID != r.id,
		m.Trial != "" && m.Trial != r.trial,
		m.Owner != "" && m.Owner != r.owner,
		m.Expired && now.Before(r.expires),
		m.Orphan && !r.orphan():
		return false
	}
	return true
}
