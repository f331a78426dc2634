package graphdef

import (
	"context"
	"slices"

	"github.com/ryeos/rye/internal/cond"
	"github.com/ryeos/rye/internal/interpolate"
)

// typesOfCall returns the types of what a function of package pathcall returns.
func typesOfCall(name string, declared any) []string {
	switch name {
	case "int":
		return []string{"integer"}
	case "float":
		return []string{"number"}
	case "json":
		return nil
	}
	return typesOf(declared)
}

// kinds are the types of the keys of the state that state_schema does not declare, by
// what is assigned to them. A key that gets a value of an unknown type has none.
type kinds map[string][]string

// stateTypes collects the types of everything that is assigned.
func (v *validator) stateTypes(ctx context.Context) kinds {
	out := kinds{}
	unknown := map[string]bool{}
	add := func(key string, types []string) {
		if len(types) == 0 {
			unknown[key] = true
		}
		out[key] = append(out[key], types...)
	}
	assigns := func(assign map[string]*interpolate.Template, result any) {
		for key, t := range assign {
			add(key, v.assigned(t, result))
		}
	}
	for key, value := range v.g.State {
		if value != nil {
			add(key, typeOf(value))
		}
	}
	v.g.each(func(n *Node, _ string) {
		assigns(n.Assign, v.resultOf(ctx, n))
		if n.Collect != "" {
			add(n.Collect, []string{"array"})
		}
		for _, b := range n.Branches {
			if b.Action != nil {
				assigns(b.Assign, v.called(ctx, b.Action))
			}
		}
	})
	for key := range out {
		if unknown[key] || v.g.StateKeys[key] != nil {
			delete(out, key)
		}
	}
	return out
}

// assigned returns the types of the value of a template, nil if they are not known.
func (v *validator) assigned(t *interpolate.Template, result any) []string {
	if value, constant := t.Constant(); constant {
		return typeOf(value)
	}
	e, whole := t.Whole()
	if !whole {
		return []string{t.Type()}
	}
	if e.Optional {
		return nil // null, or a default
	}
	declared, missing, _ := v.declared(e.Path, result)
	if missing != "" {
		return nil
	}
	return typesOfCall(e.Func, declared)
}

// typeOf returns the type of a value. null has none.
func typeOf(value any) []string {
	switch value.(type) {
	case string:
		return []string{"string"}
	case int64, float64:
		return []string{"number"}
	case bool:
		return []string{"boolean"}
	case []any:
		return []string{"array"}
	case map[string]any:
		return []string{"object"}
	}
	return nil
}

// compares reports the edges of a node that compare a text with a number: the run would
// fail there. A declared type must exclude the comparison; of a key without one, each
// type that is assigned.
func (v *validator) compares(n *Node, name string, result any, inferred kinds) {
	for _, e := range n.Next {
		for _, c := range e.When.Comparisons() {
			if f := v.compared(c, result, inferred); f != nil {
				v.report(e.path, "graph_compare", nil, "node %s: %v", name, f)
			}
		}
	}
}

func (v *validator) compared(c cond.Comparison, result any, inferred kinds) error {
	if c.Call.Func != "" {
		types := typesOfCall(c.Call.Func, nil)
		if len(types) > 0 {
			return c.Fits(types[0])
		}
		return nil
	}
	path := c.Call.Path
	if path[0] == "state" &&
		len(path) == 2 &&
		len(inferred[path[1]]) > 0 {
		for _, t := range inferred[path[1]] {
			if err := c.Fits(t); err != nil {
				return err
			}
		}
		return nil
	}
	declared, missing, _ := v.declared(path, result)
	types := typesOf(declared)
	if missing != "" || len(types) == 0 {
		return nil
	}
	var errs []error
	for _, t := range types {
		errs = append(errs, c.Fits(t))
	}
	if slices.Contains(errs, nil) {
		return nil
	}
	return errs[0]
}
