package yamlx

import (
	"strings"
	"testing"
)

func TestSet(t *testing.T) {
	for _, c := range []struct{ in, path, value, want string }{
		{"a: 1\n", "a", "2", "a: 2\n"},
		{"# top\na: 1 # one\nb: x\n", "a", "[x]", "# top\na: [x] # one\nb: x\n"},
		{"a: 1\n", "b", "2", "a: 1\nb: 2\n"},
		{"a: 1", "b.c", "2", "a: 1\nb: {c: 2}"},
		{"a: {b: 1}\n", "a.b", "2", "a: {b: 2}\n"},
		{"a: {b: 1}\n", "a.c.d", "T2", "a: {b: 1, c: {d: T2}}\n"},
		{"a: {}\n", "a.c", "T2", "a: {c: T2}\n"},
		{"a:\n  b: 1\n  # after\nz: 1\n", "a.c", "2", "a:\n  b: 1\n  c: 2\n  # after\nz: 1\n"},
		{"a:\n  b:\n    c: 1\nz: 1\n", "a.b.d", "2", "a:\n  b:\n    c: 1\n    d: 2\nz: 1\n"},
		{"a:\n  - x\n  - y\nz: 1\n", "a", "[]", "a: []\nz: 1\n"},
		{"a:\nz: 1\n", "a.b", "2", "a: {b: 2}\nz: 1\n"},
		{"a: {x: \"1\",\n  y: 2}\n", "a.z", "3", "a: {x: \"1\",\n  y: 2, z: 3}\n"},
		{"a: >\n  long\n  text\n", "b", "1", "a: >\n  long\n  text\nb: 1\n"},
		{"a: {t: {}}\n", "a.t", `{"tool:x/*": T4}`, "a: {t: {\"tool:x/*\": T4}}\n"},
	} {
		got, err := Set([]byte(c.in), strings.Split(c.path, "."), c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%q %s=%s: %q, %v", c.in, c.path, c.value, got, err)
		}
	}
	for _, c := range []struct{ in, path, value string }{
		{"a: [", "a", "1"}, {"a: 1\n", "a", "{"}, {"a: 1\n", "a", "1\nb: 2"}, {"a: 1\n", "b", "&x 1"},
	} {
		if got, err := Set([]byte(c.in), []string{c.path}, c.value); err == nil {
			t.Errorf("%q %s=%s: %q", c.in, c.path, c.value, got)
		}
	}
}

// FuzzSet never changes another value, and never panics.
func FuzzSet(f *testing.F) {
	f.Add("a: {b: 1}\nc:\n  d: [1, {e: 2}]\n", "a.b", "2")
	f.Add("a:\n  b: >\n    x\n\n", "a.c", "{x: y}")
	f.Add("---\na: 1\n...\n", "b", "1")
	f.Fuzz(func(t *testing.T, in, path, value string) {
		names := strings.Split(path, ".")
		got, err := Set([]byte(in), names, value)
		if err != nil {
			return
		}
		before, _ := Parse([]byte(in))
		after, _ := Parse(got)
		for key := range before.Root {
			if _, has := after.Root[key]; !has {
				t.Errorf("%q %s=%s lost %s: %q", in, path, value, key, got)
			}
		}
	})
}
