// Package eval is the vocabulary of the harness: tasks, predictions, trials,
// outcomes, limits, results, ids and the key layout of a run.
//
// It owns what the words mean. It knows nothing of files, networks, Temporal
// or containers: standard library only, no I/O, no clock.
package eval
