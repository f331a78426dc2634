package search

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// parseScope parses "", "all", "tool", "tool.rye.core.*" and the older form with
// two more words, "rye.search.tool.*".
func parseScope(scope string, kinds []item.Kind) ([]node, error) {
	words := strings.FieldsFunc(scope, func(r rune) bool {
		return r == '.' || r == '/' || r == ':'
	})
	at := 0
	if len(words) >= 3 &&
		words[0] == "rye" &&
		!slices.Contains(kinds, "rye") {
		at = len(words[0]) + len(words[1]) + 2
		words = words[2:]
	}
	if len(words) == 0 && scope == "" {
		return nil, nil
	}
	if len(words) == 0 {
		return nil, badScope(scope, 0, "it has no kind", kinds)
	}
	var out []node
	switch kind := words[0]; {
	case kind == "all" || kind == "*":
	case slices.Contains(kinds, item.Kind(kind)):
		out = append(out, filter{"type", kind})
	default:
		return nil, badScope(scope, at, "unknown kind "+strings.TrimSpace(kind), kinds)
	}
	rest := strings.TrimSuffix(strings.Join(words[1:], "/"), "*")
	if rest = strings.TrimSuffix(rest, "/"); rest == "" {
		return out, nil
	}
	if item.CheckID(rest) != nil {
		return nil, badScope(scope, at+len(words[0])+1, "the text after the kind is not a namespace", kinds)
	}
	return append(out, filter{"ns", rest}), nil
}

func badScope(scope string, at int, why string, kinds []item.Kind) error {
	all := append(kindNames(kinds), "all")
	runes := len([]rune(scope[:min(at, len(scope))]))
	nearest := suggest.Nearest(
		strings.SplitN(scope[min(at, len(scope)):], ".", 2)[0],
		all,
	)
	if nearest != "" {
		return syntaxError("scope", scope, runes, "%s", why).
			WithDetail("known", all).
			WithReason("nearest").
			WithDetail("nearest", nearest)
	}
	return syntaxError("scope", scope, runes, "%s; a scope is a kind (%s), optionally with a namespace: tool.rye.core.*", why, strings.Join(all, ", ")).
		WithDetail("known", all).WithReason("")
}

// parseSpace parses "", "all" or the name of a space.
func parseSpace(s string) ([]node, error) {
	switch s {
	case "", "all":
		return nil, nil
	case string(space.Project), string(space.User), string(space.System), RecordSpace:
		return []node{filter{"space", s}}, nil
	}
	return nil, diag.New(diag.Usage, "searching items: %q is not a space; the spaces are project, user, system, threads and all", s)
}

// rootNames returns the values of space: that select a root.
func rootNames(r *space.Root) []string {
	out := []string{string(r.Space), r.Label()}
	if r.Layer != "" {
		out = append(out, r.Layer)
	}
	return out
}
