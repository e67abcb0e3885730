package activities

// For tests of the package as its users see it.
var (
	Ending      = ending
	ErrStopping = errStopping
	Damaged     = damaged
)

// RetryTable is which types are retried.
func RetryTable() map[string]bool { return retryable }

// Guarded runs f as Prepare and Evaluate run what looks at a candidate's bytes.
func Guarded(a *Activities, f func()) (err error) {
	defer a.guard("test", &err)
	f()
	return nil
}
