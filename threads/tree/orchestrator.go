package tree

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/transcript"
)

// orchestration is one call of the tool with which models and clients handle threads. A
// thread reaches itself and what it started; another caller that is not a person reaches
// what its permissions started. Every other thread does not exist for the caller.
type orchestration struct {
	p    *project.Project
	in   exec.NativeCall
	from string // the thread that calls, "" for a person or a client
}

// Orchestrate is the function of the tool.
func Orchestrate(
	ctx context.Context,
	p *project.Project,
	in exec.NativeCall,
) (map[string]any, error) {
	o := orchestration{p: p, in: in}
	if r := threadhost.Spawner(p, in.Call); r != nil {
		o.from = r.Stored().ID
	}
	do := map[string]func(context.Context) (any, error){
		"wait_threads": o.wait, "aggregate_results": o.aggregate, "list_active": o.active, "get_status": o.status, "get_chain": o.chain,
		"chain_search": o.search, "read_transcript": o.read,
		"suspend_thread": o.suspend, "resume_thread": o.resume, "handoff_thread": o.handOff, "send": o.send,
		"diff": o.diff, "apply": o.apply, "drop": o.drop,
		"cancel_thread": func(ctx context.Context) (any, error) {
			return o.end(ctx, threads.Cancelled)
		},
		"kill_thread": func(ctx context.Context) (any, error) {
			return o.end(ctx, threads.Killed)
		},
	}[o.text("operation")]
	if do == nil {
		return nil, diag.New(diag.ValidationFailed, "handling threads: %q is not an operation", o.text("operation"))
	}
	out, err := do(ctx)
	if err != nil {
		return nil, err
	}
	return jsonx.Object(out)
}

func (o orchestration) text(key string) string {
	s, _ := o.in.Parameters[key].(string)
	return s
}

func (o orchestration) whole(key string, def int64) int64 {
	return cmp.Or(threadhost.WholeOf(o.in.Parameters[key]), def)
}

