package token

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

func randomCaps(r *rand.Rand) (out policy.Set) {
	segments := []string{"tool", "directive", "gh", "a", "b", "*", "a?", "[ab]", "?"}
	for range 1 + r.IntN(3) {
		cap := []string{"rye", []string{"execute", "search", "load", "sign", "draft", "*"}[r.IntN(6)]}
		for range r.IntN(4) {
			cap = append(cap, segments[r.IntN(len(segments))])
		}
		if r.IntN(2) == 0 {
			cap = append(cap, "*")
		}
		out = append(out, policy.Cap(strings.Join(cap, ".")))
	}
	return out
}

// TestTreeNeverWidens makes random trees of threads whose permissions are random patterns,
// each handed down in the token of its thread: no thread may do what a thread above it may
// not, and each may do all that its sets permit.
func TestTreeNeverWidens(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	r := rand.New(rand.NewPCG(16, 1))
	type node struct {
		up   int // -1 for the root
		own  policy.Set
		held policy.Held
	}
	trees, permitted, lost := 40, 0, 0
	if testing.Short() {
		trees /= 10
	}
	for range trees {
		var all []node
		for i := range 12 {
			n := node{up: -1, own: randomCaps(r)}
			above := policy.Person()
			if i > 0 {
				n.up = r.IntN(i)
				above = all[n.up].held
			}
			g := grant()
			g.Held = above.With(policy.Grant{Caps: n.own, Source: fmt.Sprintf("directive:t/%d", i)})
			c, err := Check(l.mint(g), l.want)
			if err != nil {
				t.Fatal(err)
			}
			n.held = c.Permits()
			all = append(all, n)
		}
		for range 200 {
			v := []policy.Verb{policy.Execute, policy.Search, policy.Load, policy.Sign, policy.Draft}[r.IntN(5)]
			ref := item.Ref{Kind: []item.Kind{item.Tool, item.Directive}[r.IntN(2)], ID: []string{"gh", "a", "gh/a", "a/b", "b/gh"}[r.IntN(5)]}
			i := r.IntN(len(all))
			may := all[i].held.Allows(v, ref) == nil
			want := policy.Person().Allows(v, ref) == nil
			for up := i; up >= 0; up = all[up].up {
				alone := policy.Held{{Caps: all[up].own, Source: "alone"}}.Allows(v, ref) == nil
				want = want && alone
				if may && all[up].held.Allows(v, ref) != nil {
					t.Fatalf("thread %d may %s %s, and %d above it may not", i, v, ref, up)
				}
				if up != i && !alone && (policy.Held{{Caps: all[i].own, Source: "alone"}}).Allows(v, ref) == nil {
					lost++
				}
			}
			if may != want {
				t.Fatalf("thread %d: %s %s is %v, want %v", i, v, ref, may, want)
			}
			if may {
				permitted++
			}
		}
	}
	if permitted < trees || lost < trees {
		t.Errorf("%d permitted, %d refused because of a thread above: the test shows little", permitted, lost)
	}
}
