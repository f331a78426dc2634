package graphdef

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cond"
	"github.com/ryeos/rye/internal/dotpath"
	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Parse reads the document of a graph. It reports every mistake of the grammar, and
// of the edges between nodes, with its position. The Graph is nil if a finding is an
// error.
func Parse(ref item.Ref, path string, doc *tree.Doc) (*Graph, []diag.Finding) {
	g, fs := parseAll(ref, path, doc)
	if diag.Failed(fs) {
		return nil, fs
	}
	return g, fs
}

// parseAll is Parse with the graph as far as it could be read.
func parseAll(ref item.Ref, path string, doc *tree.Doc) (*Graph, []diag.Finding) {
	p := &parser{doc: doc, r: tree.NewReader(doc, diag.ValidationFailed), nodes: 0}
	g := p.graph()
	g.Ref = ref
	g.Path = path
	g.doc = doc
	p.targets(g)
	// The edges are read a second time.
	fs := slices.CompactFunc(p.r.Findings(), diag.Finding.Equal)
	return g, diag.WithPath(fs, path)
}

type parser struct {
	doc   *tree.Doc
	r     *tree.Reader
	nodes int
}

func (p *parser) graph() *Graph {
	r := p.r
	g := &Graph{Limits: Limits{Depth: 10, Duration: 1800 * time.Second}}
	if r.Has("config_schema") {
		g.Inputs = p.schema(r, "config_schema")
	}
	if r.Has("permissions") {
		set := policy.Set{}
		before := r.Failed()
		r.Texts("permissions", func(s string) error {
			c, err := policy.Parse(s)
			if err == nil {
				set = append(set, c)
			}
			return err
		})
		g.Permissions, g.unclear = &set, r.Failed() > before
	}
	if r.Has("sandbox") {
		profile := policy.ReadProfile(r.Map("sandbox"))
		g.Sandbox = &profile
	}
	p.limits(g)
	if !r.Has("config") {
		r.Require("config")
		return g
	}
	p.config(g, r.Map("config"))
	return g
}

// schema compiles a JSON Schema with its findings.
func (p *parser) schema(r *tree.Reader, key string) *schema.Schema {
	s, fs := schema.Compile(r.Value(key))
	if s == nil || diag.Failed(fs) {
		for _, f := range schema.Check(r.Value(key), p.doc, r.Path(key)) {
			r.Add(f)
		}
	}
	return s
}

func (p *parser) config(g *Graph, r *tree.Reader) {
	r.Only("start", "state_schema", "state", "max_steps", "max_concurrency", "on_error", "snapshot_every", "hooks", "env_requires", "nodes", "timeout")
	r.Require("start", "nodes")
	g.Start = r.Text("start")
	g.MaxSteps = int(r.Int("max_steps", 100, 1, maxStepsHigh))
	g.MaxConcurrency = int(r.Int("max_concurrency", 8, 1, 256))
	g.Continue = r.Enum("on_error", "fail", "fail", "continue") == "continue"
	g.SnapshotEvery = int(r.Int("snapshot_every", 0, 0, maxStepsHigh))
	g.EnvRequires = p.env(r)
	if r.Has("state_schema") {
		g.StateSchema = p.schema(r, "state_schema")
		s, _ := r.Value("state_schema").(map[string]any)
		g.StateKeys, _ = s["properties"].(map[string]any)
		g.StateClosed = s["additionalProperties"] == false
	}
	g.State = map[string]any{}
	if r.Has("state") {
		state, ok := r.Value("state").(map[string]any)
		if !ok {
			r.Reject("state", "must be a mapping, not %s", tree.TypeName(r.Value("state")))
		}
		g.State = state
	}
	if g.StateSchema != nil {
		for _, v := range g.StateSchema.Validate(any(g.State)) {
			if v.Keyword != "required" { // a key may be assigned later
				r.Reject("state", "does not fit state_schema: %s %s", v.Path, v.Message)
			}
		}
	}
	for _, h := range r.Maps("hooks") {
		g.Hooks = append(g.Hooks, p.hook(h))
	}
	slices.SortStableFunc(g.Hooks, func(a, b *Hook) int {
		return cmp.Compare(a.Layer, b.Layer)
	})
	g.Nodes, g.Order = p.block(r, 0)
}

func (p *parser) env(r *tree.Reader) []string {
	return r.Texts("env_requires", func(s string) error {
		if !dotpath.IsName(s) || strings.Contains(s, "-") {
			return fmt.Errorf("%q is not the name of an environment variable", s)
		}
		return nil
	})
}

