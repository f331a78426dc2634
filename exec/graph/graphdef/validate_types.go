package graphdef

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/policy"
)

// types compares what nodes assign with the types that state_schema declares: constants,
// the inputs, and results whose item declares an output. Only what cannot fit is an
// error: a value is compared again at the commit of its node.
func (v *validator) types(ctx context.Context) {
	kinds := v.stateTypes(ctx)
	v.g.each(func(n *Node, name string) {
		result := v.resultOf(ctx, n)
		v.compares(n, name, result, kinds)
		v.assigns(n.Assign, name, tree.Join(n.path, "assign"), result)
		if n.Collect != "" {
			v.fits(n.Collect, []string{"array"}, "the results of the entries", name, n.path)
		}
		for _, b := range n.Branches {
			if b.Action != nil {
				v.assigns(
					b.Assign,
					name+"."+b.Name,
					tree.Join(b.path, "assign"),
					v.called(ctx, b.Action),
				)
			}
		}
	})
}

// assigns checks the assignments of a node or a branch. result is the schema of
// ${result}, nil if it is not known.
func (v *validator) assigns(assign map[string]*interpolate.Template, node, path string, result any) {
	for _, k := range slices.Sorted(maps.Keys(assign)) {
		t := assign[k]
		at := tree.Join(path, k)
		value, constant := t.Constant()
		if constant {
			v.constant(k, value, node, at)
			continue
		}
		e, whole := t.Whole()
		switch {
		case !whole:
			words := map[string]string{"string": "a text", "array": "a list", "object": "a mapping"}
			v.fits(
				k,
				[]string{t.Type()},
				words[t.Type()],
				node,
				at,
			)
		case !e.Optional:
			v.read(k, e, node, at, result)
		}
	}
}

// constant compares a constant with the type of a key of the state.
func (v *validator) constant(key string, value any, node, at string) {
	if v.g.StateSchema == nil || v.g.StateKeys[key] == nil {
		return
	}
	for _, bad := range v.g.StateSchema.Validate(any(map[string]any{key: value})) {
		if bad.Keyword != "required" {
			v.report(
				at,
				"graph_type",
				[]any{"key", key},
				"node %s assigns a value that does not fit state_schema: %s %s",
				node,
				bad.Path,
				bad.Message,
			)
		}
	}
}

// read compares the declared type of the value that an expression reads with the type of the key.
func (v *validator) read(key string, e *interpolate.Expr, node, at string, result any) {
	if e.Func == "json" {
		return // what a text contains is not declared
	}
	declared, missing, known := v.declared(e.Path, result)
	switch {
	case missing != "" && e.Path[0] == "result":
		f := v.errorf(at, "node %s reads %s: the output of its item declares no %q", node, strings.Join(e.Path, "."), missing)
		nearOr(f, missing, known, "graph_output", "outputs", known)
	case missing == "" && e.Func != "":
		v.fits(key, typesOfCall(e.Func, declared), e.Call.String(), node, at)
	case missing == "":
		v.fits(key, typesOf(declared), strings.Join(e.Path, "."), node, at)
	}
}

// declared returns the schema of a path, as below does. result is the schema of ${result}.
func (v *validator) declared(path []string, result any) (found any, missing string, known []string) {
	source := any(nil)
	names := path[1:]
	switch path[0] {
	case "result":
		source = result
	case "inputs":
		source = v.g.doc.Root["config_schema"]
	case "state":
		source = map[string]any{"properties": v.g.StateKeys}
	case "run":
		source = object("id", "string", "started", "string", "step", "integer")
	case "error":
		source = object("node", "string", "code", "string", "message", "string", "retryable", "boolean", "item", "integer", "branch", "string")
	case "env":
		if len(names) == 1 {
			source = map[string]any{"type": "string"}
			names = nil
		}
	}
	return below(source, names)
}

