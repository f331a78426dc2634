package policy_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ryeos/rye/policy"
)

// randomCap builds patterns and capabilities from few segments, so that they
// meet often.
func randomCap(r *rand.Rand, pattern bool) policy.Cap {
	words := []string{"execute", "tool", "gh", "a", "ab", "b"}
	if pattern {
		words = append(words, "*", "a?", "a*", "[ab]", "?", "*b")
	}
	segs := []string{"rye"}
	for range 1 + r.IntN(4) {
		segs = append(segs, words[r.IntN(len(words))])
	}
	return policy.Cap(strings.Join(segs, "."))
}

// TestNarrowHoldsNoMore checks the property that attenuation depends on.
func TestNarrowHoldsNoMore(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	held := 0
	tried := 20_000
	if testing.Short() {
		tried /= 10
	}
	for range tried {
		var a, b policy.Set
		for range 1 + r.IntN(3) {
			a, b = append(a, randomCap(r, true)), append(b, randomCap(r, true))
		}
		n := policy.Narrow(a, b)
		for range 20 {
			want := randomCap(r, false)
			if n.Holds(want) {
				held++
				if !a.Holds(want) || !b.Holds(want) {
					t.Fatalf("Narrow(%q, %q) = %q holds %s", a, b, n, want)
				}
			}
		}
	}
	if held < tried/20 {
		t.Errorf("only %d capabilities were held at all: the test shows little", held)
	}
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{"rye.*", "rye.execute.tool.gh.*", "rye.execute.tool.gh.*"},
		{"rye.execute.tool.*", "rye.execute.tool.gh.issue", "rye.execute.tool.gh.issue"},
		{"rye.execute.*", "rye.load.*", ""},
		{"rye.load.* rye.execute.*", "rye.load.tool.* rye.sign.*", "rye.load.tool.*"},
		{"rye.execute.tool.a?", "rye.execute.tool.a*", ""},
		{"rye.execute.*.x", "rye.execute.*", "rye.execute.*.x"},
		{"rye.execute.tool.a", "rye.execute.tool.a", "rye.execute.tool.a"},
	} {
		if got := spaced(policy.Narrow(set(c.a), set(c.b))); got != c.want {
			t.Errorf("Narrow(%s, %s) = %q, want %q", c.a, c.b, got, c.want)
		}
		if got := spaced(policy.Narrow(set(c.b), set(c.a))); got != c.want {
			t.Errorf("Narrow(%s, %s) = %q, want %q", c.b, c.a, got, c.want)
		}
	}
}

func TestAny(t *testing.T) {
	t.Parallel()
	s := set("rye.load.tool.* rye.s*.x")
	for v, want := range map[policy.Verb]bool{policy.Load: true, policy.Sign: true, policy.Search: true, policy.Execute: false} {
		if s.Any(v) != want {
			t.Errorf("Any(%s) = %t", v, !want)
		}
	}
	if policy.Person().AllowsAny(policy.Draft) != nil || (policy.Set{}).Any(policy.Load) {
		t.Error("a person holds everything, the empty set nothing")
	}
}

func set(s string) policy.Set {
	var out policy.Set
	for _, c := range strings.Fields(s) {
		out = append(out, policy.Cap(c))
	}
	return out
}

func spaced(s policy.Set) string {
	var out []string
	for _, c := range s {
		out = append(out, string(c))
	}
	return strings.Join(out, " ")
}
