package datasets_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"harness/datasets"
	"harness/datasets/filter"
	"harness/eval"
)

func TestSelect(t *testing.T) {
	ds := &datasets.Dataset{Name: "calc"}
	for _, id := range []string{"django__django-10097", "django__django-10554", "sympy__sympy-11618", "Octo__calc-7"} {
		repo, _, _ := strings.Cut(strings.Replace(id, "__", "/", 1), "-")
		ds.Tasks = append(ds.Tasks, eval.Task{InstanceID: id, Repo: repo})
	}
	tests := []struct {
		name   string
		ids    []string
		filter string
		want   []string
		err    string
	}{
		{"all", nil, "", []string{"django__django-10097", "django__django-10554", "sympy__sympy-11618", "Octo__calc-7"}, ""},
		{"ids in dataset order", []string{"sympy__sympy-11618", "django__django-10097", "sympy__sympy-11618"}, " ", []string{"django__django-10097", "sympy__sympy-11618"}, ""},
		{"filter", nil, `repo ~ "^django"`, []string{"django__django-10097", "django__django-10554"}, ""},
		{"both", []string{"sympy__sympy-11618", "django__django-10097"}, `repo ~ "^django"`, []string{"django__django-10097"}, ""},
		{"typing slip", []string{"django__django-10098"}, "", nil, `no task "django__django-10098" (did you mean django__django-10097`},
		{"case", []string{"octo__calc-7"}, "", nil, "did you mean Octo__calc-7?"},
		{"part", []string{"11618"}, "", nil, "did you mean sympy__sympy-11618?"},
		{"nothing near", []string{"x", "x"}, "", nil, `no task "x"; `},
		{"empty id", []string{""}, "", nil, `no task "";`},
		{"none left", []string{"sympy__sympy-11618"}, `repo == "django/django"`, nil, "holds for none of 1 task"},
		{"none at all", nil, `repo == "a/b"`, nil, "holds for none of 4 tasks"},
		{"filter broken", nil, `repo = "a/b"`, nil, "column 6"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ds.Select(tt.ids, tt.filter)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			var ids []string
			for _, task := range got {
				ids = append(ids, task.InstanceID)
			}
			if err != nil || !reflect.DeepEqual(ids, tt.want) {
				t.Errorf("%v, %v; want %v", ids, err, tt.want)
			}
		})
	}
	if _, err := ds.Select(nil, `repo == "a/b"`); !errors.Is(err, datasets.ErrNothingSelected) {
		t.Error(err)
	}
	if _, err := ds.Select(nil, `repo`); !errors.As(err, new(*filter.Error)) {
		t.Error(err)
	}
	if _, err := ds.Select([]string{"a"}, ""); !errors.As(err, new(*datasets.UnknownIDError)) {
		t.Error(err)
	}
}
