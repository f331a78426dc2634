package graphdef

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hooks"
	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Described is what Check needs to know of an item.
type Described struct {
	Schema  any  // config_schema, nil without one
	Output  any  // output_schema, or the types of a directive's outputs; nil without one
	Locked  bool // rye.lock contains it
	Project bool // it is of the project, and a lock could contain it
	Graph   bool
	Thread  bool // it is a directive
}

// Items describes items for Check.
type Items interface {
	// Describe resolves an item. similar are ids that a wrong one was probably meant to be.
	Describe(ctx context.Context, ref item.Ref) (d Described, similar []string, err error)
	// Risk returns the table of programs and their arguments, nil if it cannot be read.
	Risk(ctx context.Context) *policy.Risk
}

// validate reports the mistakes that need the whole graph, or the items that it names.
func validate(ctx context.Context, g *Graph, items Items) []diag.Finding {
	v := &validator{g: g, items: items, risk: items.Risk(ctx)}
	v.block("", g.Start, g.Nodes, g.Order)
	v.state()
	v.types(ctx)
	v.permissions()
	v.actions(ctx)
	v.controls()
	return diag.WithPath(v.out, g.Path)
}

type validator struct {
	g     *Graph
	items Items
	risk  *policy.Risk // knows programs that start others; it may be nil
	out   []diag.Finding
}

func (v *validator) at(path string) diag.Position {
	return v.g.doc.At(path)
}

func (v *validator) errorf(path, format string, args ...any) *diag.Finding {
	pos := v.at(path)
	v.out = append(v.out, diag.Errorf(
		diag.ValidationFailed,
		pos.Line,
		pos.Column,
		format,
		args...,
	))
	return &v.out[len(v.out)-1]
}

// report is errorf with the reason and the facts of its hint.
func (v *validator) report(path, reason string, facts []any, format string, args ...any) {
	f := v.errorf(path, format, args...)
	*f = f.WithReason(reason, facts...)
}

// warn is report with a warning.
func (v *validator) warn(path, reason, format string, args ...any) {
	v.report(path, reason, nil, format, args...)
	v.out[len(v.out)-1].Severity = diag.SeverityWarning
}

// block checks the edges of one mapping of nodes.
func (v *validator) block(prefix, start string, nodes map[string]*Node, order []string) {
	reached := map[string]bool{}
	unclear := false // an edge leads to a node that is not known
	var visit func(string)
	visit = func(name string) {
		n := nodes[name]
		if n == nil || reached[name] {
			return
		}
		reached[name] = true
		unclear = unclear || n.unclear
		for _, to := range n.targets() {
			to = meant(to, nodes, order)
			unclear = unclear || to == ""
			visit(to)
		}
	}
	from := meant(start, nodes, order)
	visit(from)
	for _, name := range order {
		n := nodes[name]
		if !reached[name] && !unclear && from != "" {
			v.report(
				n.path,
				"graph_unreachable",
				[]any{"node", prefix + name},
				"node %s: no edge leads to it from %s",
				prefix+name,
				prefix+from,
			)
		}
		v.node(n, prefix)
		for _, b := range n.Branches {
			if b.Nodes != nil {
				v.block(
					prefix+name+"."+b.Name+".",
					b.Start,
					b.Nodes,
					b.Order,
				)
			}
		}
	}
	v.cycles(prefix, nodes, order)
}

func (n *Node) targets() []string {
	var out []string
	for _, e := range n.Next {
		out = append(out, e.To)
	}
	if n.OnError != "" {
		out = append(out, n.OnError)
	}
	return out
}

// cycles reports cycles of edges that are always taken.
func (v *validator) cycles(prefix string, nodes map[string]*Node, order []string) {
	done := map[string]bool{}
	for _, name := range order {
		seen := map[string]int{}
		var path []string
		for at := name; at != "" && nodes[at] != nil && !done[at]; {
			if i, repeated := seen[at]; repeated {
				cycle := append(slices.Clone(path[i:]), at)
				v.report(
					nodes[cycle[0]].path,
					"graph_cycle",
					nil,
					"the nodes %s form a cycle without a condition: the run would end at max_steps",
					prefix+strings.Join(cycle, " -> "),
				)
				break
			}
			seen[at] = len(path)
			path = append(path, at)
			next := ""
			edges := nodes[at].Next
			if len(edges) > 0 && edges[0].When == nil {
				next = edges[0].To
			}
			at = next
		}
		for _, p := range path {
			done[p] = true
		}
	}
}

