package graph

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/transcript"
)

// maker writes random graphs as YAML.
type maker struct {
	r *rand.Rand
	n int // nodes
}

func (m *maker) pick(of ...string) string { return of[m.r.IntN(len(of))] }

func (m *maker) target() string { return fmt.Sprintf("n%d", m.r.IntN(m.n)) }

// value is a template or a constant.
func (m *maker) value() string {
	return m.pick(`"${state.a}"`, `"${state.b?}"`, `"${state.list.0:-none}"`, `"<${state.c}>"`, "1", "text", "[1, x]", `"${inputs.i}"`, `"${run.step}"`, `"$${state.a}"`)
}

func (m *maker) when() string {
	return m.pick("state.a == 1", "exists(state.b)", "state.c contains 't'", "not state.a == 1", "state.list contains 1", "error.code == 'EXECUTION_FAILED'", "result.x == 1 or state.a > 2")
}

func (m *maker) next() string {
	switch m.r.IntN(4) {
	case 0:
		return ""
	case 1:
		return ", next: " + m.target()
	}
	return fmt.Sprintf(`, next: [{to: %s, when: "%s"}, {to: %s, when: "%s"}, {to: %s}]`, m.target(), m.when(), m.target(), m.when(), m.target())
}

func (m *maker) action() string {
	return fmt.Sprintf("action: {item_id: %s, params: {x: %s, y: {z: %s}}}", m.pick("t/pure", "t/pure", "t/pure", "t/fail"), m.value(), m.value())
}

func (m *maker) assign() string {
	if m.r.IntN(3) == 0 {
		return ""
	}
	return fmt.Sprintf(", assign: {%s: %s, %s: \"${result.x?}\"}", m.pick("a", "b"), m.value(), m.pick("c", "d"))
}

func (m *maker) onError() string {
	if m.r.IntN(2) == 0 {
		return ""
	}
	return ", on_error: " + m.target()
}

func (m *maker) node() string {
	switch m.r.IntN(7) {
	case 0:
		return fmt.Sprintf("{type: gate, next: [{to: %s, when: \"%s\"}, {to: %s}]}", m.target(), m.when(), m.target())
	case 1:
		return fmt.Sprintf("{type: return, output: {v: %s, w: %s}%s}", m.value(), m.value(), m.onError())
	case 2:
		return fmt.Sprintf("{type: foreach, over: %s, as: it, parallel: %v, on_item_error: %s, %s, collect: list%s%s%s}",
			m.pick(`"${state.list}"`, "[1, 2, 3]", `"${state.a}"`), m.r.IntN(2) == 0, m.pick("fail", "collect"),
			strings.Replace(m.action(), "y: {z:", `i: "${it}", y: {z:`, 1), m.pick(m.assign(), `, assign: {a: "${result.errors}"}`), m.onError(), m.next())
	case 3:
		return fmt.Sprintf("{type: parallel, on_branch_error: %s, branches: {p: {%s, assign: {p: \"${result.x?}\"}}, q: {%s}}, assign: {e: \"${result.errors}\"}%s%s}",
			m.pick("fail", "collect"), m.action(), m.action(), m.onError(), m.next())
	}
	return "{" + m.action() + m.assign() + m.onError() + m.next() + "}"
}

func (m *maker) graph() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%sconfig:\n  start: n0\n  max_steps: %d\n  on_error: %s\n  state: {a: 1, c: text, list: [1, two]}\n  nodes:\n", head, 2+m.r.IntN(12), m.pick("fail", "continue"))
	for i := range m.n {
		fmt.Fprintf(&b, "    n%d: %s\n", i, m.node())
	}
	return b.String()
}

// simple is the reference: the rules of a walk without a log, goroutines or limits of
// concurrency.
type simple struct {
	g      *graphdef.Graph
	state  map[string]any
	err    map[string]any
	inputs map[string]any
	step   int
}

func (s *simple) scope(step int) map[string]any {
	out := map[string]any{"state": s.state, "inputs": s.inputs, "run": map[string]any{"step": int64(step)}}
	if s.err != nil {
		out["error"] = s.err
	}
	return out
}

