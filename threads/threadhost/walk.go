package threadhost

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/converse"
	"github.com/ryeos/rye/threads/prepare"
	"github.com/ryeos/rye/threads/transcript"
)

// walkLoop runs the graph of the loop, from its start or from where the log ends.
func (r *Run) walkLoop(
	ctx context.Context,
	t *threads.Thread,
	log *transcript.Log,
	lines []transcript.Line,
) error {
	r.running.Store(t)
	defer r.running.Store(nil)
	defer r.live.close()
	it, err := r.Project.Resolver.Find(ctx, prepare.LoopRef())
	if err != nil {
		return err
	}
	g, findings := graphhost.Parse(it)
	if g == nil {
		return diag.FromFindings("reading the loop "+it.Ref.String(), findings)
	}
	params, err := graphhost.Params(ctx, r.Project, r.LoopHeld)
	if err != nil {
		return err
	}
	r.began = time.Now()
	r.awaits = converse.Action(g.Nodes["awaits"] != nil)
	if err := converse.Resume(ctx, t, lines); err != nil {
		return err
	}
	walk, ended, last := walked(lines)
	at := threads.ResumeNode(lines)
	if last != nil {
		// The walk ended, and the log has not the end that it decided: the process was
		// killed, or the thread could not be suspended.
		end := endingOf(last.Output)
		rests := end.State == threads.Suspended
		asks := rests && end.Suspend.Ask != nil && end.Suspend.Ask.Limit == ""
		if asks || !rests && r.Options.Message == "" {
			t.Ends(end)
			return nil
		}
		if rests {
			at = end.Suspend.Node
		}
	}
	if r.Options.Message != "" {
		at = "" // the model reads the message: the end of the turn is not decided again
	}
	started := walk > 0
	if started && !ended && g.Nodes[walkPosition(lines)] == nil {
		ended = true // an earlier version of the loop was there; the log decides where this one continues
	}
	if !started || ended {
		walk++
	}
	params.Dispatcher = newLoopDispatcher(r, t, walk)
	params.Log = log
	params.Lines = lines
	params.Snapshot = nil
	params.NoSuspend = true
	params.AcceptChanged, params.Space = r.Options.AcceptChanged &&
		!r.Project.Env.Locked, transcript.Space(it.Root.Space)
	var res *graph.Result
	if ended {
		params.Node = again(g, t, at)
	}
	if started {
		if err := r.resumed(ctx, t, lines); err != nil {
			return err
		}
	}
	if started && !ended {
		res, err = graph.Resume(ctx, g, it.Digest, t.ID(), params)
	} else {
		res, err = graph.Start(
			ctx,
			g,
			it.Digest,
			map[string]any{"declared": t.Declared()},
			params,
		)
	}
	if err != nil {
		return err
	}
	end := endingOf(res.Output)
	if s := t.Waits(); s != nil { // whatever a loop that a project replaced returns
		end = threads.Ending{State: threads.Suspended, Text: end.Text, Suspend: s}
	}
	t.Ends(end)
	return nil
}

// walkEnd is the line at the end of a walk.
type walkEnd struct {
	Output any `json:"output"`
}

// walked returns how many walks of the loop a log has, and whether the last one ended: a
// thread that reached a limit, or that a service ended, continues with a new walk. last is the
// end of a walk after which the log has no end of the thread.
func walked(lines []transcript.Line) (walks int, ended bool, last *walkEnd) {
	for i := range lines {
		switch lines[i].Event {
		case "graph_started":
			walks = walks + 1
			ended = false
			last = nil
		case "graph_completed":
			ended = true
			last = &walkEnd{}
			if lines[i].Decode(last) != nil {
				last = nil
			}
		case "thread_suspended":
			last = nil
		case "thread_completed", "thread_error", "thread_cancelled", "thread_killed", "thread_continued":
			if last != nil && endingOf(last.Output).State != threads.Suspended {
				last = nil
			}
		}
	}
	return walks, ended, last
}

