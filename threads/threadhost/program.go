package threadhost

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/steps"
)

// threadProgram is a program of a thread with a broker: a step of the loop that a project
// replaced, or a tool. Its calls are the thread's: they pass the same gates, and they are
// recorded, counted and charged.
type threadProgram struct {
	r    *Run
	t    *threads.Thread
	run  context.Context // of the program
	held policy.Held     // of the caller, and the calls of the item as the last grant
	// current is the call of the program.
	current exec.Current
}

// calls returns the calls that the item of the program lists, and its ref.
func (b *threadProgram) calls() (grant policy.Grant, ref string) {
	grant = b.held[len(b.held)-1]
	return grant, strings.TrimSuffix(grant.Source, " calls")
}

// do makes one call.
func (b *threadProgram) do(
	ctx context.Context,
	w *agent.Workspace,
	req agent.Request,
) *diag.Envelope {
	if _, answering := b.current(); !answering { // no line of the log would be before it
		return envelope(nil, diag.New(diag.PermissionDenied, "calling %s: the program has answered, and calls rye between two calls of it", req.Name))
	}
	req.Within.Started = nil // the program makes a call of its own
	req.Ask = b.r.Options.Ask
	args, _ := jsonx.ParseMessage(req.Args)
	input, _ := args.(map[string]any)
	params, _ := input["parameters"].(map[string]any)
	ref := toolOfCall(req.Name, input)
	if ref.ID == "" {
		return b.aside(
			ctx,
			req.Within,
			threads.Offered{ToolDef: message.ToolDef{Name: "rye_" + req.Name}, Ref: "tool:rye/primary/" + req.Name, Verb: policy.Verb(req.Name)},
			input,
		)
	}
	if err := b.held.Allows(policy.Execute, ref); err != nil {
		return b.aside(ctx, req.Within, offered(ref), params) // it is denied, and recorded
	}
	step := req.Within.Step
	if step == "dispatch" && ref.ID == steps.Dir+step {
		return b.dispatch(ctx, req.Within, params)
	}
	name, isStep := strings.CutPrefix(ref.ID, steps.Dir)
	if isStep && name != "control" && name != "emitter" {
		out, err := b.r.Step(ctx, req.Within, b.t, name, params)
		return envelope(out.Data, err)
	}
	if slices.ContainsFunc(b.r.Services, func(s *threads.Service) bool { return s.Provider == ref }) {
		return w.Do(ctx, req) // the attempt is recorded where every attempt is
	}
	id := b.ofModel(req.Within.Step, ref, params)
	if id != "" {
		return b.model(ctx, req.Within, id, false)
	}
	return b.aside(ctx, req.Within, offered(ref), params)
}

func offered(ref item.Ref) threads.Offered {
	return threads.Offered{ToolDef: message.ToolDef{Name: ref.ID}, Ref: ref.String()}
}

// ofModel returns the call of the model that a program makes: the step dispatch executes
// the tool of a call that has no result, with its arguments.
func (b *threadProgram) ofModel(step string, ref item.Ref, params map[string]any) string {
	if step != "dispatch" {
		return ""
	}
	want, err := jsonx.Marshal(params)
	if err != nil {
		return ""
	}
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	for _, c := range b.t.Pending() {
		v, _ := jsonx.ParseMessage(c.Input)
		have, err := jsonx.Marshal(v)
		if err != nil ||
			c.Problem != "" ||
			c.Ref != ref.String() ||
			string(have) != string(want) ||
			b.r.claimed[c.CallID] {
			continue
		}
		if b.r.claimed == nil {
			b.r.claimed = map[string]bool{}
		}
		b.r.claimed[c.CallID] = true
		return c.CallID
	}
	return ""
}

// dispatch makes a call of the model, or records the result of one that is not made: the step
// dispatch executes itself with the id of the call, and with this result.
func (b *threadProgram) dispatch(
	ctx context.Context,
	within exec.Call,
	params map[string]any,
) *diag.Envelope {
	var call struct {
		ID      string          `json:"call_id"`
		Content []message.Block `json:"content"`
		IsError bool            `json:"is_error"`
	}
	raw, err := jsonx.Marshal(params)
	if err == nil {
		err = json.Unmarshal(raw, &call)
	}
	if err != nil || call.ID == "" {
		return envelope(nil, diag.New(diag.ValidationFailed, "making a call of the model: the step dispatch passes call_id, or call_id, content and is_error"))
	}
	if call.Content == nil {
		return b.model(ctx, within, call.ID, true)
	}
	b.r.starts.passed(call.ID)
	return envelope(map[string]any{}, b.t.Answer(
		ctx,
		within.Node,
		call.ID,
		call.Content,
		call.IsError,
	))
}

// model makes a call of the model, with the permissions of the thread and of the program. The
// data are what the tool returned, or the whole result as the model reads it.
func (b *threadProgram) model(
	ctx context.Context,
	within exec.Call,
	id string,
	read bool,
) *diag.Envelope {
	grant, _ := b.calls()
	got := &captured{}
	d, err := b.t.Call(
		ctx,
		within.Node,
		id,
		got.result(b.r.toolWithin(within)),
		grant,
	)
	switch {
	case err != nil:
		return envelope(nil, err)
	case read:
		return envelope(jsonx.Object(resultOf(d)))
	case !got.set && !d.Waits:
		return readAgain(d.Content, d.IsError)
	}
	return got.envelope()
}

// aside makes a call that is the program's own.
func (b *threadProgram) aside(
	ctx context.Context,
	within exec.Call,
	tool threads.Offered,
	input map[string]any,
) *diag.Envelope {
	_, by := b.calls()
	if input == nil {
		input = map[string]any{}
	}
	of := within.Node
	if id := CallOf(within); id != "" {
		of = id
	}
	got := &captured{}
	res, err := b.t.Aside(
		ctx,
		threads.AsideCall{
			By:    by,
			Of:    of,
			Node:  within.Node,
			Tool:  tool,
			Input: input,
			Held:  b.held,
		},
		got.result(b.r.CallWithin(within)),
	)
	switch {
	case got.set:
		return got.envelope()
	case err != nil:
		return envelope(nil, err)
	}
	if res.Blocks != nil {
		return readAgain(res.Blocks, res.IsError)
	}
	return (&captured{data: res.Data, isError: res.IsError}).envelope()
}

// readAgain returns a result that the log has.
func readAgain(content []message.Block, isError bool) *diag.Envelope {
	var data any = content
	if len(content) == 1 && content[0].Type == message.Text {
		data = content[0].Text
		v, fs := jsonx.ParseMessage([]byte(content[0].Text))
		if len(fs) == 0 {
			data = v
		}
	}
	return (&captured{data: data, isError: isError}).envelope()
}