// call returns the result of an action, and the name of a failure.
func (s *simple) call(a *graphdef.Action, scope map[string]any) (any, string) {
	id, _ := a.ID.Constant()
	params, err := a.Params.Render(scope)
	switch {
	case err != nil:
		return nil, "VALIDATION_FAILED"
	case id == "t/fail":
		return nil, "EXECUTION_FAILED"
	}
	return params, ""
}

// perform returns the result of a node with what it assigns by itself.
func (s *simple) perform(n *graphdef.Node, step int) (result any, extra map[string]any, code string) {
	scope := s.scope(step)
	extra = map[string]any{}
	switch n.Type {
	case graphdef.TypeAction:
		result, code = s.call(n.Action, scope)
	case graphdef.TypeForeach:
		over, err := n.Over.Render(scope)
		list, ok := over.([]any)
		if err != nil || !ok {
			return nil, nil, "VALIDATION_FAILED"
		}
		items, errs := []any{}, []any{}
		for i, x := range list {
			scope[n.As] = x
			v, bad := s.call(n.Action, scope)
			if bad != "" && !n.CollectErrors {
				return nil, nil, bad
			}
			if bad != "" {
				errs = append(errs, int64(i))
			}
			items = append(items, v)
		}
		extra[n.Collect] = items
		result = map[string]any{"items": items, "errors": errs}
	case graphdef.TypeParallel:
		results, errs := map[string]any{}, []any{}
		for _, b := range n.Branches {
			s.step++
			v, bad := s.call(b.Action, scope)
			assign := map[string]any{}
			if bad == "" {
				assign, bad = s.assign(b.Assign, scope, v)
			}
			results[b.Name] = nil
			if bad != "" {
				errs = append(errs, b.Name)
				if !n.CollectErrors && code == "" {
					code = bad
				}
				continue
			}
			results[b.Name] = v
			for k, x := range assign {
				extra[k] = x
			}
		}
		results["errors"] = errs
		result = results
	}
	return result, extra, code
}

func (s *simple) assign(t map[string]*interpolate.Template, scope map[string]any, result any) (map[string]any, string) {
	with := map[string]any{"result": result}
	for k, v := range scope {
		with[k] = v
	}
	out := map[string]any{}
	for k, tm := range t {
		v, err := tm.Render(with)
		if err != nil {
			return nil, "VALIDATION_FAILED"
		}
		out[k] = v
	}
	return out, ""
}

// next returns where the first edge leads whose condition is true, "" for none. ok is false
// if a condition before it cannot be decided.
func (s *simple) next(edges []graphdef.Edge, scope map[string]any) (to string, ok bool) {
	for i := range edges {
		yes, err := edges[i].When.Eval(scope)
		if err != nil {
			return "", false
		}
		if yes {
			return edges[i].To, true
		}
	}
	return "", true
}

// run returns the output and the code of the failure, "" for none.
func (s *simple) run() (any, string) {
	cur := s.g.Start
	for cur != "" {
		n := s.g.Nodes[cur]
		if s.step >= s.g.MaxSteps {
			return nil, "LIMIT_EXCEEDED"
		}
		s.step++
		step := s.step
		if n.Type == graphdef.TypeReturn {
			v, err := n.Output.Render(s.scope(step))
			if err == nil {
				return v, ""
			}
		}
		result, extra, code := s.perform(n, step)
		if n.Type == graphdef.TypeReturn {
			code = "VALIDATION_FAILED"
		}
		if s.step > s.g.MaxSteps {
			return nil, "LIMIT_EXCEEDED"
		}
		if code == "" {
			assign, bad := s.assign(n.Assign, s.scope(step), result)
			if code = bad; bad == "" {
				for k, v := range extra {
					if _, has := assign[k]; !has {
						assign[k] = v
					}
				}
				next := map[string]any{}
				for k, v := range s.state {
					next[k] = v
				}
				for k, v := range assign {
					next[k] = v
				}
				before := s.state
				s.state = next
				scope := s.scope(step)
				scope["result"] = result
				if to, ok := s.next(n.Next, scope); ok {
					cur = to
					continue
				}
				s.state, code = before, "VALIDATION_FAILED"
			}
		}
		switch {
		case n.OnError != "":
			s.err = map[string]any{"code": code}
			cur = n.OnError
		case s.g.Continue:
			to, ok := s.next(n.Next, s.scope(step))
			if !ok {
				return nil, code
			}
			cur = to
			s.err = map[string]any{"code": code}
		default:
			return nil, code
		}
	}
	return s.state, ""
}

