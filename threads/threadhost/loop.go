package threadhost

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/steps"
	"github.com/ryeos/rye/threads/transcript"
)

// Call implements graph.Dispatcher. What a node calls below the directory of the steps
// receives the input of a step; everything else is called as any tool.
func (d loopDispatcher) Call(ctx context.Context, c graph.Call) (any, error) {
	name, isStep := strings.CutPrefix(c.Ref.ID, steps.Dir)
	if !isStep || c.Verb != policy.Execute || c.Ref.Kind != item.Tool {
		return graphhost.Dispatcher{Project: d.r.Project, Within: d.r.within()}.Call(ctx, c)
	}
	within := d.r.withinNode(threads.WalkKey(d.walk, c.Key))
	if d.acted.Swap(false) {
		if err := d.t.Flush(); err != nil {
			return nil, err
		}
	}
	if name == "cancel_checker" {
		return d.readInbox(ctx, within, c.Params)
	}
	if name == "compact" {
		done, err := d.shortened(ctx, within.Node)
		if err != nil || done != "" {
			return map[string]any{"action": done}, err
		}
	}
	out, err := d.r.Step(ctx, within, d.t, name, c.Params)
	if err != nil {
		return nil, d.failure(name, err)
	}
	if name == "run_hooks" || name == "dispatch" { // a program may have decided something that no edge knows
		if _, err := steps.ReadControl(out.Data); err != nil {
			return nil, diag.Doing("running the step "+name, err)
		}
	}
	switch name {
	case "finish":
		return d.finished(out.Data, c.Params), nil
	case "compact":
		action, err := d.shorten(ctx, within.Node, out.Data)
		return map[string]any{"action": action}, err
	case "compose":
		return map[string]any{}, d.compose(ctx, out.Data)
	case "provider_call":
		err := d.t.Answered(within.Node, c.Ref.String())
		if err != nil {
			return nil, d.failure(name, err)
		}
	case "dispatch": // the log has the results
		err := d.dispatched(ctx, within, out.Data)
		res := map[string]any{"control": out.Data["control"], "pending": out.Data["pending"], "waits": d.t.Waits() != nil}
		if d.t.Waits() != nil {
			res["control"] = map[string]any{"action": "suspend", "by": threads.ByApproval} // of a loop that does not know it
		}
		return res, err
	case "classifier":
		if action, _ := out.Data["action"].(string); action == "fallback" {
			category, _ := out.Data["category"].(string)
			switched, err := d.t.Switch(ctx, category)
			out.Data["switched"] = switched
			return out.Data, err
		}
	case "continuation": // the last step of a turn that continues
		return out.Data, d.t.Checkpoint(ctx)
	}
	return out.Data, nil
}

// finished returns the result of the step finish. An answer does not end a conversation: the loop
// continues at the inbox, and waits there.
func (d loopDispatcher) finished(data, params map[string]any) map[string]any {
	if d.r.Options.Interactive && params["state"] == nil && data["state"] == threads.Completed && data["outputs"] == nil {
		return map[string]any{"done": false}
	}
	return data
}

// failure returns the error of a step for the edges of the loop: a failed call of the
// model with what error classification reads, also if the step is a program that did not
// report it, and a limit with its figures.
func (d loopDispatcher) failure(name string, err error) error {
	if name == "provider_call" && diag.CodeOf(err) != diag.Cancelled {
		if why := d.t.Unanswered(); why != nil {
			err = why
		}
	}
	e := diag.Typed(err)
	limit, _ := e.Details["limit"].(string)
	if limit != "" && e.Details["data"] == nil {
		facts := map[string]any{}
		for _, key := range []string{"limit", "value", "max", "reserved", "left", "needed", "renews", "setting"} {
			v := plain(e.Details[key])
			if v != nil || key == "value" || key == "max" {
				facts[key] = v
			}
		}
		return e.WithDetail("data", facts)
	}
	return err
}

// plain returns a figure as parsed JSON.
func plain(v any) any {
	m, err := jsonx.Object(map[string]any{"v": v})
	if err != nil {
		return nil
	}
	return m["v"]
}

