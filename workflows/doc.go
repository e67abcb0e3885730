// Package workflows makes a run durable: Run starts shards, a Shard keeps a
// window of tasks going, a Task goes round parse, preprocess, execute, evaluate.
//
// It owns the order of things, their ids, time limits, queries and updates. It
// does no I/O, reads no clock and holds no logs or patches: all of that is done
// by activities, by reference.
package workflows
