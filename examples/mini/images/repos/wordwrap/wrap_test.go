package wordwrap

import "testing"

func TestWrap(t *testing.T) {
	tests := []struct {
		name, text string
		width      int
		want       string
	}{
		{"short", "one two", 20, "one two"},
		{"break", "one two three", 8, "one two\nthree"},
		{"kept breaks", "one\ntwo", 20, "one\ntwo"},
		{"long word", "a incomprehensible b", 6, "a\nincomprehensible\nb"},
		{"first indent", "  one", 20, "  one"},
		{"blank line", "a\n\nb", 10, "a\n\nb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Wrap(tt.text, tt.width); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