func (o orchestration) list(key string) (out []string) {
	list, _ := o.in.Parameters[key].([]any)
	for _, v := range list {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

// reached returns the id of a thread that the caller may name.
func (o orchestration) reached(ctx context.Context, word string) (string, error) {
	missing := diag.New(diag.ThreadNotFound, "finding the thread %q: it is not this one, and not one that it started", word).
		WithReason("no_run").
		WithDetail("id", word)
	id, err := graph.Find(o.p.Spaces.ProjectDir, word)
	if err != nil || word == "" {
		return "", missing
	}
	yes := graphhost.IsPerson(o.in.Call)
	if !yes && o.from != "" {
		err = ledger.WithStore(ctx, o.p, func(s *store.Store) (err error) {
			yes, err = s.Reaches(ctx, o.from, control.ChainRoot(o.p.Spaces.ProjectDir, id))
			return err
		})
	} else if s, serr := threads.ReadStarted(o.p.Spaces.ProjectDir, id); !yes && serr == nil {
		yes = beginsWith(s.Held, o.in.Held)
	}
	if err == nil && !yes {
		err = missing
	}
	return id, err
}

// beginsWith reports whether permissions are others with more grants.
func beginsWith(held, first policy.Held) bool {
	if len(first) == 0 || len(held) < len(first) {
		return false
	}
	for i, g := range first {
		if held[i].Source != g.Source ||
			!slices.Equal(held[i].Caps, g.Caps) {
			return false
		}
	}
	return true
}

// one returns the thread of the parameter thread_id.
func (o orchestration) one(ctx context.Context) (string, error) {
	if o.text("thread_id") == "" {
		return "", diag.New(diag.ValidationFailed, "%s: the parameter thread_id is missing", o.text("operation"))
	}
	return o.reached(ctx, o.text("thread_id"))
}

// own reports whether a thread is the caller, or one that it continues.
func (o orchestration) own(id string) bool {
	return o.from != "" && control.ChainRoot(o.p.Spaces.ProjectDir, id) == o.from
}

// several returns the threads of the parameter thread_ids, in its order.
func (o orchestration) several(ctx context.Context) (out []string, err error) {
	for _, word := range o.list("thread_ids") {
		id, err := o.reached(ctx, word)
		if err != nil {
			return nil, err
		}
		if o.own(id) && o.text("operation") == "wait_threads" {
			return nil, diag.New(diag.ValidationFailed, "waiting for threads: a thread cannot wait for itself")
		}
		out = append(out, id)
	}
	if len(out) == 0 {
		err = diag.New(diag.ValidationFailed, "%s: the parameter thread_ids is missing", o.text("operation"))
	}
	return out, err
}

// wait waits for threads. Time that is over is a result, not an error.
func (o orchestration) wait(ctx context.Context) (any, error) {
	ids, err := o.several(ctx)
	if err != nil {
		return nil, err
	}
	limit := time.Duration(o.whole("timeout", 600)) * time.Second
	_, err = control.Wait(ctx, o.p, ids, limit, o.text("until") == "any")
	if err != nil && diag.CodeOf(err) != diag.Timeout {
		return nil, err
	}
	results := map[string]any{}
	for _, id := range ids {
		r, rerr := o.result(ctx, id)
		if rerr != nil {
			return nil, rerr
		}
		results[id] = r
	}
	return map[string]any{"done": err == nil, "results": results}, nil
}

// result returns the state and result of a thread, or that it runs.
func (o orchestration) result(ctx context.Context, id string) (map[string]any, error) {
	last := control.EndOfChain(o.p, id)
	s, err := graph.Status(ctx, o.p.Spaces.ProjectDir, last)
	if err != nil {
		return nil, err
	}
	if s.State == graph.StateRunning {
		return map[string]any{"thread_id": id, "state": s.State}, nil
	}
	out, err := outcome(o.p, last, s.State)
	if err == nil && last != id {
		out["resolved_id"] = last
	}
	return out, err
}

// aggregate returns the results of threads in the order of their ids, and their sums.
func (o orchestration) aggregate(ctx context.Context) (any, error) {
	ids, err := o.several(ctx)
	if err != nil {
		return nil, err
	}
	results := []any{}
	completed := 0
	failed := 0
	spend := policy.USD(0)
	for _, id := range ids {
		r, err := o.result(ctx, id)
		if err != nil {
			return nil, err
		}
		switch r["state"] {
		case threads.Completed:
			completed++
		case threads.Failed, threads.Cancelled, threads.Killed:
			failed++
		}
		s, err := threadhost.Summary(ctx, o.p, control.EndOfChain(o.p, id))
		if err == nil {
			spend += s.Cost.Spend
		}
		results = append(results, r)
	}
	return map[string]any{
		"results":   results,
		"completed": completed,
		"failed":    failed,
		"cost":      map[string]any{"spend": spend},
	}, nil
}

// active returns the threads that run, of those that the caller reaches.
func (o orchestration) active(ctx context.Context) (any, error) {
	all, err := control.List(ctx, o.p, false)
	if err != nil {
		return nil, err
	}
	root := ""
	if o.text("root") != "" {
		if root, err = o.reached(ctx, o.text("root")); err != nil {
			return nil, err
		}
	}
	out := []control.Entry{}
	for _, t := range all {
		if t.State != threads.Running || root != "" && t.Root != root {
			continue
		}
		if _, err := o.reached(ctx, t.ID); err == nil {
			out = append(out, t)
		}
	}
	return map[string]any{"threads": out}, nil
}

func (o orchestration) status(ctx context.Context) (any, error) {
	id, err := o.one(ctx)
	if err != nil {
		return nil, err
	}
	return threadhost.Summary(ctx, o.p, id)
}

// end cancels or kills a thread. A thread that cancels itself ends after this call.
func (o orchestration) end(ctx context.Context, state string) (any, error) {
	id, err := o.one(ctx)
	switch {
	case err != nil:
		return nil, err
	case o.own(id) && state == threads.Killed:
		return nil, diag.New(diag.ThreadState, "ending %s: a thread cannot kill itself; cancel_thread ends it", id).WithDetail("id", id)
	case o.own(id):
		_, err = control.AskToEnd(ctx, o.p, control.EndOfChain(o.p, id), state)
		return map[string]any{"thread_id": id, "state": threads.Running}, err
	}
	s, err := control.End(ctx, o.p, control.EndOfChain(o.p, id), state)
	if err != nil {
		return nil, err
	}
	if s != nil {
		state = s.State
	} else {
		state = threads.Running // what is in flight ends first
	}
	return map[string]any{"thread_id": id, "state": state}, nil
}

// chain returns the tree below a thread.
func (o orchestration) chain(ctx context.Context) (any, error) {
	id, err := o.one(ctx)
	if err != nil {
		return nil, err
	}
	tree, err := control.Tree(ctx, o.p, control.ChainRoot(o.p.Spaces.ProjectDir, id))
	if err != nil {
		return nil, err
	}
	links, err := control.Chain(o.p, id)
	return map[string]any{"tree": tree, "chain": links}, err
}

// search finds a text in the transcripts of a thread and, with the scope tree, of those
// below it.
func (o orchestration) search(ctx context.Context) (any, error) {
	id, err := o.one(ctx)
	if err != nil {
		return nil, err
	}
	hits, more, err := SearchThreads(ctx, o.p, id, cmp.Or(o.text("scope"), "tree") == "chain", threads.Query{
		Text:   o.text("query"),
		Regex:  o.text("search_type") == "regex",
		Events: o.list("events"),
		Most:   int(o.whole("max_results", 50)),
	})
	return map[string]any{"hits": hits, "truncated": more}, err
}

// SearchThreads finds lines in the transcripts of a thread, of those that continue it or
// that it continues, and of all below them unless only the chain is wanted.
func SearchThreads(
	ctx context.Context,
	p *project.Project,
	id string,
	chainOnly bool,
	q threads.Query,
) (hits []threads.Hit, truncated bool, err error) {
	links, err := control.Chain(p, id)
	if err != nil {
		return nil, false, err
	}
	var ids []string
	for _, l := range links {
		ids = append(ids, l.ID)
	}
	if !chainOnly {
		tree, err := control.Tree(ctx, p, control.ChainRoot(p.Spaces.ProjectDir, id))
		if err != nil {
			return nil, false, err
		}
		for _, t := range tree[1:] {
			below, err := control.Chain(p, t.ID)
			if diag.CodeOf(err) == diag.ThreadNotFound {
				continue // its process has not begun
			}
			if err != nil {
				return nil, false, err
			}
			for _, l := range below {
				ids = append(ids, l.ID)
			}
		}
	}
	return threads.Find(p.Spaces.ProjectDir, ids, q)
}

// maxEventText is how much of an event read_transcript shows as text.
const maxEventText = 400

// shortened returns the beginning of a text.
func shortened(s string) string {
	text, whole := cuttext.Measure(cuttext.Bytes).First(s, maxEventText)
	if whole == 0 && text != s {
		text += "…"
	}
	return text
}

// read returns lines of a transcript.
func (o orchestration) read(ctx context.Context) (any, error) {
	id, err := o.one(ctx)
	if err != nil {
		return nil, err
	}
	lines, err := transcript.Read(o.p.Spaces.ProjectDir, id)
	if err != nil {
		return nil, err
	}
	limit := int(o.whole("limit", 200))
	from := max(int(o.whole("from_seq", 1))-1, 0)
	if n := int(o.whole("tail_lines", 0)); n > 0 {
		limit = n
		from = max(len(lines)-n, 0)
	}
	out := []any{}
	next := int64(min(from, len(lines)) + 1)
	for _, l := range lines[min(from, len(lines)):min(from+limit, len(lines))] {
		next = l.Seq + 1
		if o.text("format") == "events" {
			out = append(out, map[string]any{
				"seq":   l.Seq,
				"time":  l.Time,
				"event": l.Event,
				"data":  l.Data,
			})
			continue
		}
		out = append(out, fmt.Sprintf(
			"%d %s %s %s",
			l.Seq,
			l.Time,
			l.Event,
			shortened(string(l.Data)),
		))
	}
	return map[string]any{"lines": out, "next_seq": next}, nil
}