// compose records what a step composed.
func (d loopDispatcher) compose(ctx context.Context, data map[string]any) error {
	raw, err := jsonx.Marshal(data)
	prompt := &threads.Prompt{}
	if err == nil {
		err = json.Unmarshal(raw, prompt)
	}
	if err != nil {
		return diag.New(diag.ExecutionFailed, "running the step compose: its result is not a prompt: %w", err)
	}
	return d.t.Compose(ctx, prompt)
}

// within returns the call during which the loop of the thread makes its calls.
func (r *Run) within() exec.Call {
	c := r.Options.Within
	c.Thread = r.id
	return c
}

// withinNode is within for a call that a node of the loop makes.
func (r *Run) withinNode(node string) exec.Call {
	c := r.within()
	c.Node = node
	return c
}

// Step runs a step item by its name, and records the events of its output.
func (r *Run) Step(
	ctx context.Context,
	within exec.Call,
	t *threads.Thread,
	name string,
	params map[string]any,
) (steps.Output, error) {
	in, err := r.stepInput(ctx, t, name, params)
	if err != nil {
		return steps.Output{}, err
	}
	id, data, err := r.runStep(ctx, within, t, name, in)
	if err != nil {
		return steps.Output{}, err
	}
	out, err := r.output(ctx, within.Node, t, id, data)
	if err == nil && out.Success {
		err = steps.CheckResult(name, out.Data)
	}
	return out, err
}

// runStep runs a step item. t is nil outside of threads.
func (r *Run) runStep(
	ctx context.Context,
	within exec.Call,
	t *threads.Thread,
	name string,
	in steps.Input,
) (id threads.Identity, data map[string]any, err error) {
	ref := item.Ref{Kind: item.Tool, ID: steps.Dir + name}
	if err := r.LoopHeld.Allows(policy.Execute, ref); err != nil {
		return id, nil, err
	}
	chain, err := r.chain(ctx, ref)
	if err != nil {
		return id, nil, err
	}
	if err := primary.CheckDraft(r.LoopHeld, chain.Elements...); err != nil {
		return id, nil, err
	}
	id = threads.Identity{Ref: ref.String(), Digest: chain.Tool().Digest}
	call := within.Below(r.LoopHeld)
	call.Step = name
	call.Ask = r.Options.Ask
	program := chain.Primitive().Ref.ID != exec.NativeStep
	if program {
		if in.Config, err = r.configs(ctx, name); err != nil {
			return id, nil, err
		}
	}
	if program && t != nil && chain.Persistent() {
		data, err := r.ask(ctx, call, t, name, chain, in)
		return id, data, err
	}
	if program && t != nil {
		dir, err := r.conversationFile(t)
		if err != nil {
			return id, nil, err
		}
		defer os.RemoveAll(dir)
		in.ConversationFile = filepath.Join(dir, conversationName)
		call.Readable = []string{dir}
	}
	parameters, err := in.Object()
	if err != nil {
		return id, nil, err
	}
	plan, err := r.Project.Executor.Plan(ctx, chain, call, parameters)
	if err != nil {
		return id, nil, err
	}
	res, err := r.Project.Executor.Run(ctx, plan)
	if err != nil {
		return id, nil, err
	}
	if program {
		err = withinStep(ref, res.Data)
	}
	return id, res.Data, err
}

// maxStep bounds the result of a step that is a program.
const maxStep = 1 << 20

func withinStep(ref item.Ref, data map[string]any) error {
	raw, err := jsonx.Marshal(data)
	if err != nil {
		return diag.New(diag.ExecutionFailed, "running the step %s: %w", ref, err)
	}
	if len(raw) > maxStep {
		return diag.New(diag.ExecutionFailed, "running the step %s: its result has %d bytes, the most is 1 MiB", ref, len(raw))
	}
	return nil
}

