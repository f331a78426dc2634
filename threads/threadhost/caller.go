package threadhost

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
)

// Spawner returns the thread that a call of a model or of a program is made for, nil if a person,
// a client or a step of a loop makes it.
func Spawner(p *project.Project, c exec.Call) *Run {
	r, _ := p.Caller.(*Run)
	return r.ofCall(c)
}

// CallOf returns the id of the call of a thread that makes a call, "" if a step makes it.
func CallOf(c exec.Call) string {
	if c.Step != "" {
		return ""
	}
	return c.ID
}

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

// captured is the result of a call as its program reads it: the whole, not what the model
// reads.
type captured struct {
	set     bool
	verb    bool
	data    any
	isError bool
	err     error
}

// result keeps the result of the call that run makes.
func (c *captured) result(run threads.Runner) threads.Runner {
	return func(ctx context.Context, call *threads.ToolCall) (*threads.ToolResult, error) {
		res, err := run(ctx, call)
		*c = captured{set: true, err: err, verb: call.Tool.Verb != ""}
		if res != nil {
			c.data = res.Data
			c.isError = res.IsError
		}
		return res, err
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
	return &diag.Envelope{Error: &diag.Failure{
		Code:      e.Code,
		Message:   e.Error(),
		Retryable: e.Retryable,
		Details:   e.Details,
	}}
}
