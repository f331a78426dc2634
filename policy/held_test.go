package policy_test

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/dx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// expression is an independent matcher: a pattern as a regular expression.
func expression(t *testing.T, c policy.Cap, known map[policy.Cap]*regexp.Regexp) *regexp.Regexp {
	if e := known[c]; e != nil {
		return e
	}
	var out strings.Builder
	segments := strings.Split(string(c), ".")
	for i, s := range segments {
		if i > 0 {
			out.WriteString(`\.`)
		}
		if s == "*" && i == len(segments)-1 {
			out.WriteString(`[^.]+(\.[^.]+)*`)
			continue
		}
		s = strings.NewReplacer("*", "[^.]*", "?", "[^.]", "[!", "[^.").Replace(s)
		out.WriteString("(" + s + ")")
	}
	e, err := regexp.Compile("^" + out.String() + "$")
	if err != nil {
		t.Fatal(err)
	}
	known[c] = e
	return e
}

// allowedBy is the rule of Held.Allows for one set, by regular expressions.
func allowedBy(t *testing.T, s policy.Set, v policy.Verb, ref item.Ref, known map[policy.Cap]*regexp.Regexp) bool {
	kind := "rye." + string(v) + "." + string(ref.Kind)
	for _, c := range s {
		e := expression(t, c, known)
		if ref.ID != "" && e.MatchString(kind+"."+ref.Dotted()) || v == policy.Search && e.MatchString(kind) {
			return true
		}
		if v != policy.Search || ref.ID != "" {
			continue
		}
		// A pattern for items of the kind: its beginning matches the kind.
		if parts := strings.Split(string(c), "."); len(parts) > 3 {
			begin := policy.Cap(strings.Join(parts[:3], "."))
			if expression(t, begin, known).MatchString(kind) {
				return true
			}
		}
	}
	return false
}

func randomPattern(r *rand.Rand) policy.Cap {
	verbs := []string{"execute", "search", "load", "sign", "draft", "*", "s*", "[el]*"}
	segments := []string{"tool", "directive", "gh", "a", "ab", "*", "a?", "a*", "[ab]", "[!a]", "?", "*b"}
	out := []string{"rye", verbs[r.IntN(len(verbs))]}
	for range r.IntN(4) {
		out = append(out, segments[r.IntN(len(segments))])
	}
	if r.IntN(3) == 0 {
		out = append(out, "*")
	}
	return policy.Cap(strings.Join(out, "."))
}

func randomAction(r *rand.Rand) (policy.Verb, item.Ref) {
	verbs := []policy.Verb{policy.Execute, policy.Search, policy.Load, policy.Sign, policy.Draft}
	words := []string{"gh", "a", "ab", "b", "tool"}
	v, id := verbs[r.IntN(len(verbs))], words[r.IntN(len(words))]
	for range r.IntN(2) {
		id += "/" + words[r.IntN(len(words))]
	}
	if v == policy.Search && r.IntN(2) == 0 {
		id = ""
	}
	return v, item.Ref{Kind: []item.Kind{item.Tool, item.Directive}[r.IntN(2)], ID: id}
}

// TestHeldIsAConjunction compares Allows with an independent matcher, and shows that
// one more grant never permits more. RYE_LONG makes four times as many cases.
func TestHeldIsAConjunction(t *testing.T) {
	t.Parallel()
	cases := 50_000
	switch {
	case testing.Short():
		cases = 5_000
	case os.Getenv("RYE_LONG") != "":
		cases = 200_000
	}
	r := rand.New(rand.NewPCG(3, 4))
	known := map[policy.Cap]*regexp.Regexp{}
	allowed, first := 0, 0
	for range cases {
		var h policy.Held
		v, ref := randomAction(r)
		want, lacks := true, ""
		for i := range 1 + r.IntN(3) {
			var s policy.Set
			for range 1 + r.IntN(3) {
				s = append(s, randomPattern(r))
			}
			before := h.Allows(v, ref)
			h = h.With(policy.Grant{Caps: s, Source: string(rune('a' + i))})
			if i > 0 && before != nil && h.Allows(v, ref) == nil {
				t.Fatalf("%v: a grant permits %s %s", h, v, ref)
			}
			if ok := allowedBy(t, s, v, ref, known); !ok && want {
				want, lacks = false, string(rune('a'+i))
			}
		}
		err := h.Allows(v, ref)
		if (err == nil) != want {
			t.Fatalf("%v allows %s %s = %v, want %v", h, v, ref, err, want)
		}
		if err == nil {
			allowed++
			continue
		}
		e := diag.Typed(err)
		if e.Code != diag.PermissionDenied || e.Details["source"] != lacks || e.Details["missing"] != string(policy.Needed(v, ref)) {
			t.Fatalf("%v: %s %s: %v %v, want the source %s", h, v, ref, e, e.Details, lacks)
		}
		if len(h) > 1 && lacks != "a" {
			first++
		}
	}
	if allowed < cases/100 || first < cases/100 {
		t.Errorf("%d permitted, %d refused by a later grant: the test shows little", allowed, first)
	}
}

