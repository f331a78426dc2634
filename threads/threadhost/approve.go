package threadhost

import (
	"cmp"
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/copies"
)

// OpenAsked describes an open question of a thread to a person.
func OpenAsked(ctx context.Context, p *project.Project, thread string, q *threads.OpenQuestion) exec.Asked {
	return exec.Asked{
		Thread:   thread,
		Question: q.Question,
		Rule:     q.Rule,
		Prefixes: q.Prefixes,
		Tier:     q.Tier,
		Change:   q.Change,
		Details:  append(ChangeLines(ctx, p, thread, q.Change), q.Details()...),
	}
}

// ChangeLines returns the lines of the difference that a call of a thread or run would make now, nil
// without one. It reads the files where the tools of the thread or run work.
func ChangeLines(ctx context.Context, p *project.Project, id string, c *policy.FileChange) []string {
	if c == nil {
		return nil
	}
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, id)
	switch {
	case err == nil:
		p, err = copies.InCopyOf(p, id, s)
	case diag.CodeOf(err) == diag.ThreadNotFound:
		p, err = copies.WhereRan(ctx, p, id)
	}
	if err != nil {
		return []string{hidden.Visible("the changes cannot be shown: " + err.Error())}
	}
	return p.Env.ChangesOf(project.ToolsDir(p), c)
}

// suspendsAfter is how long a process waits for an answer from another surface before it is suspended, if
// the allowance sets no time.
const suspendsAfter = time.Minute

// approver returns a function that asks a person about a call, after the hooks of the event: one denial
// is enough, and no person is asked then.
func (r *Run) approver(ctx context.Context, within exec.Call, c *threads.ToolCall) project.AsksPerson {
	hooks := ctx
	return func(ctx context.Context, question project.CallQuestion) (*threads.Reply, error) {
		q := question.Recorded
		ask := question.Ask
		q.Before = func() error {
			return r.beforeAsking(hooks, within, c, q.Tier)
		}
		own := !question.OfNode // not of a node of a graph that the model calls
		switch {
		case ask != nil && own && r.Options.Decide != nil:
			q.Ask = func(ctx context.Context) (threads.Reply, error) {
				about := question.Shown
				about.Thread = r.id
				about.Rule = q.Rule
				about.Prefixes = q.Prefixes
				reply, err := r.Options.Decide(ctx, about)
				if reply.Stop && err == nil && r.suspends() {
					err = control.StopTurn(r.Project, r.id)
				}
				return reply, err
			}
		case ask != nil:
			q.Ask = func(ctx context.Context) (threads.Reply, error) {
				return graphhost.ReplyOf(ask(ctx, question.Shown))
			}
		case own && r.Options.Relayed: // the answer comes into the inbox
			q.Ask = func(ctx context.Context) (threads.Reply, error) {
				<-ctx.Done()
				return threads.Reply{}, ctx.Err()
			}
		case own && r.Options.Suspends: // as Relayed, and a person may come later
			wait := cmp.Or(q.Timeout, suspendsAfter)
			q.Timeout = 0
			q.Ask = func(ctx context.Context) (threads.Reply, error) {
				select {
				case <-ctx.Done():
					return threads.Reply{}, ctx.Err()
				case <-time.After(wait):
					return threads.Reply{}, threads.ErrLeft
				}
			}
		case own && question.Suspends && r.Options.Below == nil && r.Options.Replay == nil: // a run waits for the thread of its node, and a replay cannot continue
			a, _, err := r.Project.Allowance(ctx)
			if err != nil {
				return nil, err
			}
			q.Open = time.Duration(a.Approvals.SuspendedTimeoutSeconds) * time.Second
		}
		if q.Ask != nil &&
			own &&
			r.Options.Below == nil &&
			r.Options.Replay == nil {
			a, _, err := r.Project.Allowance(ctx)
			if err != nil {
				return nil, err
			}
			q.Left = time.Duration(a.Approvals.SuspendedTimeoutSeconds) * time.Second
		}
		return c.Approve(ctx, q)
	}
}

