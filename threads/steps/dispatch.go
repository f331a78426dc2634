package steps

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/resulttext"
	"github.com/ryeos/rye/internal/touches"
	"github.com/ryeos/rye/threads/message"
)

// pendingCall is one call as dispatch receives it.
type pendingCall struct {
	Call
	// Problem states why the call cannot be made: the model invented the tool, or the
	// arguments do not fit its schema.
	Problem string `json:"problem"`
	// Touches is what the call reads and writes, as the item of its tool declares it; null if
	// the item declares nothing.
	Touches *touches.Set `json:"touches"`
	// Together is whether the call runs at the same time as others whatever it touches.
	Together bool `json:"together"`
}

// dispatchParams are the parameters of dispatch.
type dispatchParams struct {
	Calls       []pendingCall `json:"calls"`
	Parallel    bool          `json:"parallel"`     // <model parallel="true">: all calls together
	MaxParallel int           `json:"max_parallel"` // 0 is 1
}

type dispatched struct {
	Results []Result `json:"results"`
	Control *Control `json:"control"`
	Pending []string `json:"pending"`
}

// dispatch makes the calls of one response: each with the hooks before_tool and
// after_tool. Calls in a row run together if none of them writes what a second one touches, and
// the results are in the order of the calls. The first decision of a hook to end or to suspend
// the thread leaves the later groups out, and so does a call that waits for a person.
//
// Params: {calls: [{call_id, name, ref, digest, tier, input, problem, touches, together}],
// parallel, max_parallel}. Result: {results: [Result], control, pending: [call_id]}.
func dispatch(ctx context.Context, in Input) (Output, error) {
	p, err := params[dispatchParams]("dispatch", in)
	if err != nil {
		return Output{}, err
	}
	d := &dispatcher{
		in:       in,
		results:  make([]*Result, len(p.Calls)),
		controls: make([]*Control, len(p.Calls)),
		events:   make([][]Event, len(p.Calls)),
	}
	for _, group := range groups(p.Calls, p.Parallel) {
		err := d.group(ctx, p.Calls, group, max(p.MaxParallel, 1))
		if err != nil {
			return Output{}, err
		}
		if d.control(group) != nil {
			break
		}
	}
	results := []Result{}
	pending := []string{}
	var events []Event
	var control *Control
	for i, r := range d.results {
		events = append(events, d.events[i]...)
		if control == nil {
			control = d.controls[i]
		}
		if r == nil {
			pending = append(pending, p.Calls[i].CallID)
			continue
		}
		results = append(results, *r)
	}
	return done(dispatched{results, control, pending}, events...)
}

// groups divides calls into those that run at the same time, in order: neighbouring calls
// of which none writes what a second one touches. With all, every call is in one.
func groups(calls []pendingCall, all bool) [][]int {
	sets := make([]*touches.Set, len(calls))
	for i, c := range calls {
		if sets[i] = c.Touches; all || c.Together || c.Problem != "" {
			sets[i] = &touches.Set{} // nothing that another call of the answer would miss
		}
	}
	return touches.Groups(sets)
}

type dispatcher struct {
	in       Input
	results  []*Result
	controls []*Control
	events   [][]Event
}

// control returns the first decision in a group.
func (d *dispatcher) control(group []int) *Control {
	for _, i := range group {
		if d.controls[i] != nil {
			return d.controls[i]
		}
	}
	return nil
}

// group makes the calls of one group, at most limit at the same time.
func (d *dispatcher) group(ctx context.Context, calls []pendingCall, group []int, limit int) error {
	slots := make(chan struct{}, limit)
	errs := make([]error, len(group))
	var wait sync.WaitGroup
	for n, i := range group {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			errs[n] = d.call(ctx, &calls[i], i)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// call makes one call with its hooks.
func (d *dispatcher) call(ctx context.Context, c *pendingCall, i int) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	facts := map[string]any{
		"name":  c.Name,
		"ref":   c.Ref,
		"input": inputOf(c.Input),
		"tier":  c.Tier.String(),
	}
	if c.Problem == "" {
		decided, err := d.hooks(ctx, "before_tool", map[string]any{"call": facts})
		if err != nil {
			return err
		}
		if decided != nil {
			return d.leaveOut(ctx, c, i, decided)
		}
	}
	if c.Problem == "" && c.Name == ReturnTool {
		decided, err := d.hooks(ctx, "directive_return", map[string]any{"outputs": facts["input"]})
		if err != nil {
			return err
		}
		if decided != nil {
			return d.sendBack(ctx, c, i, decided)
		}
	}
	r, err := d.in.Services.Call(ctx, c.Call)
	if err != nil {
		return err
	}
	if r.Waits {
		d.controls[i] = &Control{Action: "suspend", By: "approval"}
		return nil
	}
	d.results[i] = &r
	if c.Problem != "" {
		return nil
	}
	scope := map[string]any{
		"call": facts, "turn": d.in.Turn, "cost": d.in.Usage.Spend.String(),
		"result": map[string]any{"is_error": r.IsError, "text": textOf(r.Content), "denied": r.Denied},
	}
	event := "after_tool"
	if r.Denied {
		event = "tool_denied"
		scope["capability"] = ""
	}
	d.controls[i], err = d.hooks(ctx, event, scope)
	if r.Denied {
		d.controls[i] = nil // the call is denied already
	}
	return err
}

// hooks runs the hooks of an event and returns their decision.
func (d *dispatcher) hooks(
	ctx context.Context,
	event string,
	scope map[string]any,
) (*Control, error) {
	out, err := d.in.Services.Step(ctx, "run_hooks", map[string]any{"event": event, "context": scope})
	if err != nil {
		return nil, err
	}
	return ReadControl(out.Data)
}

// leaveOut records the result of a call that a hook denied or skipped.
func (d *dispatcher) leaveOut(ctx context.Context, c *pendingCall, i int, by *Control) error {
	r := Result{CallID: c.CallID, Ref: c.Ref}
	if by.Action == "skip" {
		r.Skipped = true
		r.Content = []message.Block{message.TextBlock("[not run: the hook " + by.By + " left it out]")}
	} else {
		reason := by.Feedback
		if reason == "" {
			reason = "the hook " + by.By + " denied the call"
		}
		r.Denied = true
		r.IsError = true
		r.Content = []message.Block{message.TextBlock(failure(diag.PolicyDenied, reason))}
		d.events[i] = append(d.events[i], event("tool_denied", map[string]any{"call_id": c.CallID, "code": diag.PolicyDenied, "message": reason}))
	}
	err := d.in.Services.Answer(ctx, c.Call, r)
	if err != nil {
		return err
	}
	d.results[i] = &r
	return nil
}

// sendBack records the result of outputs that a hook refused: the model reads why.
func (d *dispatcher) sendBack(ctx context.Context, c *pendingCall, i int, by *Control) error {
	reason := cmp.Or(by.Message, by.Feedback, "the hook "+by.By+" refused the outputs")
	r := Result{CallID: c.CallID, IsError: true, Content: []message.Block{message.TextBlock(failure(diag.ValidationFailed, reason))}}
	err := d.in.Services.Answer(ctx, c.Call, r)
	if err != nil {
		return err
	}
	d.results[i] = &r
	return nil
}

// failure returns the result of a call that was not made.
func failure(code diag.Code, text string) string {
	return resulttext.Error(string(code), text)
}

func inputOf(raw json.RawMessage) any {
	v, _ := jsonx.ParseMessage(raw) // arguments that do not parse have no members for conditions
	return v
}

func textOf(content []message.Block) string {
	s := ""
	for _, b := range content {
		s += b.Text
	}
	return s
}