// output reads the envelope of a step and records its events.
func (r *Run) output(
	ctx context.Context,
	node string,
	t *threads.Thread,
	id threads.Identity,
	data map[string]any,
) (steps.Output, error) {
	inner, ok := data["data"].(map[string]any)
	success, err := succeeded(data)
	out := steps.Output{Success: success, Data: inner}
	if err != nil || !ok {
		return out, diag.New(diag.ExecutionFailed, "running the step %s: its result must be {success, data, events}", id.Ref)
	}
	var events []threads.Event
	list, _ := data["events"].([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		name, _ := m["event"].(string)
		d, _ := m["data"].(map[string]any)
		events = append(events, threads.Event{Event: name, Data: d})
	}
	return out, t.Step(ctx, node, id, events)
}

// succeeded returns the success that the envelope of a step states, and an error for one with
// values of other types. The envelope of a native step has no other keys.
func succeeded(data map[string]any) (bool, error) {
	success, isBool := data["success"].(bool)
	_, has := data["data"]
	if isBool && has && len(data) == 2 {
		return success, nil
	}
	var out steps.Output
	raw, err := jsonx.Marshal(data)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	return out.Success, err
}

// stepInput returns the input of a step. The parameters of the node are in it, with
// those that only the kernel knows.
func (r *Run) stepInput(
	ctx context.Context,
	t *threads.Thread,
	name string,
	params map[string]any,
) (steps.Input, error) {
	u := t.Used()
	p := map[string]any{}
	for k, v := range params {
		if v != nil {
			p[k] = v
		}
	}
	if err := r.known(ctx, t, name, p); err != nil {
		return steps.Input{}, err
	}
	return steps.Input{
		ThreadID: t.ID(),
		Turn:     t.Turn(),
		Limits:   t.Params().Limits,
		Params:   p,
		Usage: steps.Usage{
			Turns:         u.Turns,
			InputTokens:   u.InputTokens,
			OutputTokens:  u.OutputTokens,
			Spend:         u.Spend,
			Spawns:        u.Spawns,
			DurationMS:    u.DurationMS,
			NewTokens:     u.NewTokens,
			ContextTokens: u.ContextTokens,
			Window:        u.Window,
		},
	}, nil
}

// known adds the parameters of a step that are facts of the thread.
func (r *Run) known(
	ctx context.Context,
	t *threads.Thread,
	name string,
	p map[string]any,
) error {
	add := func(v any, err error) error {
		if err != nil {
			return err
		}
		m, err := jsonx.Object(v)
		for k, v := range m {
			if p[k] == nil {
				p[k] = v
			}
		}
		return err
	}
	switch name {
	case "compose":
		return add(r.material(ctx))
	case "run_hooks":
		delete(p, "hooks") // hooks of the thread only: a program must not bring its own
		r.hookContext(t, p)
		hooks, err := r.hooksFor(ctx, p["event"])
		return add(map[string]any{"hooks": hooks}, err)
	case "dispatch":
		a, _, err := r.Project.Allowance(ctx)
		if err != nil {
			return err
		}
		calls := r.pending(ctx, t)
		p["max_parallel"] = a.Concurrency.ToolCalls
		if n := r.starts.count(); n == len(calls) { // children are bounded by a limit of their own
			p["max_parallel"] = max(a.Concurrency.ToolCalls, a.Concurrency.Children)
		}
		if all := r.Directive.Model.Parallel; all != nil {
			p["parallel"] = *all
		}
		return add(map[string]any{"calls": calls}, nil)
	case "watchdog":
		return add(map[string]any{"polls": r.polls(ctx, t)}, nil)
	case "cost_tracker":
		return add(r.periods(ctx))
	case "classifier":
		facts, attempt, cost := t.Failed()
		if facts != nil {
			p["error"], p["attempt"], p["cost"] = facts, attempt, cost.String()
		}
		p["fallbacks"], p["suspends"] = t.Fallbacks(), r.suspends()
		p["provider"], p["model"] = t.Service().Provider.ID, t.Service().Model
	case "provider_call":
		p["provider"], p["model"] = t.Service().Provider.String(), t.Service().Model
	case "compact":
		return add(map[string]any{"view": t.Sizes()}, nil)
	case "finish":
		p["declared"] = t.Declared()
		if outputs, done := t.Returned(); done {
			p["returned"] = outputs
		}
	}
	return nil
}

const conversationName = "conversation.jsonl"

// conversationFile writes the conversation for a step that is a program, in a directory
// of its own, which it returns.
func (r *Run) conversationFile(t *threads.Thread) (string, error) {
	lines, err := t.Lines()
	if err != nil {
		return "", err
	}
	text, err := conversationText(t.ID(), lines)
	if err != nil {
		return "", err
	}
	dir := conversationDir(r.Project, t)
	err = atomicfile.Private(dir).Write(conversationName, []byte(text), 0o400)
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", diag.Doing("writing the conversation of "+t.ID(), err)
	}
	return dir, nil
}

