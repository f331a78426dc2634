package packages

import (
	"maps"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// Weakened returns a warning for each rule of an earlier project file that the
// current one lacks or changes, and for each new prefer and replace: they select
// other code without a change of rye.lock that a reviewer would see. A new prefer for
// which over returns a text is an error: the text states what the item replaces.
func Weakened(was RuleFile, now *lock.ProjectFile, over func(ref string) string) []diag.Finding {
	if now == nil {
		now = &lock.ProjectFile{}
	}
	current := RuleFile{Path: lock.ProjectFileName, ProjectFile: now}
	var out []diag.Finding
	warn := func(at diag.Position, format string, args ...any) {
		f := diag.Warnf(diag.Drift, at.Line, at.Column, format, args...).
			WithReason("rules_changed")
		f.Path = lock.ProjectFileName
		out = append(out, f)
	}
	values := map[string]string{}
	for _, r := range (Rules{current}).List() {
		values[r.Key] = r.Value
	}
	for _, r := range (Rules{was}).List() {
		value, ok := values[r.Key]
		switch {
		case !ok:
			warn(diag.Position{Line: 1, Column: 1}, "the rule %s (%s) is removed", r.String(), r.Value)
		case value != r.Value:
			warn(now.Position("policy", ""), "the rule %s changes from %s to %s", r.String(), r.Value, value)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(now.Prefer)) {
		if was.Prefer[ref] == now.Prefer[ref] {
			continue
		}
		at := now.Position("prefer", ref)
		if why := over(ref); why != "" {
			f := diag.Errorf(
				diag.ConsentRequired,
				at.Line,
				at.Column,
				"new: %s is provided by %s and %s",
				ref,
				now.Prefer[ref],
				why,
			)
			f.Path = lock.ProjectFileName
			out = append(out, f.WithReason("prefer_base", "ref", ref))
			continue
		}
		warn(at, "new: %s is provided by %s", ref, now.Prefer[ref])
	}
	for _, id := range lock.SortedIDs(maps.Keys(now.Replace)) {
		if was.Replace[id] != now.Replace[id] {
			warn(now.Position("replace", id.String()), "new: %s is replaced by %s", id, now.Replace[id])
		}
	}
	return out
}
