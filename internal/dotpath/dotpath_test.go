package dotpath

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Path{
		"a": {"a"}, "a.b": {"a", "b"}, "_x-1.0.y": {"_x-1", "0", "y"}, "a.007": {"a", "007"}, "in.not": {"in", "not"},
	} {
		got, err := Parse(in)
		if err != nil || !reflect.DeepEqual(got, want) || got.String() != in {
			t.Errorf("Parse(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", ".", "a.", ".a", "a..b", "0", "0.a", "a b", "a.0b", "a.0-", "-a", "a.-b", "ä", "a[0]", "a.*", strings.Repeat("a.", MaxLength/2) + "a"} {
		if got, err := Parse(in); err == nil {
			t.Errorf("Parse(%q) = %q, want an error", in, got)
		}
	}
}

func TestLookup(t *testing.T) {
	root := map[string]any{
		"a": map[string]any{"b": []any{"x", map[string]any{"c": nil}}, "0": "key"}, "n": nil, "t": "text",
	}
	for in, want := range map[string]any{"a.b.0": "x", "a.b.1.c": nil, "a.0": "key", "n": nil, "t": "text"} {
		p, err := Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := p.Lookup(root); !ok || got != want {
			t.Errorf("%s = %v, %t, want %v", in, got, ok, want)
		}
	}
	for _, in := range []string{"b", "a.c", "a.b.2", "a.b.00", "a.b.x", "a.b.99999999999999999999", "n.x", "t.0", "t.x"} {
		p, err := Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := p.Lookup(root); ok {
			t.Errorf("%s = %v, want no value", in, got)
		}
	}
}

// What Cut returns is a path that Parse reads the same way.
func FuzzCut(f *testing.F) {
	for _, s := range []string{"a.b.0", "a.0b", "a..", "x-y.z?", "", "0", "ä"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, n := Cut(s)
		if (n == 0) != (p == nil) || p.String() != s[:n] {
			t.Fatalf("Cut(%q) = %q, %d", s, p, n)
		}
		if n == 0 || n > MaxLength {
			return
		}
		if q, err := Parse(s[:n]); err != nil || !reflect.DeepEqual(p, q) {
			t.Fatalf("Parse(%q) = %q, %v, and Cut returned %q", s[:n], q, err, p)
		}
		p.Lookup(map[string]any{p[0]: []any{map[string]any{}, nil}})
	})
}
