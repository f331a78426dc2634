package policy

import (
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, want string
		ok            bool
	}{
		{"rye.*", "rye.execute.tool.a.b", true},
		{"rye.execute.*", "rye.execute.tool.a", true},
		{"rye.execute.tool.*", "rye.execute.tool.a.b.c", true},
		{"rye.execute.tool.*", "rye.execute.tool", false},
		{"rye.execute.tool.*.b", "rye.execute.tool.a.b", true},
		{"rye.execute.tool.*.b", "rye.execute.tool.a.x.b", false}, // a star in the middle is one segment
		{"rye.execute.tool.a", "rye.execute.tool.a.b", false},
		{"rye.execute.tool.a.b", "rye.execute.tool.a", false},
		{"rye.load.tool.a", "rye.execute.tool.a", false},
		{"rye.execute.tool.g?.x", "rye.execute.tool.gh.x", true},
		{"rye.execute.tool.g[a-h].x", "rye.execute.tool.gh.x", true},
		{"rye.execute.tool.g[!a-h].x", "rye.execute.tool.gh.x", false},
		{"rye.execute.tool.a*z", "rye.execute.tool.abcz", true},
		{"rye.execute.tool.a*z", "rye.execute.tool.a.z", false}, // the original's * crossed dots
		{"rye.search.tool", "rye.search.tool", true},
		{"rye.execute.tool.[]", "rye.execute.tool.a", false}, // an empty set
		{"rye.execute.tool.[][a]", "rye.execute.tool.a", false},
		{"rye.execute.tool.[!]", "rye.execute.tool.a", true}, // a set that leaves out nothing
		{"rye.execute.tool.[!][a]", "rye.execute.tool.ba", true},
		{"rye.execute.tool.[!]", "rye.execute.tool.ab", false},
	} {
		if got := Cap(c.pattern).Covers(Cap(c.want)); got != c.ok {
			t.Errorf("%s covers %s = %v, want %v", c.pattern, c.want, got, c.ok)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "rye", "execute.tool", "rye.", "rye..x", "rye.a/b", "rye.[ab", "rye.a]b", "rye.ä"} {
		if _, err := Parse(bad); diag.CodeOf(err) != diag.Usage {
			t.Errorf("Parse(%q) = %v, want USAGE", bad, err)
		}
	}
	if c, err := Parse("rye.execute.tool.gh.*"); err != nil || c != "rye.execute.tool.gh.*" {
		t.Errorf("Parse of a good pattern: %v %v", c, err)
	}
}

func TestAllowsNamesTheMissingCapability(t *testing.T) {
	t.Parallel()
	ref := item.Ref{Kind: item.Tool, ID: "rye/bash/bash"}
	err := Person().With(Grant{Caps: Set{"rye.execute.tool.gh.*"}, Source: "tool:x/y calls"}).Allows(Execute, ref)
	if diag.CodeOf(err) != diag.PermissionDenied || !strings.Contains(err.Error(), "tool:x/y calls lacks the capability rye.execute.tool.rye.bash.bash") {
		t.Fatalf("err = %v", err)
	}
	if err := Person().Allows(Execute, ref); err != nil {
		t.Fatalf("a person: %v", err)
	}
	if err := (Held{{}}).Allows(Load, ref); err == nil {
		t.Fatal("an empty set allowed a call")
	}
}

// Within one segment the matcher agrees with path.Match, whose classes and
// stars mean the same there.
func TestSegmentAgreesWithPathMatch(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(alphabet string, n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteByte(alphabet[r.IntN(len(alphabet))])
		}
		return b.String()
	}
	for range 20000 {
		pat, s := pick("ab*?", 7), pick("ab", 8)
		want, err := path.Match(pat, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := matchSegment(pat, s); got != want {
			t.Fatalf("matchSegment(%q, %q) = %v, want %v", pat, s, got, want)
		}
	}
}

func FuzzCovers(f *testing.F) {
	f.Add("rye.execute.tool.*", "rye.execute.tool.a.b")
	f.Add("rye.[a-", "rye.a")
	f.Fuzz(func(t *testing.T, pattern, want string) {
		if Cap(pattern).Covers(Cap(want)) && !strings.ContainsAny(pattern, "*?[") && pattern != want {
			t.Fatalf("pattern %q without wildcards covers %q", pattern, want)
		}
	})
}
