// Package faults holds the fault suite: the real harness is run, one of its
// parts is killed in the middle of an evaluation, and the run must still end in
// the table of an undisturbed one, with nothing left on the machine.
//
// It owns no code of the harness, only tests (build tag e2e). It talks to the
// command and looks at stored files and processes, as a person would; it needs
// root, the pinned tools and some minutes.
//
//	HARNESS_FAULTS=full go test -tags e2e -timeout 60m -v ./internal/faults
//
// strikes with every fault at every moment of a run; without the variable each
// fault strikes once.
package faults