// node checks one node by itself.
func (v *validator) node(n *Node, prefix string) {
	for i, e := range n.Next {
		if e.When == nil && i < len(n.Next)-1 {
			v.report(n.Next[i+1].path, "graph_dead_edge", nil, "node %s: this edge is never taken, because the one before it has no condition", prefix+n.Name)
			break
		}
	}
	if n.Ask != nil &&
		n.Ask.Timeout > 0 &&
		!n.Ask.HasDefault &&
		n.OnError == "" {
		v.report(n.path, "graph_ask_timeout", nil, "node %s: the question has a timeout, and without an answer the run fails", prefix+n.Name)
	}
}

// uses are the reads of templates and conditions of a graph.
type use struct {
	root, key string
	path      string // in the document
	optional  bool
	node      string
}

// state checks the roots of all paths, and the keys of the state that are read and
// assigned.
func (v *validator) state() {
	written := map[string]string{}
	for k := range v.g.State {
		written[k] = "config.state"
	}
	v.g.each(func(n *Node, name string) {
		for k := range n.writes() {
			if written[k] != "" {
				continue
			}
			if written[k] = n.path; n.Assign[k] != nil {
				written[k] = tree.Join(tree.Join(n.path, "assign"), k)
			}
		}
	})
	read := map[string]bool{}
	inputs := v.inputs()
	for _, u := range v.uses() {
		switch u.root {
		case "state":
			if u.key == "" {
				for k := range written {
					read[k] = true
				}
				continue
			}
			read[u.key] = true
			if written[u.key] == "" && !u.optional {
				f := v.errorf(u.path, "node %s reads state.%s, which nothing assigns", u.node, u.key)
				nearOr(
					f,
					u.key,
					slices.Sorted(maps.Keys(written)),
					"graph_unassigned",
					"key",
					u.key,
				)
			}
		case "inputs":
			if inputs != nil &&
				u.key != "" &&
				!slices.Contains(inputs, u.key) &&
				!u.optional {
				f := v.errorf(u.path, "node %s reads inputs.%s, which config_schema does not declare", u.node, u.key)
				nearOr(f, u.key, inputs, "graph_input", "key", u.key)
			}
		case "env":
			if u.key != "" && !slices.Contains(v.g.Env(), u.key) {
				v.report(
					u.path,
					"graph_env_name",
					[]any{"key", u.key},
					"node %s reads env.%s, which env_requires does not name",
					u.node,
					u.key,
				)
			}
		case "run":
			if u.key != "id" && u.key != "started" && u.key != "step" {
				f := v.errorf(u.path, "node %s reads run.%s: run has id, started and step", u.node, u.key)
				nearOr(f, u.key, []string{"id", "started", "step"}, "graph_run_key")
			}
		}
	}
	returnsState := false
	v.g.each(func(n *Node, _ string) {
		returnsState = returnsState ||
			n.Type == TypeReturn && n.Output == nil ||
			n.Type != TypeReturn && len(n.Next) == 0
	})
	for _, k := range slices.Sorted(maps.Keys(written)) {
		if v.g.StateClosed && v.g.StateKeys[k] == nil {
			f := v.errorf(written[k], "the state has no key %q in state_schema", k)
			nearOr(
				f,
				k,
				slices.Sorted(maps.Keys(v.g.StateKeys)),
				"graph_state_key",
				"key",
				k,
			)
		}
		if !read[k] && !returnsState {
			v.warn(written[k], "graph_unread", "state.%s is assigned and never read", k)
		}
	}
}

// inputs returns the names of the inputs, nil if any are permitted.
func (v *validator) inputs() []string {
	if v.g.Inputs == nil || v.g.Inputs.Known("no_such_input_x") == nil {
		return nil
	}
	return v.g.Inputs.Properties()
}

