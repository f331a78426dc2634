package graphdef

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Check reports every mistake of a graph that can be found before a run, in the order
// of the file. A mistake behind one of the grammar is not reported.
func Check(
	ctx context.Context,
	ref item.Ref,
	path string,
	doc *tree.Doc,
	items Items,
) []diag.Finding {
	g, fs := parseAll(ref, path, doc)
	fs = append(fs, validate(ctx, g, items)...)
	diag.Sort(fs)
	return slices.CompactFunc(fs, diag.Finding.Equal)
}

// CheckHooks returns the mistakes in the hooks of a graph, and no other mistakes: a hook that
// cannot run would not guard the run.
func CheckHooks(doc *tree.Doc) []diag.Finding {
	p := &parser{doc: doc, r: tree.NewReader(doc, diag.ValidationFailed)}
	_, isMap := p.r.Value("config").(map[string]any)
	if !isMap {
		return nil
	}
	v := &validator{g: &Graph{doc: doc}}
	for _, h := range p.r.Map("config").Maps("hooks") {
		v.g.Hooks = append(v.g.Hooks, p.hook(h))
	}
	v.controls()
	return append(p.r.Findings(), v.out...)
}

// CheckValues returns the mistakes of a graph by which a value becomes a part of a program,
// without the rest: what a run would refuse, and {NAME} where a value was meant. schema returns the config_schema of an item, nil
// if it is not known. risk may be nil.
func CheckValues(
	doc *tree.Doc,
	risk *policy.Risk,
	schema func(item.Ref) any,
) []diag.Finding {
	g, _ := parseAll(item.Ref{}, "", doc)
	v := &validator{g: g, risk: risk}
	g.actions(func(a *Action, node string) {
		ref, ok := a.Ref()
		if ok && a.Verb == policy.Execute && ref.Kind == item.Tool && !a.unclear {
			called := policy.CallSchema(ref, schema(ref), a.Params, policy.ConstantText, schema)
			v.shellValues(a, node, called)
			v.bracedNames(a, node, called)
		}
	})
	return v.out
}

// targets reports edges to nodes that do not exist.
func (p *parser) targets(g *Graph) {
	p.blockTargets(p.r.Map("config"), g.Start, g.Nodes, g.Order)
}

func (p *parser) blockTargets(
	r *tree.Reader,
	start string,
	nodes map[string]*Node,
	order []string,
) {
	check := func(to, path, name string) {
		if nodes[to] != nil || to == "" {
			return
		}
		pos := p.doc.At(path)
		f := diag.Errorf(diag.ValidationFailed, pos.Line, pos.Column, "%s names the node %q, which does not exist here", name, to)
		nearOr(&f, to, order, "graph_edge", "node", to)
		p.r.Add(f)
	}
	check(start, r.Path("start"), r.Name("start"))
	all := r.Map("nodes")
	for _, name := range order {
		n := nodes[name]
		nr := all.Map(name)
		for _, e := range n.Next {
			check(e.To, e.path, nr.Name("next"))
		}
		if n.OnError != "" {
			check(n.OnError, nr.Path("on_error"), nr.Name("on_error"))
		}
		for _, b := range n.Branches {
			if b.Nodes != nil {
				p.blockTargets(
					nr.Map("branches").Map(b.Name),
					b.Start,
					b.Nodes,
					b.Order,
				)
			}
		}
	}
}

// nearOr names the candidate that is nearest to a word; without one the finding has the
// reason and its facts.
func nearOr(f *diag.Finding, word string, candidates []string, reason string, facts ...any) {
	if n := suggest.Nearest(word, candidates); n != "" {
		*f = f.WithReason("nearest", "nearest", n)
		return
	}
	*f = f.WithReason(reason, facts...)
}

// meant returns the node that an edge leads to, or the one that a wrong name was probably
// meant to be, so that one wrong name does not make the nodes behind it unreachable.
func meant(to string, nodes map[string]*Node, order []string) string {
	if nodes[to] != nil {
		return to
	}
	return suggest.Nearest(to, order)
}
