package graph

import (
	"context"
	"slices"
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/transcript"
)

// TestJoinedLines flushes the result of a node with the start of the next one where that
// follows at once: no call begins before the results of the nodes before it are on the disk.
func TestJoinedLines(t *testing.T) {
	const nodes = `
config:
  start: a
  state: {list: [1, 2]}
  nodes:
    a: {action: {item_id: t/echo}, next: b}
    b: {action: {item_id: t/echo}, next: pure}
    pure: {action: {item_id: t/pure}, next: g}
    g: {type: gate, next: c}
    c: {action: {item_id: t/echo}, next: each}
    each: {type: foreach, over: "${state.list}", as: n, action: {item_id: t/echo}, next: p}
    p:
      type: parallel
      branches:
        left: {action: {item_id: t/echo}}
        right: {start: x, nodes: {x: {action: {item_id: t/echo}, next: y}, y: {action: {item_id: t/echo}}}}
      next: last
    last: {action: {item_id: t/echo}}
`
	all := []string{"a", "b", "each", "last", "p", "p.right.y", "pure"}
	settle := func(p *Params, open *bool) {
		p.Settles = func() bool { return *open }
		p.Settle = func(context.Context, string) (*policy.USD, error) { return nil, nil }
	}
	for name, c := range map[string]struct {
		text string
		with func(*Params)
		want []string // the nodes whose start is flushed together with the line before it
		end  bool     // the end of the run is, too
	}{
		"effects":    {nodes, func(*Params) {}, all, true},
		"no account": {nodes, func(p *Params) { settle(p, new(bool)) }, all, true},
		"an account": {nodes, func(p *Params) { open := true; settle(p, &open) }, all, false},
		"one step":   {nodes, func(p *Params) { p.OneStep = true }, nil, false},
		"hooks":      {nodes + "  hooks: [{event: node_completed, action: {item_id: t/pure}}]\n", func(*Params) {}, nil, false},
		"snapshot":   {nodes + "  snapshot_every: 1\n", func(*Params) {}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			var w *walker
			f.do["t/echo"] = func(_ context.Context, c Call) (any, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.owed && c.Node != "p.left" { // which does not follow p.right.x
					t.Errorf("%s is called before the line before it is on the disk", c.Node)
				}
				return c.Params, nil
			}
			g, p := parse(t, c.text), params(t, f)
			c.with(&p)
			var joined []string
			p.Event = func(_ string, l *transcript.Line) {
				var d nodeData
				if l.Event == evNode && w.owed && jsonx.Decode(l.Data, &d) == nil && d.Node != "p.left" {
					joined = append(joined, d.Node)
				}
			}
			var err error
			if w, err = newWalker(g, p); err != nil {
				t.Fatal(err)
			}
			if w.started, err = w.first(t.Context(), item.Digest{1}, nil); err != nil {
				t.Fatal(err)
			}
			if w.log, err = transcript.Create(t.Context(), w.logParams(NewID("t/joined", p.Now()))); err != nil {
				t.Fatal(err)
			}
			defer w.log.Close()
			w.began = p.Now()
			if err := w.begun(t.Context()); err != nil {
				t.Fatal(err)
			}
			err = w.run(t.Context())
			if w.owed != c.end {
				t.Errorf("the last line is flushed with the end: %t, want %t", w.owed, c.end)
			}
			r, err := w.finish(t.Context(), err)
			if err != nil || r.Status == StateError {
				t.Fatalf("%+v %v", r, err)
			}
			slices.Sort(joined)
			if !slices.Equal(joined, c.want) {
				t.Errorf("joined %q, want %q", joined, c.want)
			}
			if rep, err := transcript.Verify(t.Context(), w.logParams(w.log.ID())); err != nil || rep.Err() != nil {
				t.Errorf("the log does not verify: %v %v", err, rep.Err())
			}
		})
	}
}