// Walking a random graph equals the reference, and so does a run that is resumed from
// a line in the middle of its log.
func TestReference(t *testing.T) {
	count := 400
	if testing.Short() {
		count = 60
	}
	r := rand.New(rand.NewPCG(14, 3))
	ends := map[string]int{}
	for range count {
		m := &maker{r: r, n: 1 + r.IntN(5)}
		text := m.graph()
		g := parse(t, text)
		inputs := map[string]any{"i": int64(5)}
		want, code := (&simple{g: g, state: g.State, inputs: inputs}).run()
		ends[code]++
		p := params(t, newFake())
		got, err := Start(t.Context(), g, item.Digest{}, inputs, p)
		if e := errorCode(err); e != code && !(code == "LIMIT_EXCEEDED" && racing(text)) {
			t.Fatalf("code %q, want %q: %v\n%s", e, code, err, text)
		}
		if code == "" && plain(got.Output) != plain(want) {
			t.Fatalf("%s, want %s\n%s", plain(got.Output), plain(want), text)
		}
		if code == "" {
			ends := ended(t, p.Project, got.RunID)
			cutLog(t, r, p.Project, got.RunID)
			again, err := Resume(t.Context(), g, item.Digest{}, got.RunID, p)
			if err != nil || !reflect.DeepEqual(plain(again.Output), plain(want)) {
				t.Fatalf("the log states %s, want %s, %v\n%s", plain(again.Output), plain(want), err, text)
			}
			if now := ended(t, p.Project, got.RunID); again.Steps != got.Steps || now != ends {
				t.Fatalf("%d steps and %d ends of nodes, want %d and %d\n%s", again.Steps, now, got.Steps, ends, text)
			}
		}
	}
	for _, code := range []string{"", "LIMIT_EXCEEDED", "EXECUTION_FAILED", "VALIDATION_FAILED"} {
		if ends[code] == 0 && !testing.Short() { // few graphs do not reach each end
			t.Errorf("only %d runs end with %q: %v", ends[code], code, ends)
		}
	}
}

// ended returns how many ends of nodes the log of a run has.
func ended(t *testing.T, project, run string) int {
	t.Helper()
	b, err := os.ReadFile(transcript.Base(project, run).Path(transcript.File))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), `"event":"node_committed"`) + strings.Count(string(b), `"event":"node_failed"`)
}

// cutLog leaves some lines of the log of a run, as if its process had been stopped there.
func cutLog(t *testing.T, r *rand.Rand, project, run string) {
	t.Helper()
	base := transcript.Base(project, run)
	whole, err := os.ReadFile(base.Path(transcript.File))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	if err := os.Remove(base.Path(transcript.HeadFile)); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(base.Path(transcript.File), []byte(strings.Join(lines[:1+r.IntN(len(lines)-1)], "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// racing reports whether a branch of a graph can fail while another one reaches the
// limit of steps: which error is first then depends on the goroutines.
func racing(text string) bool { return strings.Contains(text, "type: parallel") }

func errorCode(err error) string {
	if err == nil {
		return ""
	}
	return string(nodeError("", err).Code)
}

// plain renders a value without the parts of errors that the reference leaves out.
func plain(v any) string {
	v = strip(v)
	b, _ := json.Marshal(v)
	return string(b)
}

func strip(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = strip(x)
			if m, ok := x.(map[string]any); ok && m["code"] != nil {
				if out[i] = m["branch"]; out[i] == nil {
					out[i] = m["index"]
				}
			}
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = strip(x)
		}
		return out
	}
	return v
}