// fits reports a key of the state whose declared types include none of the types of a
// value. An empty list is not known.
func (v *validator) fits(key string, types []string, what, node, at string) {
	want := typesOf(v.g.StateKeys[key])
	if len(types) == 0 || len(want) == 0 {
		return
	}
	for _, t := range types {
		if slices.ContainsFunc(want, func(w string) bool { return overlap(t, w) }) {
			return
		}
	}
	v.report(
		at,
		"graph_type",
		[]any{"key", key},
		"node %s assigns %s to state.%s: it is %s, and state_schema has %s",
		node,
		what,
		key,
		strings.Join(types, " or "),
		strings.Join(want, " or "),
	)
}

// overlap reports whether a value can have both types.
func overlap(a, b string) bool {
	number := func(t string) bool { return t == "number" || t == "integer" }
	return a == b || number(a) && number(b)
}

// resultOf returns the schema of ${result} in the assign of a node.
func (v *validator) resultOf(ctx context.Context, n *Node) any {
	switch n.Type {
	case TypeAction:
		return v.called(ctx, n.Action)
	case TypeForeach:
		return object("items", "array", "errors", "array")
	case TypeParallel:
		out := object("errors", "array")
		for _, b := range n.Branches {
			out["properties"].(map[string]any)[b.Name] = map[string]any{}
		}
		return out
	case TypeAsk:
		out := object("answer", "string", "first", "boolean", "by", "string", "time", "string")
		if n.Ask.RawSchema != nil {
			out["properties"].(map[string]any)["answer"] = n.Ask.RawSchema
		}
		return out
	case TypeWait:
		out := object("at", "string", "event", "string", "runs", "object")
		out["properties"].(map[string]any)["payload"] = map[string]any{}
		return out
	}
	return nil
}

// called returns the schema of the result of an action, nil if its item declares none.
func (v *validator) called(ctx context.Context, a *Action) any {
	ref, fixed := a.Ref()
	if !fixed || a.Verb != policy.Execute {
		return nil
	}
	d, _, err := v.items.Describe(ctx, ref)
	if err != nil {
		return nil // reported with the action
	}
	if d.Graph {
		out := object("run_id", "string", "status", "string", "steps", "integer", "errors", "array", "cost", "object")
		out["properties"].(map[string]any)["output"] = map[string]any{}
		return out
	}
	if d.Thread {
		out := object("thread_id", "string", "state", "string", "text", "string", "cost", "object")
		props, _ := d.Output.(map[string]any)
		out["properties"].(map[string]any)["outputs"] = map[string]any{"type": "object", "properties": props, "additionalProperties": false}
		return out
	}
	return d.Output
}

// object returns the schema of an object with these keys and types and no others.
func object(pairs ...string) map[string]any {
	props := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		props[pairs[i]] = map[string]any{"type": pairs[i+1]}
	}
	return map[string]any{"type": "object", "properties": props, "additionalProperties": false}
}

// below returns the schema of a path in a schema, nil if it is not known. missing is
// the first name that the schema excludes, and known are those that it declares.
func below(schema any, names []string) (found any, missing string, known []string) {
	for _, name := range names {
		m, _ := schema.(map[string]any)
		if m == nil {
			return nil, "", nil
		}
		if _, err := strconv.Atoi(name); err == nil {
			schema = m["items"]
			continue
		}
		props, _ := m["properties"].(map[string]any)
		next, ok := props[name]
		switch {
		case ok:
			schema = next
		case m["additionalProperties"] == false && m["patternProperties"] == nil && m["$ref"] == nil && m["allOf"] == nil:
			return nil, name, slices.Sorted(maps.Keys(props))
		default:
			return nil, "", nil
		}
	}
	return schema, "", nil
}

// typesOf returns the types that a schema names, nil if it does not.
func typesOf(schema any) []string {
	m, _ := schema.(map[string]any)
	var out []string
	switch t := m["type"].(type) {
	case string:
		out = append(out, t)
	case []any:
		for _, x := range t {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}