// uses returns the reads of every template and condition. A first name that is not a
// root is reported.
func (v *validator) uses() []use {
	var out []use
	add := func(node, path string, names []string, optional bool, extra ...string) {
		u := use{
			root:     names[0],
			path:     path,
			optional: optional,
			node:     node,
		}
		if len(names) > 1 {
			u.key = names[1]
		}
		known := append(roots(), extra...)
		if !slices.Contains(known, u.root) {
			f := v.errorf(
				path,
				"node %s reads %s: a path begins with one of %s",
				node,
				strings.Join(names, "."),
				strings.Join(known, ", "),
			)
			nearOr(f, u.root, known, "graph_root")
			return
		}
		out = append(out, u)
	}
	template := func(node, path string, t *interpolate.Template, extra ...string) {
		if t == nil {
			return
		}
		t.Each(func(at string, e *interpolate.Expr) {
			where := path
			if at != "" {
				where += "." + at
			}
			add(node, where, e.Path, e.Optional, extra...)
		})
	}
	action := func(node, path string, a *Action, extra ...string) {
		if a == nil {
			return
		}
		template(node, tree.Join(path, "item_id"), a.ID, extra...)
		template(node, tree.Join(path, "params"), a.Params, extra...)
	}
	v.g.each(func(n *Node, name string) {
		at := func(keys ...string) string {
			p := n.path
			for _, k := range keys {
				p = tree.Join(p, k)
			}
			return p
		}
		extra := []string{}
		if n.Type == TypeForeach {
			extra = append(extra, n.As)
		}
		action(name, at("action"), n.Action, extra...)
		template(name, at("over"), n.Over)
		template(name, at("output"), n.Output)
		for _, k := range slices.Sorted(maps.Keys(n.Assign)) {
			template(name, at("assign", k), n.Assign[k])
		}
		if n.Ask != nil {
			template(name, at("question"), n.Ask.Question)
		}
		if n.Wait != nil {
			template(name, at("until"), n.Wait.Until)
			template(name, at("runs"), n.Wait.Runs)
		}
		for _, e := range n.Next {
			for _, p := range e.When.Paths() {
				add(name, e.path, p, true)
			}
		}
		for _, b := range n.Branches {
			p := at("branches", b.Name)
			action(name, tree.Join(p, "action"), b.Action)
			for _, k := range slices.Sorted(maps.Keys(b.Assign)) {
				template(name, tree.Join(tree.Join(p, "assign"), k), b.Assign[k])
			}
		}
	})
	return out
}

// permissions reports actions that the graph's own permissions do not cover.
func (v *validator) permissions() {
	if v.g.Permissions == nil || v.g.unclear {
		return
	}
	v.g.actions(func(a *Action, node string) {
		ref, ok := a.Ref()
		if !ok {
			return
		}
		want := policy.Needed(a.Verb, ref)
		if !v.g.Permissions.Holds(want) {
			v.report(
				a.path,
				"graph_capability",
				[]any{"capability", string(want)},
				"node %s needs the capability %s, which permissions does not contain",
				node,
				want,
			)
		}
	})
}

// actions checks the items that nodes name by a fixed id, and their parameters.
func (v *validator) actions(ctx context.Context) {
	v.g.actions(func(a *Action, node string) {
		ref, ok := a.Ref()
		if !ok || a.Verb != policy.Execute {
			return
		}
		d, similar, err := v.items.Describe(ctx, ref)
		if err != nil {
			f := v.errorf(a.path, "node %s: %v", node, err)
			if diag.CodeOf(err).Class() == diag.ClassNotFound {
				nearOr(f, ref.ID, similar, "graph_item", "ref", ref.String())
			} else {
				*f = f.WithReason("graph_verify", "ref", ref.String())
			}
			return
		}
		if d.Project && !d.Locked {
			v.warn(a.path, "graph_unlocked", "node %s: %s is not in rye.lock", node, ref)
		}
		switch {
		case a.Cache && d.Graph:
			v.warn(a.path, "graph_uncached", "node %s: the result of a graph is not cached, because it can contain an answer", node)
		case a.Cache && d.Thread:
			v.warn(a.path, "graph_uncached", "node %s: the result of a thread is not cached, because a model answers differently each time", node)
		}
		v.params(a, node, ref, d)
		schema := policy.CallSchema(ref, d.Schema, a.Params, policy.ConstantText, func(called item.Ref) any {
			inner, _, _ := v.items.Describe(ctx, called)
			return inner.Schema
		})
		v.shellValues(a, node, schema)
		v.bracedNames(a, node, schema)
	})
}