// block reads a mapping of nodes.
func (p *parser) block(r *tree.Reader, depth int) (map[string]*Node, []string) {
	nodes := r.Map("nodes")
	names := p.inOrder(nodes)
	out := map[string]*Node{}
	for _, name := range names {
		if p.nodes++; p.nodes == MaxNodes+1 {
			nodes.Reject(name, "is node %d: a graph has at most %d", p.nodes, MaxNodes)
		}
		if !dotpath.IsName(name) || len(name) > MaxName {
			nodes.Reject(name, "is not a name: letters, digits, _ and -, not a digit or - first, at most %d bytes", MaxName)
		}
		out[name] = p.node(name, nodes.Map(name), depth)
	}
	if len(names) == 0 && r.Has("nodes") {
		r.Reject("nodes", "has no node")
	}
	return out, names
}

// inOrder returns the keys of a mapping in the order of the file.
func (p *parser) inOrder(r *tree.Reader) []string {
	keys := r.Keys()
	slices.SortStableFunc(keys, func(a, b string) int {
		x := p.doc.At(r.Path(a))
		y := p.doc.At(r.Path(b))
		return cmp.Or(
			cmp.Compare(x.Line, y.Line),
			cmp.Compare(x.Column, y.Column),
		)
	})
	return keys
}

func types() []string {
	return []string{TypeAction, TypeReturn, TypeGate, TypeForeach, TypeParallel, TypeAsk, TypeWait}
}

func (p *parser) node(name string, r *tree.Reader, depth int) *Node {
	n := &Node{Name: name, path: r.Path(""), Type: TypeAction}
	n.path = strings.TrimSuffix(n.path, ".")
	known := []string{"type", "description", "next", "on_error", "assign", "env_requires"}
	n.Description = r.Text("description")
	n.OnError = r.Text("on_error")
	n.EnvRequires = p.env(r)
	n.Assign = p.assign(r)
	n.Next = p.next(r)
	n.unclear = r.Has("on_error") && n.OnError == "" ||
		!readable(r.Value("next"), n.Next)
	if r.Has("type") {
		if n.Type = r.Text("type"); !slices.Contains(types(), n.Type) {
			r.RejectNear(
				"type",
				n.Type,
				types(),
				"must be one of %s, not %q",
				strings.Join(types(), ", "),
				n.Type,
			)
			return n
		}
	}
	switch n.Type {
	case TypeAction:
		known = append(known, "action", "cache_result")
		r.Require("action")
		n.Action = p.action(r.Map("action"))
		if n.Action.Cache = r.Bool("cache_result", false); n.Action.Cache &&
			n.Action.Verb != policy.Execute {
			r.Reject("cache_result", "needs primary: execute")
		}
	case TypeReturn:
		known = []string{"type", "description", "on_error", "env_requires", "output", "status"}
		p.returns(n, r)
	case TypeGate:
		known = []string{"type", "description", "next"}
		r.Require("next")
	case TypeForeach:
		known = append(known, "over", "as", "action", "collect", "parallel", "max_concurrency", "on_item_error")
		p.foreach(n, r)
	case TypeParallel:
		known = append(known, "branches", "join", "on_branch_error", "max_concurrency")
		p.parallel(n, r, depth)
	case TypeAsk:
		known = append(known, "question", "choices", "schema", "default", "timeout_seconds", "to")
		p.ask(n, r)
	case TypeWait:
		known = append(known, "seconds", "until", "event", "runs", "timeout_seconds")
		p.wait(n, r)
	}
	r.Only(known...)
	return n
}

// template compiles the value of a key.
func (p *parser) template(r *tree.Reader, key string) *interpolate.Template {
	t, problems := interpolate.Compile(r.Value(key))
	for _, x := range problems {
		path := r.Path(key)
		if x.At != "" {
			path += "." + x.At
		}
		pos := p.doc.At(path)
		name := r.Name(key)
		if x.At != "" {
			name += "." + x.At
		}
		r.Add(diag.Errorf(
			diag.ValidationFailed,
			pos.Line,
			pos.Column,
			"%s: %s",
			name,
			x.Text,
		))
	}
	if t == nil {
		t, _ = interpolate.Compile(nil)
	}
	return t
}

func (p *parser) assign(r *tree.Reader) map[string]*interpolate.Template {
	m := r.Map("assign")
	out := map[string]*interpolate.Template{}
	for _, k := range m.Keys() {
		if !dotpath.IsName(k) {
			m.Reject(k, "is not a key of the state: letters, digits, _ and -, not a digit or - first")
			continue
		}
		out[k] = p.template(m, k)
	}
	return out
}

