package lock

import (
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/idpattern"
	"github.com/ryeos/rye/item"
)

// CheckTrustPattern returns an error if a pattern of trust can match no bundle:
// neither an id of a released bundle, nor the plain name that a manifest may have.
func CheckTrustPattern(pattern string) error {
	if isLabel(pattern) && !strings.Contains(pattern, ".") {
		return nil
	}
	return checkIDPattern(pattern)
}

// checkIDPattern returns an error if a pattern can match no id of a released
// bundle. A rule with such a pattern would refuse nothing, or everything.
func checkIDPattern(pattern string) error {
	refuse := func(format string, args ...any) error {
		return diag.New(diag.ConfigError, "reading pattern %q: "+format, append([]any{pattern}, args...)...)
	}
	if err := idpattern.Check(pattern); err != nil {
		return refuse("%w", err)
	}
	base := idpattern.Base(pattern)
	if base == "" {
		return nil
	}
	if isPath(base) {
		return refuse("a folder has no release, so the rule does not apply to it")
	}
	whole := strings.TrimRight(base, "/")
	id, why := parseID(whole)
	if why == "" && id.String() != whole && !strings.HasSuffix(whole, ":") {
		return refuse("the id is written %s", id)
	}
	if _, _, why := cutMajor(whole, 1); why != "" && base == pattern {
		return refuse("%s", why)
	}
	// One of these completes every beginning of an id to an id.
	for _, rest := range []string{"", "/x", "x", ":x", "//x", "///x", "//h.example/x", "h.example/x", "/x/x", "h.example/x/x"} {
		id, why := parseID(base + rest)
		if why == "" && id.Kind != PathID && idpattern.Match(pattern, id.String()) {
			return nil
		}
	}
	if id, why := parseID(whole + "/x"); why == "" {
		return refuse("no bundle id begins with it; write %s", strings.TrimSuffix(id.String(), "/x"))
	}
	return refuse("no bundle id is equal to it or below it; write the beginning of ids, such as github.com/acme")
}

// matchesTrust reports whether a pattern of trust matches an id: a rule about one address
// of a repository applies to all. A rule about github.com/acme applies to
// git@github.com:Acme/x too, and one about http://h.io:8080/x to http://h.io:8080/x.git.
func matchesTrust(pattern, id string) bool {
	return idpattern.MatchRepository(pattern, id)
}

// IdleTrust returns a warning for each rule of trust that applies to no locked
// release and to none of the names, which are the names of the project's own bundles.
// A lock without releases has none: the rule may be for the first one.
//
// A pattern of policy.sources that matches nothing is not a finding: it allows less.
func (m *ProjectFile) IdleTrust(l *Lock, names ...string) []diag.Finding {
	ids := slices.Clone(names)
	for _, b := range l.Bundles {
		if b.Sum != "" {
			ids = append(ids, b.ID.String())
		}
	}
	if len(ids) == len(names) {
		return nil
	}
	var out []diag.Finding
	for _, pattern := range slices.Sorted(maps.Keys(m.Trust)) {
		if slices.ContainsFunc(ids, func(id string) bool { return matchesTrust(pattern, id) }) {
			continue
		}
		at := m.Position("trust", pattern)
		out = append(out, diag.Warnf(diag.ConfigError, at.Line, at.Column, "the rule of trust for %q applies to no locked bundle", pattern).
			WithReason("idle_trust"))
	}
	return diag.WithPath(out, ProjectFileName)
}

// Uses reports whether the patterns of use name an item. Without patterns every
// item is used.
func Uses(use []string, ref item.Ref) bool {
	return len(use) == 0 || slices.ContainsFunc(use, func(pattern string) bool {
		kind, ids, _ := strings.Cut(pattern, ":")
		return item.Kind(kind) == ref.Kind && glob.Match(ids, ref.ID)
	})
}
