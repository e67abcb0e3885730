package grade_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"harness/eval"
	"harness/internal/checkout"
	"harness/scoring/grade"
	"harness/scoring/logparse"
)

// The rule table of docs/grading.md has every profile that judges lists of
// tests, every field of Rules and Recipe with the value that it has, and tests
// that exist.
func TestRuleTable(t *testing.T) {
	root := checkout.Root(t)
	doc, err := os.ReadFile(filepath.Join(root, "docs", "grading.md"))
	if err != nil {
		t.Fatal(err)
	}
	header, rows := ruleTable(string(doc))
	var profiles []grade.Profile
	want := []string{"rule", "field"}
	for _, p := range grade.Profiles() {
		if !p.Rules.Reward {
			profiles = append(profiles, p)
			want = append(want, "`"+p.Name+"`")
		}
	}
	if want = append(want, "shown by"); !slices.Equal(header, want) {
		t.Fatalf("the table's columns are %q, want %q", header, want)
	}
	known := testFunctions(t, filepath.Join(root, "scoring", "grade"), filepath.Join(root, "activities", "trial"), filepath.Join(root, "datasets"), filepath.Join(root, "datasets", "evalscript"))
	described := map[string]bool{"Name": true, "Reward": true, "Recipe.Name": true}
	for _, row := range rows {
		if len(row) != len(header) || slices.Contains(row, "") {
			t.Errorf("row %q has an empty cell or %d cells, want %d", row[0], len(row), len(header))
			continue
		}
		field := strings.Trim(row[1], "`")
		described[field] = true
		for i, p := range profiles {
			if field != "-" {
				if err := cellFits(p, field, row[2+i]); err != nil {
					t.Errorf("row %q, %s: %v", row[0], p.Name, err)
				}
			}
		}
		for _, name := range strings.Split(row[len(row)-1], ", ") {
			name, file, sub := strings.Cut(strings.Trim(name, "`"), "/")
			if !known[name] {
				t.Errorf("row %q is shown by %s, which is no test", row[0], name)
			}
			if _, err := os.Stat(filepath.Join("testdata", "vectors", file+".txt")); sub && err != nil {
				t.Errorf("row %q: %v", row[0], err)
			}
		}
	}
	for prefix, of := range map[string]reflect.Type{"": reflect.TypeFor[grade.Rules](), "Recipe.": reflect.TypeFor[eval.Recipe]()} {
		for i := range of.NumField() {
			if name := prefix + of.Field(i).Name; !described[name] {
				t.Errorf("the table has no row for the field %s", name)
			}
		}
	}
}

// The table of flags in docs/grading.md has every flag, and no other.
func TestFlagsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(checkout.Root(t), "docs", "grading.md"))
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("flags.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "\n### Flags of a verdict\n")
	table, _, _ = strings.Cut(table, "\n#")
	documented, used := map[string]bool{}, map[string]bool{}
	for _, row := range strings.Split(table, "\n") {
		first, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(first, -1) {
			documented[m[1]] = true
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\tflag\w+ +flag = "(\w+)"`).FindAllStringSubmatch(string(code), -1) {
		used[m[1]] = true
		if !documented[m[1]] {
			t.Errorf("docs/grading.md does not explain the flag %s", m[1])
		}
	}
	for name := range documented {
		if !used[name] {
			t.Errorf("docs/grading.md explains %s, which is no flag", name)
		}
	}
	if len(used) < 20 {
		t.Errorf("flags.go has %d flags", len(used))
	}
}

// ruleTable returns the table whose columns are rule, field, ...
func ruleTable(doc string) (header []string, rows [][]string) {
	_, doc, _ = strings.Cut(doc, "\n| rule | field |")
	for i, line := range strings.Split("| rule | field |"+doc, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		switch i {
		case 0:
			header = cells
		case 1: // the line under the header
		default:
			rows = append(rows, cells)
		}
	}
	return header, rows
}

// cellFits compares a cell with the value of a profile's field.
func cellFits(p grade.Profile, field, cell string) error {
	v := reflect.ValueOf(p.Rules)
	if name, ok := strings.CutPrefix(field, "Recipe."); ok {
		v, field = reflect.ValueOf(p.Recipe), name
	}
	if v = v.FieldByName(field); !v.IsValid() {
		return fmt.Errorf("there is no field %s", field)
	}
	var want string
	switch value := v.Interface().(type) {
	case logparse.Dialect:
		want = value.Name
	case grade.Marks:
		want = markWords[value.F2P]
		if value.F2P != value.P2P {
			want += " / " + markWords[value.P2P]
		}
		if cell != want {
			return fmt.Errorf("the table says %q, it is %q", cell, want)
		}
	case grade.Repeated:
		want = []string{"the last", "the worst", "the best"}[value]
	case grade.Truncated:
		want = []string{"no", "if they agree", "passed if one passed and none failed"}[value]
	case bool:
		if want = "no"; value {
			want = "yes"
		}
	default: // in words; only that there is something can be checked
		if no := cell == "no"; no != v.IsZero() {
			return fmt.Errorf("the table says %q, it is %v", cell, value)
		}
	}
	if !strings.HasPrefix(cell, want) {
		return fmt.Errorf("the table says %q, it is %q", cell, want)
	}
	return nil
}

var markWords = map[grade.Mark]string{grade.Fails: "fail", grade.Passes: "pass", grade.LeftOut: "left out", grade.Unseen: "unseen"}

// testFunctions are the names of the tests in some folders.
func testFunctions(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	out := map[string]bool{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range function.FindAllSubmatch(data, -1) {
				out[string(m[1])] = true
			}
		}
	}
	return out
}
