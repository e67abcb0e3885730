// Package runs is what a person does with runs: plan one from a dataset and a
// candidate, start it, follow it, stop it, list what is stored.
//
// It owns the frozen spec and how a run is found again. The artifact store is
// the record: only starting and steering need Temporal.
package runs