// shellValues reports the values that a shell would read as a part of a program.
func (v *validator) shellValues(a *Action, node string, schema any) {
	if a.Params == nil || a.unclear {
		return
	}
	path := strings.TrimSuffix(a.path, "item_id") + "params"
	for _, u := range v.risk.ShellUses(schema, a.Params, v.isNumber) {
		line := ""
		if u.Line > 1 {
			line = fmt.Sprintf(", line %d", u.Line)
		}
		f := v.errorf(path+"."+u.At, "node %s: the parameter %s%s: %s would become a part of the program that the shell reads", node, u.At, line, u)
		*f = f.WithReason(u.Reason())
		f.Facts = u.Facts()
	}
}

// bracedNames warns about {NAME} in a text of the shell where NAME is a value of the graph.
func (v *validator) bracedNames(a *Action, node string, schema any) {
	if a.Params == nil || a.unclear {
		return
	}
	path := strings.TrimSuffix(a.path, "item_id") + "params"
	inputs, _ := v.g.doc.Root["config_schema"].(map[string]any)
	declared, _ := inputs["properties"].(map[string]any)
	read := func(name string) string {
		first, _, deeper := strings.Cut(name, ".")
		switch {
		case declared[first] != nil:
			return "${inputs." + name + "}"
		case v.g.StateKeys[first] != nil:
			return "${state." + name + "}"
		case deeper && slices.Contains([]string{"inputs", "state", "result", "run", "env", "error"}, first):
			return "${" + name + "}"
		}
		return ""
	}
	for _, b := range policy.BracedNames(schema, a.Params, func(name string) bool { return read(name) != "" }) {
		line := ""
		if b.Line > 1 {
			line = fmt.Sprintf(", line %d", b.Line)
		}
		v.warn(
			path+"."+b.At,
			"braced_name",
			"node %s: the parameter %s%s: {%s} is not a template and stays as it is; the value is %s",
			node,
			b.At,
			line,
			b.Name,
			read(b.Name),
		)
	}
}

// isNumber reports whether the declared type of what an expression reads is a number or a
// truth value.
func (v *validator) isNumber(e *interpolate.Expr) bool {
	var source any
	switch e.Path[0] {
	case "inputs":
		source = v.g.doc.Root["config_schema"]
	case "state":
		source = map[string]any{"properties": v.g.StateKeys}
	case "run":
		source = object("step", "integer")
	default:
		return false
	}
	declared, missing, _ := below(source, e.Path[1:])
	types := typesOf(declared)
	return missing == "" && len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool {
		return t != "integer" && t != "number" && t != "boolean"
	})
}

// params compares constant parameters, and the names of all, with the item's schema.
func (v *validator) params(a *Action, node string, ref item.Ref, d Described) {
	if d.Schema == nil || a.unclear {
		return
	}
	s, fs := schema.Compile(d.Schema)
	if s == nil || diag.Failed(fs) {
		return
	}
	names := a.Params.Keys()
	path := strings.TrimSuffix(a.path, "item_id") + "params"
	for _, name := range names {
		if err := s.Known(name); err != nil {
			f := v.errorf(tree.Join(path, name), "node %s: %s has no parameter %q", node, ref, name)
			nearOr(
				f,
				name,
				s.Properties(),
				"graph_parameter",
				"ref",
				ref.String(),
				"parameters",
				s.Properties(),
			)
			continue
		}
		if value, constant := a.Params.Key(name).Constant(); constant {
			for _, bad := range s.Validate(any(map[string]any{name: value})) {
				if bad.Keyword != "required" {
					v.report(
						tree.Join(path, name),
						"graph_value",
						[]any{"ref", ref.String()},
						"node %s: the parameter %s %s",
						node,
						name,
						bad.Message,
					)
				}
			}
		}
	}
	for _, name := range s.Required() {
		if !slices.Contains(names, name) {
			v.report(a.path, "graph_missing", []any{"parameter", name}, "node %s: the parameter %q of %s is missing", node, name, ref)
		}
	}
}

// controls checks the control actions of hooks, which would fail when the hook runs.
func (v *validator) controls() {
	for _, h := range v.g.Hooks {
		id, _ := h.Action.ID.Constant()
		if id != hooks.ControlID {
			continue
		}
		path := h.Action.path
		err := hooks.CheckAction(h.Action.raw, Decisions(h.Event))
		if err != nil {
			e := diag.Typed(err)
			v.report(path, e.Reason, nil, "hook %s: %s", h.ID, e.Message)
			v.out[len(v.out)-1].Facts = e.Details
		}
	}
}