// TestSearchPatterns has the examples of the rule for search.
func TestSearchPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		caps         string
		kind         bool
		issue, other bool // shown: tool:gh/issue, tool:acme/x
	}{
		{"rye.search.tool.*", true, true, true},
		{"rye.search.tool.gh.*", true, true, false},
		{"rye.search.tool", true, true, true},
		{"rye.search.tool.gh.issue", true, true, false},
		{"rye.search.knowledge", false, false, false},
		{"rye.search.knowledge.*", false, false, false},
		{"rye.*", true, true, true},
		{"rye.search.*", true, true, true},
		{"rye.search.t*.gh.*", true, true, false},
		{"rye.*.tool.acme.?", true, false, true},
		{"rye.search", false, false, false},
		{"rye.execute.*", false, false, false},
		{"", false, false, false},
	} {
		h := policy.Held{{Caps: set(c.caps), Source: "x"}}
		for ref, want := range map[item.Ref]bool{
			{Kind: item.Tool}: c.kind, {Kind: item.Tool, ID: "gh/issue"}: c.issue, {Kind: item.Tool, ID: "acme/x"}: c.other,
		} {
			if got := h.Allows(policy.Search, ref) == nil; got != want {
				t.Errorf("%q allows to search %s = %t, want %t", c.caps, ref, got, want)
			}
		}
	}
}

func TestSearchable(t *testing.T) { // AllocsPerRun does not permit parallel tests
	kinds := []item.Kind{item.Tool, item.Directive, item.Knowledge}
	h := policy.Held{{Caps: set("rye.search.*"), Source: "a"}, {Caps: set("rye.search.tool.gh.* rye.search.knowledge"), Source: "b"}}
	may, shown, err := h.Searchable(kinds)
	if err != nil || !slices.Equal(may, []item.Kind{item.Tool, item.Knowledge}) || shown == nil {
		t.Fatalf("Searchable = %v %v", may, err)
	}
	for ref, want := range map[item.Ref]bool{
		{Kind: item.Tool, ID: "gh/x"}: true, {Kind: item.Tool, ID: "x"}: false, {Kind: item.Knowledge, ID: "x"}: true, {Kind: item.Directive, ID: "gh/x"}: false,
	} {
		if shown(ref) != want || (h.Allows(policy.Search, ref) == nil) != want {
			t.Errorf("shown(%s) = %t, Allows: %v", ref, shown(ref), h.Allows(policy.Search, ref))
		}
	}
	// It is called for every match of a query.
	if n := testing.AllocsPerRun(100, func() { shown(item.Ref{Kind: item.Tool, ID: "x"}) }); n > 10 {
		t.Errorf("an item that is not shown costs %.0f allocations", n)
	}
	if may, shown, err = h[:1].Searchable(kinds); err != nil || len(may) != 3 || shown != nil {
		t.Errorf("all kinds: %v %t %v", may, shown != nil, err)
	}
	// Each grant permits a kind, and they permit none together.
	h = policy.Held{{Caps: set("rye.search.tool.*"), Source: "a"}, {Caps: set("rye.search.knowledge.*"), Source: "b"}}
	if _, _, err = h.Searchable(kinds); diag.CodeOf(err) != diag.PermissionDenied {
		t.Errorf("no common kind: %v", err)
	}
	if _, _, err = (policy.Held)(nil).Searchable(kinds); diag.CodeOf(err) != diag.PermissionDenied {
		t.Errorf("nil: %v", err)
	}
}

