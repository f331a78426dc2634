package graphdef

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/dotpath"
	"github.com/ryeos/rye/internal/tree"
)

func (p *parser) foreach(n *Node, r *tree.Reader) {
	r.Require("over", "action")
	n.Over = p.template(r, "over")
	if v, ok := n.Over.Constant(); ok && v != nil {
		if _, isList := v.([]any); !isList {
			r.Reject("over", "must be a list or an expression such as ${state.files}, not %s", tree.TypeName(v))
		}
	}
	n.As = "item"
	if r.Has("as") {
		if n.As = r.Text("as"); !dotpath.IsName(n.As) ||
			slices.Contains(roots(), n.As) {
			r.Reject("as", "cannot name an entry: write a name that is not one of %s", strings.Join(roots(), ", "))
		}
	}
	n.Collect = r.Text("collect")
	n.Parallel = r.Bool("parallel", false)
	n.MaxConcurrency = int(r.Int("max_concurrency", 0, 1, 256))
	n.CollectErrors = r.Enum("on_item_error", "fail", "fail", "collect") == "collect"
	n.Action = p.action(r.Map("action"))
}

// roots are the first names of paths.
func roots() []string {
	return []string{"inputs", "state", "result", "error", "env", "run"}
}

func (p *parser) parallel(n *Node, r *tree.Reader, depth int) {
	r.Require("branches")
	if depth >= MaxNesting {
		r.Reject("type", "is parallel: blocks nest at most %d deep", MaxNesting)
		return
	}
	n.MaxConcurrency = int(r.Int("max_concurrency", 0, 1, 256))
	n.CollectErrors = r.Enum("on_branch_error", "fail", "fail", "collect") == "collect"
	branches := r.Map("branches")
	for _, name := range p.inOrder(branches) {
		if !dotpath.IsName(name) || len(name) > MaxName {
			branches.Reject(name, "is not a name")
		}
		n.Branches = append(n.Branches, p.branch(name, branches.Map(name), depth))
	}
	if len(n.Branches) == 0 && r.Has("branches") {
		r.Reject("branches", "has no branch")
	}
	n.Join = len(n.Branches)
	switch v := r.Value("join").(type) {
	case nil:
	case string:
		if r.Enum("join", "all", "all", "any") == "any" {
			n.Join = 1
		}
	default:
		_ = v
		n.Join = int(r.Int(
			"join",
			int64(n.Join),
			1,
			int64(max(len(n.Branches), 1)),
		))
	}
	p.collisions(n, branches)
}

// collisions reports two branches that assign one key.
func (p *parser) collisions(n *Node, r *tree.Reader) {
	first := map[string]string{}
	for _, b := range n.Branches {
		for _, k := range slices.Sorted(maps.Keys(b.writes())) {
			if other, has := first[k]; has {
				r.Reject(b.Name, "assigns the key %q, which the branch %s assigns too: write another key in one of them", k, other)
				continue
			}
			first[k] = b.Name
		}
	}
}

// writes returns the keys that a branch may assign.
func (b *Branch) writes() map[string]bool {
	out := map[string]bool{}
	for k := range b.Assign {
		out[k] = true
	}
	for _, n := range b.Nodes {
		for k := range n.writes() {
			out[k] = true
		}
	}
	return out
}

func (n *Node) writes() map[string]bool {
	out := map[string]bool{}
	for k := range n.Assign {
		out[k] = true
	}
	if n.Collect != "" {
		out[n.Collect] = true
	}
	for _, b := range n.Branches {
		for k := range b.writes() {
			out[k] = true
		}
	}
	return out
}

func (p *parser) branch(name string, r *tree.Reader, depth int) *Branch {
	b := &Branch{Name: name, path: strings.TrimSuffix(r.Path(""), ".")}
	if r.Has("nodes") || r.Has("start") {
		r.Only("start", "nodes")
		r.Require("start", "nodes")
		b.Start = r.Text("start")
		b.Nodes, b.Order = p.block(r, depth+1)
		return b
	}
	r.Only("action", "assign")
	r.Require("action")
	b.Action = p.action(r.Map("action"))
	b.Assign = p.assign(r)
	return b
}

func (p *parser) ask(n *Node, r *tree.Reader) {
	r.Require("question")
	if r.Has("question") {
		r.Text("question")
	}
	a := &Ask{Question: p.template(r, "question"), Choices: r.Texts("choices", nil)}
	if r.Has("choices") && len(a.Choices) == 0 {
		r.Reject("choices", "must have at least one text")
	}
	if r.Has("schema") {
		if r.Has("choices") {
			r.Reject("schema", "and choices are two forms of one thing: write one of them")
		}
		a.Schema, a.RawSchema = p.schema(r, "schema"), r.Value("schema")
	}
	a.Parent = r.Enum("to", "person", "person", "parent") == "parent"
	a.Timeout = r.Seconds("timeout_seconds", 0, time.Second, 30*24*time.Hour)
	if a.HasDefault = slices.Contains(r.Keys(), "default"); a.HasDefault {
		a.Default = r.Value("default")
		if why := a.Refuses(a.Default); why != "" {
			r.Reject("default", "is not an answer: %s", why)
		}
	}
	n.Ask = a
}

func (p *parser) wait(n *Node, r *tree.Reader) {
	w := &Wait{Timeout: r.Seconds(
		"timeout_seconds",
		0,
		time.Second,
		30*24*time.Hour,
	)}
	var given []string
	for _, key := range []string{"seconds", "until", "event", "runs"} {
		if r.Has(key) {
			given = append(given, key)
		}
	}
	if len(given) != 1 {
		r.Reject("type", "is wait: it needs exactly one of seconds, until, event, runs")
	}
	w.For = r.Seconds("seconds", 0, 0, 30*24*time.Hour)
	w.Event = r.TextFunc("event", func(s string) error {
		if s != "" && !dotpath.IsName(s) {
			return fmt.Errorf("%q is not the name of an event", s)
		}
		return nil
	})
	if r.Has("until") {
		w.Until = p.template(r, "until")
	}
	if r.Has("runs") {
		w.Runs = p.template(r, "runs")
	}
	n.Wait = w
}

func (p *parser) hook(r *tree.Reader) *Hook {
	r.Only("id", "event", "layer", "condition", "action", "on_failure", "description")
	r.Require("event", "action")
	h := &Hook{
		ID:     r.Text("id"),
		Event:  r.Text("event"),
		Cond:   p.when(r, "condition"),
		Action: p.action(r.Map("action")),
	}
	if h.Layer = r.Int("layer", ownLayer, 1, Observers); h.Layer < ownLayer {
		pos := p.doc.At(r.Path("layer"))
		p.r.Add(diag.Warnf(
			diag.ValidationFailed,
			pos.Line,
			pos.Column,
			"%s has no effect: the hooks of a graph come after the hooks of the user",
			r.Name("layer"),
		))
	}
	if r.Has("event") && !slices.Contains(events(), h.Event) {
		r.RejectNear("event", h.Event, events(), "is not an event of a graph: %s", strings.Join(events(), ", "))
	}
	h.OnFailure = r.Enum("on_failure", "continue", "continue", "deny", "fail")
	return h
}
