package glob

import (
	"io/fs"
	"strings"
	"testing"
)

func FuzzPattern(f *testing.F) {
	f.Add("**/*.{go,py}", "a/b.go")
	f.Add("{a,{b,c}}/**", "b/x/y")
	f.Add("[!a]?\\*", "b?*")
	f.Fuzz(func(t *testing.T, pattern, rel string) {
		p, problems := Compile(pattern)
		if len(problems) > 0 || !fs.ValidPath(rel) || len(rel) > 4096 {
			return
		}
		// Every prefix of a match must be alive: a walk stops at the others.
		if s, names := p.Start(), strings.Split(rel, "/"); p.Match(rel) && len(names) > 1 && !p.Match(names[len(names)-1]) {
			for _, name := range names[:len(names)-1] {
				if s = p.Step(s, name); !p.Alive(s) {
					t.Fatalf("%q matches %q, but not through %q", pattern, rel, name)
				}
			}
		}
	})
}

// TestPatternAndMatch compares the two matchers where their syntax is the same.
func TestPatternAndMatch(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"**", "a/**", "a/*/c", "**/b", "[!a]?", "a*b", "a/**/b", "?/[a-c]"} {
		p, problems := Compile(pattern)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, name := range []string{"a", "b", "a/b", "a/x/c", "a/b/c/b", "xb/b", "bé", "b/c", "ab", "axb"} {
			s := p.Start()
			for seg := range strings.SplitSeq(name, "/") {
				s = p.Step(s, seg)
			}
			if got, want := p.Accepts(s), Match(pattern, name); got != want {
				t.Errorf("%q and %q: Pattern %t, Match %t", pattern, name, got, want)
			}
		}
	}
}
