package idpattern

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"*", []string{"github.com/acme/a", "file:///srv/x", "git@h.io:x", "registry:a/b", "tools"}, nil},
		{"**", []string{"github.com/acme/a"}, nil},
		{"github.com/acme", []string{"github.com/acme/a", "github.com/acme/a/v2", "github.com/acme/a//sub", "github.com/acme"},
			[]string{"github.com/acme-evil/a", "github.com/acm", "github.com.evil/acme/a", "git@github.com:acme/a"}},
		{"github.com/acme/", []string{"github.com/acme/a"}, []string{"github.com/acmes/a"}},
		{"github.com/acme/*", []string{"github.com/acme/a", "github.com/acme/a/v2", "github.com/acme/a//sub/v3"}, []string{"github.com/acme", "github.com/acme2/a"}},
		{"github.com/acme/a/*", []string{"github.com/acme/a/v2", "github.com/acme/a//sub"}, []string{"github.com/acme/a", "github.com/acme/ab"}},
		{"github.com/acme/a//*", []string{"github.com/acme/a//sub", "github.com/acme/a//sub/v2"}, []string{"github.com/acme/a", "github.com/acme/a/v2"}},
		{"h.io/a/b", []string{"h.io/a/b//c"}, []string{"h.io/a//b"}},
		{"h.io/a//b", []string{"h.io/a//b", "h.io/a//b/c", "h.io/a//b/v2"}, []string{"h.io/a/b", "h.io/a//bc", "h.io/a"}},
		{"git@h.io:*", []string{"git@h.io:x", "git@h.io:team/x//sub/v2"}, []string{"git@h.io.evil:x", "h.io/x"}},
		{"git@h.io", []string{"git@h.io:team/x"}, []string{"git@h.iox:team/x"}},
		{"git@h.io:team", []string{"git@h.io:team/x"}, []string{"git@h.io:teams/x"}},
		{"file://*", []string{"file:///srv/x", "file:///srv/x//sub"}, []string{"files/x"}},
		{"file:///**", []string{"file:///srv/x"}, nil},
		{"file:", []string{"file:///srv/x"}, nil},
		{"file:///srv", []string{"file:///srv/x/y"}, []string{"file:///srv2"}},
		{"ssh://git@h.io/team/*", []string{"ssh://git@h.io/team/x/v2"}, []string{"ssh://git@h.io/x", "ssh://h.io/team/x"}},
		{"registry:*", []string{"registry:acme/x"}, []string{"github.com/acme/x"}},
		{"registry:acme", []string{"registry:acme/x"}, []string{"registry:acme2/x"}},
		{"tools", []string{"tools"}, []string{"tools2", "github.com/acme/tools"}},
	} {
		for _, id := range c.yes {
			if !Match(c.pattern, id) {
				t.Errorf("%q must match %q", c.pattern, id)
			}
		}
		for _, id := range c.no {
			if Match(c.pattern, id) {
				t.Errorf("%q must not match %q", c.pattern, id)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	for _, bad := range []string{"", "/", "github.com/acme*", "github.com/*/x", "github.com/ac?e", "[a]", "github.com/a//", "//", "a{b}/*", `a\b`} {
		if Check(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
		if Match(bad, "github.com/acme/x") {
			t.Errorf("%q matches", bad)
		}
	}
}

// independent is Match by a regular expression over the text.
func independent(pattern, id string) bool {
	if pattern == "*" {
		return true
	}
	base, below := strings.CutSuffix(pattern, "/*")
	end := "(/.*)?$"
	if below {
		end = "/+[^/].*$"
	}
	return regexp.MustCompile("^" + regexp.QuoteMeta(base) + end).MatchString(id)
}

// TestMatchProperty compares Match with the independent matcher for host paths.
func TestMatchProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	word := func(list ...string) string { return list[r.IntN(len(list))] }
	id := func() string {
		s := word("github.com", "h.io") + "/" + word("acme", "acm", "b")
		for range r.IntN(3) {
			s += "/" + word("a", "ab", "acme", "v2")
		}
		if r.IntN(2) == 0 {
			s += "//" + word("a", "ab", "sub")
			if r.IntN(2) == 0 {
				s += "/" + word("a", "v2")
			}
		}
		return s
	}
	matched := 0
	for range 50_000 {
		a, b := id(), id()
		pattern := a
		for n := r.IntN(5); n > 0; n-- { // an id above it
			cut := strings.TrimRight(pattern[:max(0, strings.LastIndexByte(pattern, '/'))], "/")
			if cut != "" {
				pattern = cut
			}
		}
		switch r.IntN(8) {
		case 0:
			pattern = "*"
		case 1, 2, 3:
			pattern += "/*"
		}
		got, want := Match(pattern, b), independent(pattern, b)
		if got != want {
			t.Fatalf("Match(%q, %q) is %t, the regular expression reports %t", pattern, b, got, want)
		}
		if got {
			matched++
		}
		if !strings.HasSuffix(pattern, "*") && !Match(pattern, a) {
			t.Fatalf("%q does not match %q, which is below it", pattern, a)
		}
	}
	if matched < 1000 {
		t.Fatalf("only %d matches", matched)
	}
}
