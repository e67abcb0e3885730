package logparse

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"
)

// A pattern is compiled when the first log needs it, which is late to find out
// that it can't be. Every one that the package's source makes is compiled here.
func TestPatternsCompile(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	var source []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, f)
	}
	// Only constants are asked for, so nothing that the package imports is looked at.
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}
	config := types.Config{Error: func(error) {}}
	_, _ = config.Check("logparse", files, source, info)

	n := 0
	for _, f := range source {
		ast.Inspect(f, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "re" {
				return true
			}
			where := files.Position(call.Pos())
			value := info.Types[call.Args[0]].Value
			if value == nil {
				t.Errorf("%s: a pattern that is not a constant", where)
				return true
			}
			n++
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s: %v", where, r)
				}
			}()
			re(constant.StringVal(value)).get()
			return true
		})
	}
	if n < 200 {
		t.Errorf("%d patterns seen; there are more", n)
	}
}
