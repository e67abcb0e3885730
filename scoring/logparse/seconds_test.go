package logparse_test

import (
	"strings"
	"testing"

	"harness/scoring/logparse"
)

// A log that says how long a test took is believed, whatever its unit; one that
// does not leaves it unknown.
func TestSeconds(t *testing.T) {
	const unknown = -1.0
	tests := []struct {
		parser, log, name string
		want              float64
	}{
		{"junit_xml", `<testsuite><testcase name="a" time="0.25"/></testsuite>`, "a", 0.25},
		{"junit_xml", `<testsuite><testcase name="a" time="1,234.5"/></testsuite>`, "a", 1234.5},
		{"junit_xml", `<testsuite><testcase name="a"/><testcase name="b" time="1"/></testsuite>`, "a", unknown},
		{"junit_xml", `<testsuite><testcase name="a" time="-1"/><testcase name="b" time="NaN"/></testsuite>`, "b", unknown},
		{"ctrf", `{"results":{"tests":[{"name":"a","status":"passed","duration":250}]}}`, "a", 0.25},
		{"gotest_json", `{"Action":"pass","Package":"p","Test":"T","Elapsed":0.25}`, "p.T", 0.25},
		{"pytest_json", `{"tests":[{"nodeid":"a","outcome":"passed","call":{"duration":0.25}},{"nodeid":"b","outcome":"skipped"}]}`, "a", 0.25},
		{"pytest_json", `{"tests":[{"nodeid":"a","outcome":"passed","call":{"duration":0.25}},{"nodeid":"b","outcome":"skipped"}]}`, "b", unknown},
		{"pytest_json", `{"nodeid":"a","outcome":"passed","when":"call","duration":0.25,"$report_type":"TestReport"}`, "a", 0.25},
		{"parse_log_pytest", "PASSED a\n", "a", unknown},
	}
	for _, tt := range tests {
		p, _ := logparse.Lookup(tt.parser)
		res, err := p.Parse(strings.NewReader(tt.log), logparse.Options{Dialect: logparse.V5})
		if err != nil {
			t.Fatal(err)
		}
		got, ok := res.Tests.Seconds(tt.name)
		if !ok {
			got = unknown
		}
		if got != tt.want {
			t.Errorf("%s, %s: %s took %v s, want %v", tt.parser, tt.log, tt.name, got, tt.want)
		}
	}
}