// beforeAsking runs the hooks of a question about a call.
func (r *Run) beforeAsking(
	ctx context.Context,
	within exec.Call,
	c *threads.ToolCall,
	tier string,
) error {
	t := r.thread()
	if t == nil {
		return nil
	}
	call := map[string]any{
		"name":  c.Tool.Name,
		"ref":   c.Tool.Ref,
		"input": c.Input,
		"tier":  tier,
	}
	within.Node = c.Key + "/approval"
	out, err := r.Step(ctx, within, t, "run_hooks", map[string]any{"event": "approval_requested", "context": map[string]any{"call": call, "capability": c.Tool.Ref}})
	if err != nil {
		return err
	}
	control, err := ControlOf(out.Data)
	if err != nil || control == nil || control.Action != "deny" {
		return err
	}
	return diag.New(diag.PolicyDenied, "%s", cmp.Or(
		control.Feedback,
		control.Message,
		"the hook "+control.By+" denied the call",
	)).
		WithReason("hook").
		WithDetail("hook", control.By)
}

// decided returns the answer to a question that another process wrote.
func (r *Run) decided(question string) (*threads.Decision, error) {
	return control.DecisionIn(r.Project.Spaces.ProjectDir, r.id, question)
}

// took removes the answers to a question that the log has.
func (r *Run) took(question string) error {
	all, err := graph.Inbox(r.Project.Spaces.ProjectDir, r.id)
	if err != nil {
		return err
	}
	var list []graph.Message
	for _, m := range all {
		if m.Kind == control.AnswerKind && m.Name == question {
			list = append(list, m)
		}
	}
	return graph.Take(r.Project.Spaces.ProjectDir, r.id, list)
}

// Approve decides about a call by the allowance, and asks the user where it wants that.
func Approve(ctx context.Context, p *project.Project, made exec.Call, call policy.Call) error {
	ask := made.Ask
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return err
	}
	if p.Caller != nil {
		call.Child = p.Caller.IsChild(made)
	}
	d := a.Decide(call)
	d.Timeout = a.Approvals.Timeout(project.AtTerminal(p, made))
	start := made.Started
	if start == nil {
		start = func(string, item.Digest, string, string) error {
			return nil
		}
	}
	person := project.PersonOf(p, made)
	if d.Action == policy.Ask && ask == nil {
		graphhost.Suspends(p, call, d, time.Duration(a.Approvals.SuspendedTimeoutSeconds)*time.Second)
	}
	if d.Action != policy.Ask || ask == nil && person == nil {
		if err := d.Err(); err != nil {
			return err
		}
		return start(call.Ref.String(), call.Digest, d.Tier.String(), "run")
	}
	within := d.Timeout
	if person != nil { // a suspended thread waits longer
		within = 0
	}
	change := project.ChangeForLog(call.Change)
	shown := exec.Asked{
		Question: d.Question(),
		Tier:     d.Tier.String(),
		Rule:     d.Rule(),
		Prefixes: d.Prefixes(),
		Change:   change,
		Details: append(
			p.Env.ChangesOf(project.ToolsDir(p), call.Change),
			d.Details()...,
		),
	}
	q := &threads.Question{
		Tier:       d.Tier.String(),
		Text:       d.Question(),
		Capability: d.Capability(),
		Digest:     d.Digest(),
		Rule:       d.Rule(),
		Prefixes:   d.Prefixes(),
		Within:     d.Within,
		Timeout:    d.Timeout,
		Change:     change,
	}
	r, err := graphhost.Confirm(ctx, p, made, project.CallQuestion{
		Recorded: q,
		Shown:    shown,
		Suspends: d.Headless == "suspend",
	})
	switch {
	case err != nil:
		return err
	case r == nil:
		return d.Err()
	case r.Late():
		return d.Late(within)
	case r.Unasked():
		return d.Err()
	case r.Decision == threads.Deny:
		return d.Denied(r.Feedback)
	}
	return start(call.Ref.String(), call.Digest, d.Tier.String(), "approved")
}