// walkPosition returns the node that the last walk of a log was at.
func walkPosition(lines []transcript.Line) string {
	node := ""
	for i := range lines {
		var d struct {
			Node string `json:"node"`
			Next string `json:"next"`
		}
		event := lines[i].Event
		switch event {
		case "graph_started", "node_started", "node_committed", "node_failed":
		default:
			continue
		}
		if lines[i].Decode(&d) != nil || strings.Contains(d.Node, ".") { // a node of a branch
			continue
		}
		node = d.Node
		if event == "node_committed" || event == "node_failed" {
			node = cmp.Or(d.Next, d.Node)
		}
	}
	return node
}

// again returns the node at which an ended walk of the loop continues: before the
// calls that have no result, else where the thread was suspended, else before the next call
// of the model. A loop without these nodes begins at its start; the prompt of the log stays.
func again(g *graphdef.Graph, t *threads.Thread, suspended string) string {
	name := "inbox"
	if g.Nodes[suspended] != nil {
		name = suspended
	}
	if len(t.Pending()) > 0 {
		name = "calls"
	}
	if g.Nodes[name] == nil {
		return ""
	}
	return name
}

// resumed runs the hooks of a thread that continues. The loop cannot: it continues in the
// middle of a turn.
func (r *Run) resumed(ctx context.Context, t *threads.Thread, lines []transcript.Line) error {
	within := r.withinNode("resumed/" + strconv.Itoa(len(lines)))
	_, err := r.Step(ctx, within, t, "run_hooks", map[string]any{"event": "resumed", "context": map[string]any{"state": threads.Running}})
	return err
}

// endingOf reads what a loop returns: the result of its step finish.
func endingOf(output any) threads.Ending {
	m, _ := output.(map[string]any)
	e := threads.Ending{State: threads.Completed}
	if state, _ := m["state"].(string); state != "" {
		e.State = state
	}
	e.Text, _ = m["text"].(string)
	e.Details = map[string]any{}
	if e.State == threads.Suspended {
		e.Suspend = suspensionOf(m)
		return e
	}
	failure, ok := m["error"].(map[string]any)
	if ok {
		code, _ := failure["code"].(string)
		e.Code = diag.Code(code)
		e.Message, _ = failure["message"].(string)
		e.Details, _ = failure["details"].(map[string]any)
		if e.State != threads.Continued {
			e.State = threads.Failed
		}
	}
	return e
}

// suspensionOf reads why a loop suspends the thread: the decision of a hook, or the wait
// that a service asks for.
func suspensionOf(m map[string]any) *threads.Suspension {
	s := &threads.Suspension{Reason: threads.ByRequest}
	if reason, _ := m["reason"].(string); reason != "" {
		s.Reason = reason
	}
	s.Node, _ = m["resume"].(string)
	if s.Reason == threads.ByRateLimit {
		s.Wait = time.Duration(WholeOf(m["wait_ms"])) * time.Millisecond
	}
	control, _ := m["control"].(map[string]any)
	action, _ := control["action"].(string)
	if s.Reason != threads.ByHook || action != "escalate" {
		return s
	}
	s.Ask = &threads.Ask{To: "person"}
	s.Ask.By, _ = control["by"].(string)
	s.Ask.Question, _ = control["message"].(string)
	if to, _ := control["to"].(string); to != "" {
		s.Ask.To = to
	}
	stop, _ := m["stop"].(map[string]any)
	if limit, _ := stop["limit"].(string); limit != "" {
		s.Ask.Limit = limit
		message, _ := stop["message"].(string)
		s.Ask.Question = cmp.Or(s.Ask.Question, message, fmt.Sprintf("the limit of %s is reached: %v of %v", limit, stop["value"], stop["max"]))
	}
	s.Ask.Question = cmp.Or(s.Ask.Question, "the hook "+s.Ask.By+" asks whether the thread may continue")
	return s
}
