package project

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
)

type spawnerKey struct{}

// spawner returns the thread whose call ctx is, nil if a person or a client makes it.
func spawner(ctx context.Context) *threadRun {
	r, _ := ctx.Value(spawnerKey{}).(*threadRun)
	return r
}

type stepKey struct{}

type callKey struct{}

// toolOfCall returns the tool that a program executes, "" for another verb or kind.
func toolOfCall(verb string, input map[string]any) item.Ref {
	kind, _ := input["item_type"].(string)
	id, _ := input["item_id"].(string)
	ref, err := item.ParseRef(id, item.Kind(kind))
	if kind == "" {
		ref, err = item.ParseRef(id, item.Tool)
	}
	if err != nil || ref.Kind != item.Tool || verb != string(policy.Execute) {
		return item.Ref{}
	}
	return ref
}

type capturedKey struct{}

// captured is the result of a call as its program reads it: the whole, not what the model
// reads.
type captured struct {
	set     bool
	verb    bool
	data    any
	isError bool
	err     error
}

// capture keeps the result of a call for the program that makes it.
func capture(ctx context.Context, c *threads.ToolCall, res *threads.ToolResult, err error) {
	got, _ := ctx.Value(capturedKey{}).(*captured)
	if got == nil || got.set {
		return
	}
	*got = captured{set: true, err: err, verb: c.Tool.Verb != ""}
	if res != nil {
		got.data, got.isError = res.Data, res.IsError
	}
}

func (c *captured) envelope() *diag.Envelope {
	m, _ := c.data.(map[string]any)
	switch {
	case c.err != nil:
		return envelope(nil, c.err)
	case c.isError:
		e, _ := m["error"].(map[string]any)
		code, _ := e["code"].(string)
		text, _ := e["message"].(string)
		details, _ := e["details"].(map[string]any)
		if code == "" {
			code = string(diag.ExecutionFailed)
		}
		return &diag.Envelope{Data: m["data"], Error: &diag.Failure{Code: diag.Code(code), Message: text, Details: details}}
	case c.verb:
		return envelope(m["data"], nil)
	}
	return envelope(c.data, nil)
}

func envelope(data any, err error) *diag.Envelope {
	if err == nil {
		return &diag.Envelope{Success: true, Data: data}
	}
	e := diag.Typed(err)
	return &diag.Envelope{Error: &diag.Failure{Code: e.Code, Message: e.Error(), Retryable: e.Retryable, Details: e.Details}}
}

// modelCall is the call of a model that ctx belongs to.
type modelCall struct {
	key   string // equal when the call is repeated
	again bool   // a process that was stopped had begun it
}

type modelCallKey struct{}

func modelCallOf(ctx context.Context) modelCall {
	c, _ := ctx.Value(modelCallKey{}).(modelCall)
	return c
}
