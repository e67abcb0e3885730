//go:build !amd64

package evidence

var rareCalls []call

// openCalls are the calls that open files by name, of those gVisor has.
var openCalls = []string{"openat"}