func TestHeldLimits(t *testing.T) {
	t.Parallel()
	ref := item.Ref{Kind: item.Tool, ID: "a"}
	if err := (policy.Held)(nil).Allows(policy.Execute, ref); diag.CodeOf(err) != diag.PermissionDenied {
		t.Errorf("nil: %v", err)
	}
	all := policy.Grant{Caps: set("rye.*"), Source: "person"}
	var h policy.Held
	for range policy.MaxHeld {
		h = h.With(all)
	}
	if err := h.Allows(policy.Execute, ref); err != nil {
		t.Errorf("%d grants: %v", len(h), err)
	}
	h = h.With(all)
	for _, err := range []error{h.Allows(policy.Execute, ref), h.AllowsAny(policy.Load)} {
		if diag.CodeOf(err) != diag.LimitExceeded {
			t.Errorf("%d grants: %v", len(h), err)
		}
	}
	if len(h.Caps()) != 0 {
		t.Errorf("Caps = %v", h.Caps())
	}
}

// TestWithCopies shows that two calls that extend the same grants do not share memory.
func TestWithCopies(t *testing.T) {
	t.Parallel()
	base := policy.Held{}.With(policy.Grant{Caps: set("rye.*"), Source: "person"})
	a, b := base.With(policy.Grant{Source: "a"}), base.With(policy.Grant{Source: "b"})
	if a[1].Source != "a" || b[1].Source != "b" || len(base) != 1 {
		t.Errorf("%v %v %v", base, a, b)
	}
}

// TestDirectivesAcceptTheSame compares Parse with the reader of <permissions>.
func TestDirectivesAcceptTheSame(t *testing.T) {
	t.Parallel()
	const alphabet = "ab-_.*?[]!^z9ä(+:"
	r := rand.New(rand.NewPCG(5, 6))
	accepted := 0
	for range 5_000 {
		var b strings.Builder
		for range 1 + r.IntN(7) {
			c := []rune(alphabet)
			b.WriteRune(c[r.IntN(len(c))])
		}
		text := b.String()
		_, err := policy.Parse("rye.load.tool." + text)
		_, fs := dx.Directive([]byte("<directive name='a' version='1.0.0'><metadata><description>d</description><permissions><load><tool>"+text+"</tool></load></permissions></metadata></directive>"), 1)
		if (err == nil) != !diag.Failed(fs) {
			t.Fatalf("%q: Parse %v, directive %v", text, err, fs)
		}
		if err == nil {
			accepted++
		}
	}
	if accepted < 200 {
		t.Errorf("only %d patterns were accepted: the test shows little", accepted)
	}
}

func TestParseLimits(t *testing.T) {
	t.Parallel()
	segments := strings.Repeat(".a", 31)
	for s, want := range map[string]bool{
		"rye" + segments: true, "rye" + segments + ".a": false,
		"rye." + strings.Repeat("a", 508): true, "rye." + strings.Repeat("a", 509): false,
		"rye.[^a]": false, "rye.[a]": true, "rye.[!a]": true, "rye.[]": false, "rye.[!]": false, "rye.[z-a]": false, "rye.[a-z0-9]x": true, "rye.[*]": false, "rye.a\n": false,
	} {
		if _, err := policy.Parse(s); (err == nil) != want {
			t.Errorf("Parse(%q) = %v", s, err)
		}
	}
}

// BenchmarkShown is what search pays for each match of a caller with few capabilities.
func BenchmarkShown(b *testing.B) {
	h := policy.Person().With(policy.Grant{Caps: set("rye.search.tool.gh.* rye.search.knowledge"), Source: "a"})
	_, shown, err := h.Searchable([]item.Kind{item.Tool, item.Directive, item.Knowledge})
	if err != nil {
		b.Fatal(err)
	}
	for id, want := range map[string]bool{"gh/issues/list": true, "team/issues/list": false} {
		ref := item.Ref{Kind: item.Tool, ID: id}
		b.Run(map[bool]string{true: "yes", false: "no"}[want], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if shown(ref) != want {
					b.Fatal(id)
				}
			}
		})
	}
}
