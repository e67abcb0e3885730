package lru

import (
	"reflect"
	"testing"
)

func TestGetMarksAsUsed(t *testing.T) {
	c := New(2, nil)
	c.Put("a", 1)
	c.Put("b", 2)
	c.Get("a")
	c.Put("c", 3)
	if got, want := c.Keys(), []string{"c", "a"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("keys %v, want %v", got, want)
	}
}

func TestPeekDoesNot(t *testing.T) {
	c := New(2, nil)
	c.Put("a", 1)
	c.Put("b", 2)
	c.Peek("a")
	c.Put("c", 3)
	if _, ok := c.Peek("a"); ok {
		t.Fatal("a is still there")
	}
}

func TestEvictCallback(t *testing.T) {
	var gone []string
	c := New(1, func(key string, _ interface{}) { gone = append(gone, key) })
	c.Put("a", 1)
	c.Put("b", 2)
	if !reflect.DeepEqual(gone, []string{"a"}) {
		t.Fatalf("evicted %v", gone)
	}
}

func TestRemove(t *testing.T) {
	c := New(2, nil)
	c.Put("a", 1)
	if !c.Remove("a") || c.Remove("a") || c.Len() != 0 {
		t.Fatal("remove is wrong")
	}
}
