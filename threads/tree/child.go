package tree

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/transcript"
)

// ThreadDirective is the function of the tool with which a thread starts a new thread. The
// new thread has the permissions of the caller as its first grants, so it may do no more.
func ThreadDirective(
	ctx context.Context,
	p *project.Project,
	in exec.NativeCall,
) (map[string]any, error) {
	o, wait, err := childOptions(ctx, p, in)
	if err != nil {
		return nil, err
	}
	decide := decider(p, in.Call)
	s, err := joined(ctx, p, o)
	if s == nil && err == nil {
		o.Relayed = wait && decide != nil
		o.Attended = o.Relayed && project.AtTerminal(p, in.Call)
		s, err = Spawn(ctx, p, o)
	}
	if err != nil {
		return nil, err
	}
	if !wait {
		return jsonx.Object(s)
	}
	// The thread ends by its own limit; the caller's timeout ends the wait only.
	if in.OnLine != nil {
		in.OnLine(proc.Stderr, []byte("thread "+s.ThreadID))
	}
	if o.Relayed {
		within, cancel := context.WithCancel(ctx)
		defer cancel()
		go relay(within, p, s.ThreadID, decide)
	}
	limit := time.Duration(s.Limits.DurationSeconds)*time.Second + threadhost.PlaceWait
	waited, err := control.Wait(ctx, p, []string{s.ThreadID}, limit, false)
	for diag.CodeOf(err) == diag.Timeout && ctx.Err() == nil && hasAsked(p, s.ThreadID) {
		waited, err = control.Wait(ctx, p, []string{s.ThreadID}, limit, false) // its limit is without the time of its questions
	}
	if err != nil {
		if ctx.Err() != nil && o.Above == nil { // it is cancelled with its client
			_, cerr := control.End(
				context.WithoutCancel(ctx), p,
				control.EndOfChain(p, s.ThreadID),
				threads.Cancelled,
			)
			err = errors.Join(err, cerr)
		}
		return nil, err
	}
	out, err := outcome(p, waited[0].ID, waited[0].State)
	if err == nil && waited[0].ID != s.ThreadID {
		out["thread_id"], out["continued_by"] = s.ThreadID, waited[0].ID
	}
	return out, err
}

// hasAsked reports whether a thread of a chain asked a person about a call.
func hasAsked(p *project.Project, id string) bool {
	lines, err := transcript.Read(p.Spaces.ProjectDir, control.EndOfChain(p, id))
	return err == nil &&
		slices.ContainsFunc(lines, func(l transcript.Line) bool {
			return l.Event == "approval_requested"
		})
}

// outcome returns the state and result of a thread, as its caller reads it.
func outcome(p *project.Project, id, state string) (map[string]any, error) {
	out := map[string]any{"thread_id": id, "state": state}
	res, err := control.Result(p, id)
	if diag.CodeOf(err) == diag.ThreadState { // it has not ended
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"outputs", "text", "error", "cost"} {
		if v := res[key]; v != nil && v != "" {
			out[key] = v
		}
	}
	return out, nil
}

// childOptions reads the parameters of the tool.
func childOptions(
	ctx context.Context,
	p *project.Project,
	in exec.NativeCall,
) (o *threadhost.Options, wait bool, err error) {
	text := func(key string) string { s, _ := in.Parameters[key].(string); return s }
	id := cmp.Or(text("directive_id"), text("directive_name"))
	if id == "" {
		return nil, false, diag.New(diag.ValidationFailed, "starting a thread: the parameter directive_id is missing")
	}
	ref, err := item.ParseRef(id, item.Directive)
	if err != nil || ref.Kind != item.Directive {
		return nil, false, diag.New(diag.ValidationFailed, "starting a thread: %q is not the id of a directive", id)
	}
	o = &threadhost.Options{
		Ref:      ref,
		Held:     in.Held,
		Model:    text("model"),
		Provider: text("provider"),
		Above:    threadhost.Spawner(p, in.Call),
		CallID:   threadhost.CallOf(in.Call),
		Again:    in.Again,
	}
	if in.ID != "" {
		o.Call = in.Thread + "/" + in.ID
	}
	if o.Above == nil && graphhost.InRun(p) {
		return nil, false, diag.New(diag.ValidationFailed, "starting %s: a node of a graph calls the directive itself, as its action", ref)
	}
	if o.Above != nil && o.Above.Options.Replay != nil {
		return nil, false, diag.New(diag.ReplayMismatch, "starting %s: a replay starts no thread, because a model would answer it", ref)
	}
	if o.Workspace = text("workspace"); o.Workspace == "inherit" {
		o.Workspace = ""
	}
	if o.Params, _ = in.Parameters["inputs"].(map[string]any); o.Params == nil {
		o.Params = map[string]any{}
	}
	if list, ok := in.Parameters["permissions"].([]any); ok {
		g := policy.Grant{Source: "permissions of the call that starts " + ref.String(), Caps: policy.Set{policy.Needed(policy.Execute, ref)}}
		for _, v := range list {
			s, _ := v.(string)
			c, err := policy.Parse(s)
			if err != nil {
				return nil, false, err
			}
			g.Caps = append(g.Caps, c)
		}
		o.Held = o.Held.With(g)
	}
	flags, err := limitFlags(in.Parameters["limit_overrides"])
	if err != nil {
		return nil, false, err
	}
	if graphhost.IsPerson(in.Call) {
		o.Limits = flags
	} else {
		o.Narrow = flags
	}
	return o, cmp.Or(text("mode"), "wait") == "wait" && in.Parameters["async_exec"] != true, nil
}

// limitFlags returns limits of an object in the form of a person's flags.
func limitFlags(v any) ([]string, error) {
	m, _ := v.(map[string]any)
	var out []string
	for name, value := range m {
		raw, err := jsonx.Marshal(value)
		if err != nil {
			return nil, diag.New(diag.ValidationFailed, "reading limit_overrides: %s: %w", name, err)
		}
		s, isText := value.(string)
		if !isText {
			s = string(raw)
		}
		out = append(out, name+"="+s)
	}
	slices.Sort(out)
	return out, nil
}

// asFlags returns limits as the process of a thread reads them.
func asFlags(l threads.Limits) []string {
	n := func(name string, v int64) string {
		return name + "=" + strconv.FormatInt(v, 10)
	}
	return []string{
		n("turns", l.Turns),
		n("tokens", l.Tokens),
		"spend=" + l.Spend.String(),
		n("spawns", l.Spawns),
		n("depth", l.Depth),
		n("duration_seconds", l.DurationSeconds),
	}
}
