package graphdef

import (
	"bytes"
	"context"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// FuzzParse checks that a graph that parses can be drawn, that what the parser accepts
// has edges to existing nodes only, and that every text can be checked as far as it can
// be read.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`config: {start: a, nodes: {a: {action: {item_id: t/echo, params: {x: "${state.n}"}, retry: {policy: {type: fixed, delay: 2}}}, cache_result: true, on_error: b, next: [{to: b, when: "state.n > 1"}, {to: a}]}, b: {type: return, status: fail}}}`,
		`config: {start: p, nodes: {p: {type: parallel, join: 1, branches: {one: {action: {item_id: t/a}}, two: {start: x, nodes: {x: {type: gate, next: []}}}}}}}`,
		`config: {start: q, nodes: {q: {type: ask, question: "Go?", choices: [x], default: x, timeout_seconds: 3, next: w}, w: {type: wait, event: go, next: f}, f: {type: foreach, over: [1], as: n, collect: c, action: {item_id: "t/${n}"}}}}`,
		`{limits: {turns: 1, spend: "0.5"}, permissions: [rye.execute.tool.t.*], config: {start: a, state: {n: 1}, state_schema: {type: object}, hooks: [{event: node_started, condition: "node == 'a'", action: {item_id: t/a}}], nodes: {a: {type: gate, next: none}}}}`,
		`config: {start: [], nodes: {a: , 1: 2, p: {type: parallel, branches: {b: {nodes: []}}}}}`,
		`config: {start: a, state_schema: 3, nodes: {a: {type: ask, schema: {type: [1]}, default: ~}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, _ := yamlx.ParseItem(text)
		if doc == nil {
			return
		}
		ref := item.Ref{Kind: item.Tool, ID: "team/demo_graph"}
		g, fs := Parse(ref, "demo.yaml", doc)
		if (g == nil) != diag.Failed(fs) {
			t.Fatalf("graph %v with %v", g != nil, fs)
		}
		for _, finding := range fs {
			if finding.Message == "" || finding.Path != "demo.yaml" {
				t.Errorf("%+v", finding)
			}
		}
		all := Check(t.Context(), ref, "demo.yaml", doc, noItems{})
		for _, finding := range all {
			if finding.Message == "" || finding.Path != "demo.yaml" {
				t.Errorf("%+v", finding)
			}
		}
		if g == nil {
			if !diag.Failed(all) {
				t.Errorf("%v is not in %v", fs, all)
			}
			return
		}
		g.each(func(n *Node, name string) {
			for _, to := range n.targets() {
				if at := name[:len(name)-len(n.Name)]; !nodesAt(g, at)[to] {
					t.Errorf("%s leads to %s", name, to)
				}
			}
		})
		for _, picture := range []string{g.Terminal(nil), g.Mermaid(nil), g.Dot(nil)} {
			if picture == "" || bytes.ContainsRune([]byte(picture), 0) {
				t.Errorf("%q", picture)
			}
		}
	})
}

// noItems knows no item.
type noItems struct{}

// Describe implements Items.
func (noItems) Risk(context.Context) *policy.Risk { return nil }

func (noItems) Describe(_ context.Context, ref item.Ref) (Described, []string, error) {
	return Described{}, nil, diag.New(diag.ItemNotFound, "finding %s: it does not exist", ref)
}

// nodesAt returns the names of the nodes with a prefix.
func nodesAt(g *Graph, prefix string) map[string]bool {
	out := map[string]bool{}
	g.each(func(n *Node, name string) {
		if name == prefix+n.Name {
			out[n.Name] = true
		}
	})
	return out
}

func parse(t testing.TB, text string) *Graph {
	t.Helper()
	doc, fs := yamlx.ParseItem([]byte(text))
	if doc == nil {
		t.Fatal(fs)
	}
	g, fs := Parse(item.Ref{Kind: item.Tool, ID: "team/demo_graph"}, "demo.yaml", doc)
	if g == nil {
		t.Fatalf("%v\n%s", fs, text)
	}
	return g
}

const head = `
version: "1.0.0"
tool_type: graph
`