// conversationText returns lines as programs read them.
func conversationText(id string, lines []transcript.Line) (string, error) {
	var b strings.Builder
	for i := range lines {
		readable, err := readableLine(&lines[i])
		var line []byte
		if err == nil {
			line, err = jsonx.Marshal(readable)
		}
		if err != nil {
			return "", diag.New(diag.Internal, "writing the conversation of %s: %w", id, err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// readableLine returns a line without reasoning, which is encrypted or of no use to
// others than its service. It reads the data as a native step does: every line of a log.
func readableLine(l *transcript.Line) (map[string]any, error) {
	v, err := jsonx.Record(l.Data)
	if err != nil {
		return nil, err
	}
	data, _ := v.(map[string]any)
	if blocks, ok := data["blocks"].([]any); ok {
		kept := make([]any, 0, len(blocks))
		for _, b := range blocks {
			m, _ := b.(map[string]any)
			if m["type"] != "reasoning" && m["type"] != "opaque" {
				kept = append(kept, b)
			}
		}
		data["blocks"] = kept
	}
	return map[string]any{
		"seq":   l.Seq,
		"time":  l.Time,
		"event": l.Event,
		"data":  data,
	}, nil
}

// DebugEvents returns a function that reports which events come from the loop itself.
func DebugEvents(p *project.Project) func(string) bool {
	return func(event string) bool {
		return strings.HasPrefix(event, "graph_") ||
			strings.HasPrefix(event, "node_") ||
			strings.HasSuffix(event, "_committed") ||
			event == "checkpoint"
	}
}

// WholeOf returns a number of parsed JSON.
func WholeOf(v any) int64 {
	return int64(numberOf(v))
}

// numberOf returns a number of parsed JSON.
func numberOf(v any) float64 {
	switch n := v.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	case interface{ Float64() (float64, error) }:
		f, _ := n.Float64()
		return f
	}
	return 0
}

// execute runs the action of a hook, with the permissions of the directive, and the steps
// of the loop.
func (r *Run) execute(
	ctx context.Context,
	within exec.Call,
	a steps.Action,
) (any, error) {
	ref, err := item.ParseRef(a.ID, item.Kind(a.Kind))
	if err != nil {
		return nil, diag.New(diag.ValidationFailed, "running the action of %s: %w", a.By, err)
	}
	params := map[string]any{}
	for k, v := range a.Params {
		params[k] = v
	}
	if a.Template != nil && a.Verb == policy.Execute && ref.Kind == item.Tool {
		if params, err = r.hookParams(ctx, ref, a); err != nil {
			return nil, diag.Doing("running the action of "+a.By, err)
		}
	}
	if t := r.thread(); t != nil {
		// A thread that is repeated after a loss of power must know that this one began.
		if err := t.Flush(); err != nil {
			return nil, err
		}
		r.acted.Store(true)
	}
	if !within.Guarded && !strings.HasPrefix(ref.ID, steps.Dir) {
		call := &threads.ToolCall{Tool: threads.Offered{ToolDef: message.ToolDef{Name: ref.ID}, Ref: ref.String()}, Input: params}
		skipped, err := r.guarded(ctx, within, call)
		if err != nil || skipped != nil {
			return nil, err
		}
	}
	data, err := graphhost.Dispatcher{Project: r.Project, Within: within}.Call(ctx, graph.Call{
		Verb:   a.Verb,
		Ref:    ref,
		Params: params,
		Held:   r.HookHeld,
		RunID:  r.id,
	})
	if err == nil {
		err = r.hookEvents(ctx, within.Node, ref, data)
	}
	return data, err
}

// hookEvents records the events of a program that replaces control or emitter, the steps
// that hooks call. The native ones record theirs themselves.
func (r *Run) hookEvents(ctx context.Context, node string, ref item.Ref, data any) error {
	t := r.thread()
	out, _ := data.(map[string]any)
	name, isStep := strings.CutPrefix(ref.ID, steps.Dir)
	if t == nil || !isStep || name != "control" && name != "emitter" || out["events"] == nil {
		return nil
	}
	it, err := r.Project.Resolver.Find(ctx, ref)
	if err != nil {
		return err
	}
	_, err = r.output(
		ctx,
		node,
		t,
		threads.Identity{Ref: ref.String(), Digest: it.Digest},
		out,
	)
	return err
}
