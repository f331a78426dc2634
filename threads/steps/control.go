package steps

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hooks"
)

// Control is the decision of a hook about the thread.
type Control = hooks.Control

// controlResult is the result of control.
type controlResult struct {
	Control
	Decision Control `json:"control"`
}

// control is the step that a control action executes: its result is the decision, as
// the member control for threads, and at top level for graphs.
func control(_ context.Context, in Input) (Output, error) {
	c, err := params[Control]("control", in)
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		return Output{}, err
	}
	out := fieldsOf(&c)
	out["control"] = fieldsOf(&c)
	return done(out)
}

// fieldsOf returns a control as parsed JSON.
func fieldsOf(c *Control) map[string]any {
	m, _ := object(c) // texts and a number
	return m
}

// ReadControl returns the decision in the result of a hook's action, or nil.
func ReadControl(data any) (*Control, error) {
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
		err = c.Check()
	}
	return &c, err
}

type observation struct {
	Name string `json:"name"`
	Data any    `json:"data"`
}

// emitter records an observation.
func emitter(_ context.Context, in Input) (Output, error) {
	p, err := params[observation]("emitter", in)
	if err != nil {
		return Output{}, err
	}
	if p.Name == "" || len(p.Name) > 100 {
		return Output{}, diag.New(diag.ValidationFailed, "reading the parameters of the step emitter: name must have from 1 to 100 characters")
	}
	return done(map[string]any{}, event("observation", p))
}

// pauseParams are the parameters of provider_call: the pause before the call, delay in seconds,
// which a hook decided, or delay_ms.
type pauseParams struct {
	DelayMS  float64 `json:"delay_ms,omitempty"`
	Delay    float64 `json:"delay,omitempty"`
	Provider string  `json:"provider"` // the item of the model that the thread uses now
	Model    string  `json:"model"`
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
