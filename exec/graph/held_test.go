package graph

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// A run that is resumed by a person keeps the capabilities and the ceilings of the
// sandbox with which it started, and the graph adds its own.
func TestResumeKeepsHeld(t *testing.T) {
	f := newFake()
	var got []policy.Held
	f.do["t/echo"] = func(_ context.Context, c Call) (any, error) {
		got = append(got, c.Held)
		return map[string]any{}, nil
	}
	p := params(t, f)
	profile, err := policy.ParseProfile([]byte(`{"net": "none", "fs": {"write": []}, "limits": {"memory_mb": 64}}`))
	if err != nil {
		t.Fatal(err)
	}
	first := policy.Held{
		{Caps: policy.Set{"rye.*"}, Source: "person"},
		{Caps: policy.Set{"rye.execute.tool.t.*"}, Profile: &profile, Source: "directive:a/b"},
	}
	p.Held = first
	g := parse(t, `{tool_type: graph, executor_id: rye/core/runtimes/state_graph_runtime, version: "1.0.0", sandbox: {net: loopback}, config: {start: a, nodes: {`+
		`a: {action: {item_id: t/echo}, next: q}, q: {type: ask, question: x, choices: ["yes"], next: b}, b: {action: {item_id: t/echo}, next: r}, r: {type: return}}}}`)
	r, err := Start(t.Context(), g, item.Digest{}, nil, p)
	if err != nil || r.Status != StateSuspended {
		t.Fatal(r, err)
	}
	if err := Send(p.Project, r.RunID, Message{Kind: "answer", Name: "q", Payload: "yes", By: "ada"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	p.Held = policy.Person()
	if r, err = Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil || r.Status != StateCompleted {
		t.Fatal(r, err)
	}
	if len(got) != 2 || !reflect.DeepEqual(got[0], got[1]) {
		t.Fatalf("the permissions are not those of the start:\n%+v\n%+v", got[0], got[1])
	}
	if len(got[1]) != 3 || got[1][1].Profile == nil || got[1][1].Profile.Net != policy.NetNone || got[1][2].Profile == nil {
		t.Errorf("the ceilings are lost: %+v", got[1])
	}
	// A caller with fewer permissions narrows it further.
	again, err := StartFork(t.Context(), g, item.Digest{}, Fork{Run: r.RunID, At: "q"}, func() Params { p.Held = first[1:]; return p }())
	if err != nil || again.Status != StateCompleted || len(got[2]) != 2 {
		t.Fatal(again, err, got)
	}
}

// A node is resolved once for all its calls, and a repeated attempt resolves it again.
func TestResolveOnce(t *testing.T) {
	f := newFake()
	counted := &countingTargets{fake: f}
	p := params(t, f)
	p.Dispatcher = counted
	g := parse(t, `{tool_type: graph, executor_id: rye/core/runtimes/state_graph_runtime, version: "1.0.0", config: {start: a, nodes: {`+
		`a: {action: {item_id: t/echo}, next: b}, b: {type: foreach, over: [1, 2, 3], action: {item_id: t/echo, params: {n: "${item}"}}, next: c}, `+
		`c: {type: foreach, over: [echo, pure], as: name, action: {item_id: "t/${name}"}, next: d}, `+
		`d: {action: {item_id: t/fail, retry: {max_attempts: 3, policy: {type: fixed, delay: 0}}}, on_error: e}, e: {type: return}}}}`)
	if _, err := Start(t.Context(), g, item.Digest{}, nil, p); err != nil {
		t.Fatal(err)
	}
	// The first line names t/echo and t/fail; a and b resolve once, each entry of c, and
	// each attempt of d.
	if want := map[string]int{"t/echo": 1 + 1 + 1 + 1, "t/pure": 1, "t/fail": 1 + 3}; !reflect.DeepEqual(counted.n, want) {
		t.Errorf("resolved %v, want %v", counted.n, want)
	}
}

type countingTargets struct {
	*fake
	n map[string]int
}

func (c *countingTargets) Target(ctx context.Context, ref item.Ref) (Target, error) {
	c.mu.Lock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[ref.ID]++
	c.mu.Unlock()
	return c.fake.Target(ctx, ref)
}
