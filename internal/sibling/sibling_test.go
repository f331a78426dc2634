package sibling

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		a, b Build
		want bool
	}{
		{"one release", Build{"v1.4.0", "", "x"}, Build{"v1.4.0", "", "x"}, true},
		{"two releases", Build{"v1.4.0", "", "x"}, Build{"v1.4.1", "", "x"}, false},
		{"one revision", Build{"v1.4.0", "a", "x"}, Build{"v1.4.0", "a", "x"}, true},
		{"two revisions", Build{"v1.4.0", "a", "x"}, Build{"v1.4.0", "b", "x"}, false},
		{"one has no revision", Build{"v1.4.0", "a", "x"}, Build{"v1.4.0", "", "x"}, true},
		{"development builds", Build{"(devel)", "", "x"}, Build{"(devel)", "", "x"}, true},
		{"development builds of other items", Build{"(devel)", "", "x"}, Build{"(devel)", "", "y"}, false},
		{"a release and a development build", Build{"v1.4.0", "", "x"}, Build{"(devel)", "", "x"}, true},
		{"nothing is known", Build{}, Build{}, false},
	} {
		if got := c.a.Same(c.b); got != c.want || c.b.Same(c.a) != c.want {
			t.Errorf("%s: %v and %v, want %v", c.name, got, c.b.Same(c.a), c.want)
		}
	}
}

// What Caller reads is what the program that started it is, whatever its path contains.
func TestCaller(t *testing.T) {
	for _, rye := range []Program{
		{"/home/ada/go/bin/rye", Build{"v1.4.0", "", "sha256:00"}},
		{"/srv/my tools/a=b/rye", Build{"(devel)", "c0ffee", ""}},
	} {
		name, value, _ := strings.Cut(mark(rye), "=")
		t.Setenv(name, value)
		got, started := Caller(func(key string) string {
			if key == name {
				return value
			}
			return ""
		})
		if !started || got != rye {
			t.Errorf("%v, %v: want %v", got, started, rye)
		}
	}
	if got, started := Caller(func(string) string { return "" }); started || got != (Program{}) {
		t.Errorf("without the variable: %v", got)
	}
	server := Program{Path: "/usr/bin/rye-server", Build: Build{Version: "v1.4.0"}}
	for _, value := range []string{"v1.4.0", "/", "x/y/z", "v1.3.0///usr/bin/rye"} {
		got, started := Caller(func(string) string { return value })
		err := Compare(got, server)
		if !started || (value == "v1.4.0") != (err == nil) {
			t.Errorf("%q: %v, %v", value, got, err)
		}
		if err != nil && diag.CodeOf(err) != diag.VersionMismatch {
			t.Errorf("%q: %v", value, err)
		}
	}
}
