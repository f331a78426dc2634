package steps

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Control is the decision of a hook about the thread.
type Control struct {
	Action   string  `json:"action"`
	Delay    float64 `json:"delay,omitempty"`    // of retry, in seconds
	Feedback string  `json:"feedback,omitempty"` // of deny: the model reads it
	Message  string  `json:"message,omitempty"`  // of fail
	To       string  `json:"to,omitempty"`       // of escalate: parent or person
	By       string  `json:"by,omitempty"`       // the hook
}

// maxDelay bounds the delay of a retry, in seconds.
const maxDelay = 86_400

// Controls returns the control actions.
func Controls() []string {
	return []string{"retry", "continue", "skip", "deny", "fail", "abort", "suspend", "escalate"}
}

// control is the step that a control action executes: its result is the decision, as
// the member control for threads, and at top level for graphs.
func control(_ context.Context, in Input) (Output, error) {
	c, err := params[Control]("control", in)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return Output{}, err
	}
	out := c.Fields()
	out["control"] = c.Fields()
	return done(out)
}

func (c *Control) check() error {
	bad := func(format string, args ...any) error {
		return diag.New(diag.ValidationFailed, "reading a control action: "+format, args...)
	}
	switch {
	case !slices.Contains(Controls(), c.Action):
		return bad("action is %q, must be one of %s", c.Action, strings.Join(Controls(), ", "))
	case c.Delay < 0 || c.Delay > maxDelay:
		return bad("delay is %v, must be from 0 to %d seconds", c.Delay, maxDelay)
	case c.Delay > 0 && c.Action != "retry":
		return bad("delay has no effect for %s, only for retry", c.Action)
	case c.To != "" && (c.Action != "escalate" || c.To != "parent" && c.To != "person"):
		return bad("to is %q, must be parent or person, of escalate", c.To)
	}
	if c.Action == "escalate" && c.To == "" {
		c.To = "person"
	}
	return nil
}

// Fields returns the control as parsed JSON.
func (c *Control) Fields() map[string]any {
	m, _ := object(c) // texts and a number
	return m
}

// readControl returns the decision in the result of a hook's action, or nil.
func readControl(data any) (*Control, error) {
	m, _ := data.(map[string]any)
	if m["control"] == nil {
		return nil, nil
	}
	fields, ok := m["control"].(map[string]any)
	if !ok {
		return nil, diag.New(diag.ValidationFailed, "reading a control action: it must be an object with the member action")
	}
	c, err := params[Control]("control", Input{Params: fields})
	if err == nil {
		err = c.check()
	}
	return &c, err
}

// emitter records an observation.
func emitter(_ context.Context, in Input) (Output, error) {
	p, err := params[struct {
		Name string `json:"name"`
		Data any    `json:"data"`
	}]("emitter", in)
	if err != nil {
		return Output{}, err
	}
	if p.Name == "" || len(p.Name) > 100 {
		return Output{}, diag.New(diag.ValidationFailed, "reading the parameters of the step emitter: name must have from 1 to 100 characters")
	}
	return done(map[string]any{}, event("observation", p))
}

// providerCall makes one attempt of a model call. Its body is the kernel's: an item
// with another body has the same reservation and the same record.
func providerCall(ctx context.Context, in Input) (Output, error) {
	data, err := in.Services.Model(ctx, in.Params)
	if err != nil {
		return Output{}, err
	}
	return done(data)
}
