//go:build integration

package logparse_test

// How many bytes of hostile logs a parser gets.
const (
	endlessLine = 200 << 20
	manyResults = 32 << 20
)

// quickParsers is empty: all parsers read such logs.
var quickParsers []string
