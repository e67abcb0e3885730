// Package worker is the composition root of a process: configuration becomes
// drivers, drivers become activities, and both task queues are polled.
//
// It owns wiring and life cycle: what is opened here is closed here. It holds no
// rules of evaluation.
package worker
