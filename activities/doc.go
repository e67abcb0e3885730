// Package activities holds the Temporal activities of the evaluation loop and
// the payloads they share with the workflows: parse and plan, preprocess,
// execute, evaluate, report.
//
// Activities are thin: they load by reference, call the package that owns the
// matter, store, and return a small value. They know the contracts of sandbox
// and artifacts, never a driver.
package activities
