package layout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"harness/datasets/internal/layout"
)

func TestGroup(t *testing.T) {
	tests := []struct {
		name  string
		files string
		want  []string // config/split: files, or the error
	}{
		{"hub", "README.md .gitattributes data/test-00000-of-00001.parquet data/dev-00000-of-00001.parquet", []string{
			"default/dev: data/dev-00000-of-00001.parquet", "default/test: data/test-00000-of-00001.parquet"}},
		{"shards in order, with hashes", "data/test-00001-of-00002-0ab1.parquet data/test-00000-of-00002-99ff.parquet", []string{
			"default/test: data/test-00000-of-00002-99ff.parquet data/test-00001-of-00002-0ab1.parquet"}},
		{"a missing shard", "test-00000-of-00003.jsonl test-00002-of-00003.jsonl", []string{
			"default/test: split test is not whole: shard 00001 of 3 is missing; get the missing shards"}},
		{"a missing first shard", "test-00001-of-00002.jsonl", []string{
			"default/test: split test is not whole: shard 00000 of 2 is missing; get the missing shards"}},
		{"two formats", "test.jsonl test.parquet", []string{"default/test: test.jsonl, test.parquet are all there; give the one that is meant"}},
		{"two ways of cutting", "test-00000-of-00001.jsonl test-00000-of-00002.jsonl test-00001-of-00002.jsonl", []string{
			"default/test: test-00000-of-00001.jsonl, test-00000-of-00002.jsonl, test-00001-of-00002.jsonl are all there; give the one that is meant"}},
		{"a file beside shards", "test.jsonl test-00000-of-00001.jsonl", []string{
			"default/test: test.jsonl, test-00000-of-00001.jsonl are all there; give the one that is meant"}},
		{"a shard beyond the end", "test-00007-of-00002.jsonl", []string{"default/test: test-00007-of-00002.jsonl are all there; give the one that is meant"}},
		{"configurations", "java/a.jsonl data/go/b.jsonl.zst x/y/c.csv", []string{"go/b: data/go/b.jsonl.zst", "java/a: java/a.jsonl", "x/y/c: x/y/c.csv"}},
		{"the hub's conversion", "default/test/0000.parquet default/test/0001.parquet", []string{
			"default/test: default/test/0000.parquet default/test/0001.parquet"}},
		{"number without its folder", "2024.jsonl", []string{"default/2024: 2024.jsonl"}},
		{"shards named by their folder", "test/00000-of-00001.jsonl", []string{"default/test: test/00000-of-00001.jsonl"}},
		{"saved folder", "dataset_dict.json test/state.json test/dataset_info.json test/data-00000-of-00001.arrow", []string{
			"test/data: test/data-00000-of-00001.arrow"}},
		{"hidden", ".cache/a.jsonl .b.jsonl", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, s := range layout.Group(strings.Fields(tt.files)) {
				text := strings.Join(s.Files, " ")
				if err := s.Err(); err != nil {
					text = err.Error()
				}
				got = append(got, fmt.Sprintf("%s/%s: %s", s.Config, s.Name, text))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// A name may promise any number of shards; looking for them stays cheap.
func TestGroupIsBounded(t *testing.T) {
	s := layout.Group([]string{"test-000000-of-999999.jsonl"})
	if len(s) != 1 || s[0].Err() == nil {
		t.Errorf("%+v", s)
	}
}
