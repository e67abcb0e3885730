package logparse

// parsePro reads what a parser of SWE-bench Pro wrote: {"tests": [{"name": ...,
// "status": "PASSED"}]}. Those parsers belong to the tasks and run in the sandbox.
func parsePro(in *input) error {
	words := map[string]string{"PASSED": Passed, "FAILED": Failed, "SKIPPED": Skipped, "ERROR": Error}
	s := &jsonScan{byteScan: in.bytes(), want: []string{"name", "status"}}
	s.object = func(path []string, f jsonFields) {
		if status, ok := words[f.text("status")]; ok && f["name"] != nil && len(path) == 2 && pathEnds(path, "tests", "") {
			in.out.Set(f.text("name"), status)
		}
	}
	return s.documents(nil)
}
