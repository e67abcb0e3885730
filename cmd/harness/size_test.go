package main

import (
	"testing"

	"harness/eval"
)

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64 // 0: refused
	}{
		{"4GiB", 4 * eval.GiB}, {"4gib", 4 * eval.GiB}, {"4G", 4 * eval.GiB}, {"512M", 512 * eval.MiB}, {"512 MiB", 512 * eval.MiB},
		{"1.5GiB", 3 * eval.GiB / 2}, {"64k", 64 * eval.KiB}, {"4096", 4096}, {"4096B", 4096}, {" 1k ", eval.KiB},
		{"", 0}, {"GiB", 0}, {"4X", 0}, {"-1", 0}, {"0", 0}, {"NaN", 0}, {"inf", 0}, {"1e30G", 0}, {"4 G i B", 0}, {"0x10", 0}, {"1e3", 1000},
	} {
		got, err := parseSize(c.text)
		if (err == nil) != (c.want > 0) || got != c.want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", c.text, got, err, c.want)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	f.Add("4GiB")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := parseSize(text); err == nil && n < 1 {
			t.Errorf("parseSize(%q) = %d", text, n)
		}
	})
}
