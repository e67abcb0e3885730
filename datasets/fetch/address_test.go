package fetch_test

import (
	"errors"
	"strings"
	"testing"

	"harness/datasets/fetch"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]fetch.Address{
		"hf://org/name":  {Scheme: "hf", Repo: "org/name", Revision: "main"},
		"hf://org/name/": {Scheme: "hf", Repo: "org/name", Revision: "main"},
		"hf://SWE-bench/SWE-bench_Verified@v1/test": {Scheme: "hf", Repo: "SWE-bench/SWE-bench_Verified", Revision: "v1", Path: "test"},
		"hf://datasets/org/name/data/x.parquet":     {Scheme: "hf", Repo: "org/name", Revision: "main", Path: "data/x.parquet"},
		"hf://org/name@refs/pr/1/cfg/test":          {Scheme: "hf", Repo: "org/name", Revision: "refs/pr/1", Path: "cfg/test"},
		"hf://org/name@refs%2Fconvert%2Fparquet":    {Scheme: "hf", Repo: "org/name", Revision: "refs/convert/parquet"},
		"hf://org/name/a%20b":                       {Scheme: "hf", Repo: "org/name", Revision: "main", Path: "a b"},
		"s3://bucket/x?endpoint=http://h":           {Scheme: "s3"},
	} {
		got, err := fetch.Parse(in)
		if err != nil || got.Scheme != want.Scheme || got.Repo != want.Repo || got.Revision != want.Revision || got.Path != want.Path || got.String() != in {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{
		"tasks.jsonl":        "no address",
		"hf://name":          "want hf://org/name",
		"hf://org/na me":     "not the name of a repository",
		"hf://../name":       "can't be read",
		"hf://org/name@../x": "can't be a revision",
		"hf://org/name@a..b": "can't be a revision",
		"hf://org/name@":     "can't be a revision",
		"hf://org/name@" + strings.Repeat("a", 256): "can't be a revision",
		"hf://org/" + strings.Repeat("a", 97):       "not the name of a repository",
		"hf://org/name/%2e%2e/x":                    "can't be read",
		"hf://org/name//x":                          "can't be read",
		"hf://org/name?x=1":                         "no meaning",
		"hf://org/name/%zz":                         "can't be read",
		"https://huggingface.co/datasets/org/name":  "write hf://org/name",
		"https://example.org/x.jsonl":               "https:// is not supported",
		"ftp://x":                                   "ftp:// is not supported",
	} {
		if _, err := fetch.Parse(in); !errors.As(err, new(*fetch.AddressError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}
