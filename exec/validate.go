package exec

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// pairs checks every adjacent pair.
func (c *Chain) pairs() []error {
	var errs []error
	for i := 1; i < len(c.Elements); i++ {
		errs = append(errs, checkPair(c.Elements[i-1], c.Elements[i])...)
	}
	return errs
}

// end checks that the chain has a tool and ends in a primitive of rye that this
// program implements.
func (e *Executor) end(c *Chain) error {
	last := c.Primitive()
	fail := func(code diag.Code, reason, format string, args ...any) error {
		return diag.New(code, "walking the chain of %s: "+format, append(
			[]any{c.Tool().Ref},
			args...,
		)...).
			WithReason(reason)
	}
	switch {
	case !last.Meta.Primitive():
		return fail(diag.ExecutorNotFound, "no_executor", "%s declares no executor_id", last.Ref)
	case !resolve.Sealed(last.Ref):
		return fail(diag.ExecutorNotFound, "own_primitive", "it ends in %s, which is not a primitive of rye", last.Ref)
	case len(c.Elements) == 1:
		return diag.New(diag.ValidationFailed, "running %s: a primitive runs only through a tool", last.Ref)
	case e.bodies[last.Ref.ID] == nil:
		return fail(diag.ExecutorNotFound, "own_primitive", "this version of rye cannot execute %s", last.Ref)
	}
	return nil
}

// checkPair returns the errors that keep parent from executing child.
func checkPair(child, parent *resolve.Item) []error {
	var errs []error
	fail := func(code diag.Code, format string, args ...any) {
		errs = append(errs, diag.New(code, "checking %s with its executor %s: "+format, append(
			[]any{child.Ref, parent.Ref},
			args...,
		)...))
	}
	if !lower(child.Root.Space, parent.Root.Space) {
		fail(diag.ValidationFailed, "an item of the %s space may not depend on the %s space", child.Root.Space, parent.Root.Space)
	}
	t := parent.Meta.ToolType
	if !slices.Contains([]string{"runtime", "primitive"}, t) {
		fail(diag.ValidationFailed, "its tool_type is %q, not runtime or primitive", t)
	}
	low, high, ok := constraints(parent.Meta.Fields["child_constraints"], child.Ref.ID)
	if ok {
		if msg := outside(child.Meta.Version, low, high); msg != "" {
			fail(diag.VersionMismatch, "%s", msg)
		}
	}
	missing := unmet(parent.Meta.Fields["inputs"], child.Meta.Fields["outputs"])
	if len(missing) > 0 {
		fail(diag.ValidationFailed, "the executor needs %s, which is not among the outputs of the item", strings.Join(missing, ", "))
	}
	return errs
}

// constraints returns the version bounds of child_constraints, which has
// {min_version, max_version} for every child or below a child's id. ok is false
// without a bound.
func constraints(v any, id string) (low, high string, ok bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return "", "", false
	}
	if own, has := m[id].(map[string]any); has {
		m = own
	}
	low, _ = m["min_version"].(string)
	high, _ = m["max_version"].(string)
	return low, high, low != "" || high != ""
}

// outside returns why version is not in [low, high], or "". An invalid version is
// never in the range.
func outside(version, low, high string) string {
	for _, v := range []string{version, low, high} {
		if v != "" && item.CheckVersion(v) != nil {
			return "version " + v + " is not MAJOR.MINOR.PATCH"
		}
	}
	switch {
	case version == "":
		return "the item has no version"
	case low != "" && item.CompareVersions(version, low) < 0:
		return "version " + version + " is older than min_version " + low
	case high != "" && item.CompareVersions(version, high) > 0:
		return "version " + version + " is newer than max_version " + high
	}
	return ""
}

// unmet returns the inputs of the executor that are not among the outputs of the
// item, if both declare lists.
func unmet(inputs, outputs any) []string {
	want, okIn := inputs.([]any)
	have, okOut := outputs.([]any)
	if !okIn || !okOut {
		return nil
	}
	var missing []string
	for _, w := range want {
		name, ok := w.(string)
		if ok && !slices.Contains(have, w) {
			missing = append(missing, name)
		}
	}
	return missing
}
