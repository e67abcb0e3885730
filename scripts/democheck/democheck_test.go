package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

type trial struct{ id, outcome string }

// writeTrials makes a trials table with the columns that the demo reads and one more.
func writeTrials(t *testing.T, trials []trial) string {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "instance_id", Type: arrow.BinaryTypes.String},
		{Name: "resolved", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "outcome", Type: arrow.BinaryTypes.String},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, x := range trials {
		b.Field(0).(*array.StringBuilder).Append(x.id)
		b.Field(1).(*array.BooleanBuilder).Append(x.outcome == "resolved")
		b.Field(2).(*array.StringBuilder).Append(x.outcome)
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, nil, pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	return write(t, "trials.parquet", buf.String())
}

func TestTable(t *testing.T) {
	const want = `{"a-1": {"outcome": "resolved", "why": "gold"}, "b-2": {"outcome": "timed_out"}}`
	tests := []struct {
		name     string
		trials   []trial
		expected string
		err      error
		lines    []string // words of lines that must be there, in order
	}{
		{
			"equal",
			[]trial{{"b-2", "timed_out"}, {"a-1", "resolved"}},
			want, nil,
			[]string{"gold a-1 resolved resolved ok", "gold b-2 timed_out timed_out ok", "2 trials, 2 as expected, 0 not"},
		},
		{
			"one differs",
			[]trial{{"a-1", "unresolved"}, {"b-2", "timed_out"}},
			want, errMismatch,
			[]string{"gold a-1 unresolved resolved WRONG", "2 trials, 1 as expected, 1 not"},
		},
		{
			"one is missing and one is new",
			[]trial{{"a-1", "resolved"}, {"c\u001b[2J", "resolved"}},
			want, errMismatch,
			[]string{"gold b-2 (absent) timed_out WRONG", `gold c\x1b[2J resolved (absent) WRONG`, "3 trials, 1 as expected, 2 not"},
		},
		{
			"one of several",
			[]trial{{"a", "timed_out"}, {"b", "unresolved"}},
			`{"a": {"outcome": ["limit_exceeded", "timed_out"]}, "b": {"outcome": ["limit_exceeded", "timed_out"]}}`, errMismatch,
			[]string{"gold a timed_out limit_exceeded or timed_out ok", "gold b unresolved limit_exceeded or timed_out WRONG"},
		},
		{
			"no-op may fail in any way but ours",
			[]trial{{"a", "tests_errored"}, {"b", "infra_error"}},
			`{"a": {"outcome": "not resolved"}, "b": {"outcome": "not resolved"}}`, errMismatch,
			[]string{"gold a tests_errored not resolved ok", "gold b infra_error not resolved WRONG"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			arg := "gold=" + writeTrials(t, tt.trials) + "=" + write(t, "expected.json", tt.expected)
			err := run(t.Context(), []string{"table", arg}, nil, &out)
			if !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			flat := out.String()
			var lines []string
			for l := range strings.Lines(flat) {
				lines = append(lines, strings.Join(strings.Fields(l), " "))
			}
			rest := strings.Join(lines, "\n")
			for _, l := range tt.lines {
				_, after, ok := strings.Cut(rest, l)
				if !ok {
					t.Fatalf("no line %q (in this order) in\n%s", l, flat)
				}
				rest = after
			}
		})
	}
}

func TestRefused(t *testing.T) {
	good := writeTrials(t, []trial{{"a", "resolved"}})
	twice := writeTrials(t, []trial{{"a", "resolved"}, {"a", "resolved"}})
	want := write(t, "expected.json", `{"a": {"outcome": "resolved"}}`)
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"nothing expected", []string{"table", "s=" + good + "=" + write(t, "e.json", `{}`)}, "no instance"},
		{"expectation without outcome", []string{"table", "s=" + good + "=" + write(t, "e.json", `{"a": {}}`)}, `no "outcome"`},
		{"expectation of another kind", []string{"table", "s=" + good + "=" + write(t, "e.json", `{"a": {"outcome": 3}}`)}, "neither a word nor a list"},
		{"table cut short", []string{"table", "s=" + write(t, "t.parquet", "PAR1 and no more") + "=" + want}, "not a readable Parquet file"},
		{"two trials of one instance", []string{"table", "s=" + twice + "=" + want}, "two trials"},
		{"no such report", []string{"table", "s=/nonexistent=" + want}, "no such file"},
		{"unknown command", []string{"frobnicate", "x"}, "usage"},
		{"no command", nil, "usage"},
		{"set without files", []string{"table", "s"}, "usage"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := run(t.Context(), tt.args, nil, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
}

func TestExpectThenIDs(t *testing.T) {
	var file, ids bytes.Buffer
	if err := run(t.Context(), []string{"expect", "resolved", "b", "a"}, nil, &file); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"ids", write(t, "e.json", file.String())}, nil, &ids); err != nil {
		t.Fatal(err)
	}
	if got := ids.String(); got != "a\nb\n" {
		t.Errorf("ids %q", got)
	}
}

func TestField(t *testing.T) {
	var out bytes.Buffer
	in := strings.NewReader(`{"temporal_ui": "http://127.0.0.1:8233", "worker": null}`)
	if err := run(t.Context(), []string{"field", "temporal_ui"}, in, &out); err != nil || out.String() != "http://127.0.0.1:8233\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := run(t.Context(), []string{"field", "x"}, strings.NewReader(`{}`), &out); err == nil {
		t.Error("a field that is not there gave no error")
	}
}

func TestReach(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/simple/" {
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	if err := run(t.Context(), []string{"reach", srv.URL + "/simple/"}, nil, nil); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), []string{"reach", srv.URL + "/other"}, nil, nil); err == nil {
		t.Error("404 counts as reached")
	}
}
