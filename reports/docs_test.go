package reports

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

var update = flag.Bool("update", false, "rewrite the column tables of the documents")

const docPath = "../docs/results.md"

// TestDocumentedColumns holds docs/results.md to the schemas.
func TestDocumentedColumns(t *testing.T) {
	documented(t, docPath, schemas(t), tableNames)
}

// documented holds a document to schemas: between "<!-- columns: NAME -->" and
// "<!-- end -->" stands one line a column.
func documented(t *testing.T, path string, fields map[string][]arrow.Field, names []string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	for _, name := range names {
		open := fmt.Sprintf("<!-- columns: %s -->\n", name)
		before, rest, ok := strings.Cut(doc, open)
		got, after, ok2 := strings.Cut(rest, "<!-- end -->")
		if !ok || !ok2 {
			t.Fatalf("%s has no block %q", path, strings.TrimSpace(open))
		}
		want := "\n| column | type | unit | meaning | null means | volatile |\n|---|---|---|---|---|---|\n"
		for _, f := range fields[name] {
			unit, _ := f.Metadata.GetValue("unit")
			desc, _ := f.Metadata.GetValue("description")
			null, _ := f.Metadata.GetValue("null")
			vol := ""
			if isVolatile(f) {
				vol = "yes"
			}
			typ := f.Type.String()
			switch {
			case f.Type.ID() == arrow.LIST:
				typ = "list<utf8>"
			case f.Type.ID() == arrow.TIMESTAMP:
				typ = "timestamp[us, UTC]"
			}
			want += fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |\n", f.Name, typ, unit, desc, null, vol)
		}
		want += "\n"
		if got != want && !*update {
			t.Errorf("the columns of %s in %s are not those of the schema; run: go test ./reports -run Documented -update", name, path)
		}
		doc = before + open + want + "<!-- end -->" + after
	}
	if *update {
		if err := os.WriteFile(path, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var tableNames = []string{"runs", "trials", "verdicts", "tests", "events", "phases"}

// schemas reads the fields of every table from files, as a user sees them.
func schemas(t *testing.T) map[string][]arrow.Field {
	t.Helper()
	store := newMemStore()
	mustBuild(t, store, testSpec("r1", 0), each())
	out := map[string][]arrow.Field{}
	for _, name := range tableNames {
		tr, err := openTable(store.file(t, "r1", name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = tr.schema.Fields()
		tr.close()
	}
	return out
}

// TestColumnNames pins what other people's queries depend on.
func TestColumnNames(t *testing.T) {
	want := map[string]string{
		"runs": `run_id dataset dataset_digest split agent agent_version model profile spec_digest harness_version started_at ended_at tasks
			resolved unresolved tests_errored no_tests_ran empty_patch patch_rejected patch_not_applied timed_out out_of_memory out_of_disk
			limit_exceeded sandbox_died infra_error cancelled`,
		"trials": `run_id dataset instance_id repo language difficulty agent agent_version model attempt round outcome blame resolved reward profile
			calibrated f2p_passed f2p_total p2p_passed p2p_total score_functional score_resource score_security score_maintainability
			score_performance tamper_flags limits_hit tries disclosure network_policy apply_method wall_s cpu_s queue_s peak_memory_bytes disk_bytes
			io_read_bytes io_write_bytes net_bytes throttled_s limit_cpu limit_memory_bytes limit_wall_s tokens_in tokens_out cost_usd patch_sha256
			patch_bytes files_changed lines_added lines_removed runtime runtime_version image_digest worker started_at ended_at cached error_class
			error_message log_ref`,
		"verdicts": `run_id instance_id attempt round recipe rules outcome resolved flags`,
		"tests":    `run_id instance_id attempt round test group status raw_status seconds`,
		"events":   `run_id instance_id attempt round time source kind severity detail dropped`,
		"phases":   `run_id instance_id attempt round phase started_at seconds`,
	}
	for name, fields := range schemas(t) {
		var got []string
		for _, f := range fields {
			got = append(got, f.Name)
		}
		if g, w := strings.Join(got, " "), strings.Join(strings.Fields(want[name]), " "); g != w {
			t.Errorf("%s:\ngot  %s\nwant %s", name, g, w)
		}
	}
}