func (p *parser) next(r *tree.Reader) []Edge {
	switch v := r.Value("next").(type) {
	case nil:
		return nil
	case string:
		return []Edge{{To: v, path: r.Path("next")}}
	case []any:
	default:
		r.Reject("next", "must be the name of a node or a list of {to, when}, not %s", tree.TypeName(v))
		return nil
	}
	var out []Edge
	for _, e := range r.Maps("next") {
		e.Only("to", "when")
		e.Require("to")
		edge := Edge{To: e.Text("to"), path: e.Path("to")}
		edge.When = p.when(e, "when")
		out = append(out, edge)
	}
	return out
}

// readable reports whether the edges are all that next states.
func readable(next any, edges []Edge) bool {
	list, ok := next.([]any)
	if ok && len(list) != len(edges) || !ok && next != nil && len(edges) == 0 {
		return false
	}
	return !slices.ContainsFunc(edges, func(e Edge) bool {
		return e.To == ""
	})
}

func (p *parser) when(r *tree.Reader, key string) *cond.Cond {
	if !slices.Contains(r.Keys(), key) {
		return nil
	}
	c, fs := cond.Compile(
		p.doc,
		r.Path(key),
		r.Name(key),
		r.Value(key),
		diag.ValidationFailed,
	)
	for _, f := range fs {
		r.Add(f)
	}
	return c
}

func (p *parser) returns(n *Node, r *tree.Reader) {
	n.Fail = r.Enum("status", "ok", "ok", "fail") == "fail"
	if !r.Has("output") {
		return
	}
	_, ok := r.Value("output").(map[string]any)
	if !ok {
		r.Reject("output", "must be a mapping, not %s", tree.TypeName(r.Value("output")))
		return
	}
	n.Output = p.template(r, "output")
}

func (p *parser) action(r *tree.Reader) *Action {
	a := &Action{path: r.Path("item_id"), MaxAttempts: 1}
	r.Only("primary", "item_type", "item_id", "params", "timeout", "retry")
	a.Verb = policy.Verb(r.Enum("primary", "execute", "execute", "search", "load", "sign"))
	kind := string(item.Tool)
	if a.Verb == policy.Search {
		kind = "" // every kind
	}
	a.Kind = item.Kind(r.Enum("item_type", kind, "tool", "directive", "knowledge"))
	if a.Verb != policy.Search {
		r.Require("item_id")
	}
	if r.Has("item_id") {
		r.Text("item_id")
	}
	a.ID = p.template(r, "item_id")
	s, ok := a.ID.Constant()
	if ok && s != nil && s != "" {
		if text, isText := s.(string); isText {
			if _, err := item.ParseRef(text, a.Kind); err != nil {
				r.RejectErr("item_id", err)
			}
		}
	}
	before := r.Failed()
	if r.Has("params") {
		_, ok := r.Value("params").(map[string]any)
		if !ok {
			r.Reject("params", "must be a mapping, not %s", tree.TypeName(r.Value("params")))
		}
	}
	a.Params = p.template(r, "params")
	a.raw, _ = r.Value("params").(map[string]any)
	a.unclear = r.Failed() > before
	a.Timeout = r.Seconds("timeout", 0, time.Second, 86_400*time.Second)
	if r.Has("retry") {
		p.retry(a, r.Map("retry"))
	}
	return a
}

func (p *parser) retry(a *Action, r *tree.Reader) {
	r.Only("max_attempts", "policy")
	a.MaxAttempts = int(r.Int("max_attempts", 4, 1, 100))
	a.Retry = Retry{Type: "exponential", Base: 2 * time.Second, Max: 60 * time.Second}
	var m *tree.Reader
	switch v := r.Value("policy").(type) {
	case nil:
		return
	case string:
		a.Retry.Type = r.Enum("policy", "", "exponential", "fixed", "none")
	case map[string]any:
		m = r.Map("policy")
		m.Only("type", "base", "max", "delay")
		m.Require("type")
		a.Retry.Type = m.Enum("type", "", "exponential", "fixed", "none")
		seconds := func(key string, def time.Duration) time.Duration {
			return time.Duration(
				m.Number(key, def.Seconds(), 0, 3600) * float64(time.Second),
			)
		}
		a.Retry.Base, a.Retry.Max = seconds("base", a.Retry.Base), seconds("max", a.Retry.Max)
		if a.Retry.Type == "fixed" {
			a.Retry.Base = seconds("delay", time.Second)
		}
	default:
		r.Reject("policy", "must be exponential, fixed, none or a mapping, not %s", tree.TypeName(v))
	}
	if a.Retry.Type == "none" {
		a.Retry.Type = ""
		a.MaxAttempts = 1
	}
}
