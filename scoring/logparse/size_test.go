//go:build !integration

package logparse_test

// How many bytes of hostile logs a parser gets.
const (
	endlessLine = 2 << 20
	manyResults = 2 << 20
)

// memoryParsers are those that read such logs: those that keep the most.
var memoryParsers = []string{
	"parse_log_pytest", "parse_log_django", "parse_log_p5js", "junit_xml", "tap", "ctrf", "gotest_json",
	"rebench2/parse_log_haskell_v2", "rebench2/parse_log_junit", "rebench2/parse_log_gradlew_v1", "multi/jest", "multi/mocha_json",
}
