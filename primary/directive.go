package primary

import (
	"context"
	"fmt"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// Prepared is a directive with its inputs filled in.
type Prepared struct {
	Ref         string         `json:"ref"`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description"`
	Inputs      map[string]any `json:"inputs"`
	Outputs     []item.Input   `json:"outputs,omitempty"`
	Permissions []string       `json:"permissions,omitempty"`
	Body        string         `json:"body"`

	Item *resolve.Item `json:"-"`
}

// Directive verifies a directive, checks its inputs and fills them in. It calls no
// model.
func (v *Verbs) Directive(ctx context.Context, call Call) (*Prepared, error) {
	err := call.Held.Allows(policy.Execute, call.Ref)
	if err != nil {
		return nil, err
	}
	it, err := v.p.Resolver.Find(ctx, call.Ref)
	if err != nil {
		return nil, err
	}
	if err := CheckDraft(call.Held, it); err != nil {
		return nil, err
	}
	d, bases, err := v.p.Resolver.Directive(ctx, it)
	if err != nil {
		return nil, err
	}
	for _, base := range bases {
		if err := CheckDraft(call.Held, base); err != nil {
			return nil, err
		}
	}
	if v.p.Executor != nil {
		err := v.p.Executor.CheckLock(ctx, []*resolve.Item{it})
		if err != nil {
			return nil, err
		}
	}
	values, err := inputs(it, d.Inputs, call)
	if err != nil {
		return nil, err
	}
	texts, err := inputTexts(values)
	if err != nil {
		return nil, err
	}
	return &Prepared{
		Ref:         it.Ref.String(),
		Title:       it.Meta.Title,
		Description: it.Meta.Description,
		Inputs:      values,
		Outputs:     d.Outputs,
		Permissions: d.Permissions.Texts(),
		Body:        tmpl.Inputs(d.Body, texts),
		Item:        it,
	}, nil
}

// inputs returns the values of the declared inputs. One error lists every unknown
// name, missing input and wrong type.
func inputs(
	it *resolve.Item,
	declared []item.Input,
	call Call,
) (map[string]any, error) {
	s, fs := schema.Compile(InputSchema(declared))
	err := diag.FromFindings(
		"reading the inputs of "+it.Ref.String(),
		diag.WithPath(fs, it.Path()),
	)
	if err != nil {
		return nil, err
	}
	values, err := params(call, s)
	if err != nil {
		return nil, exec.BadParameters(err)
	}
	for _, in := range declared {
		if _, given := values[in.Name]; in.HasDefault && !given {
			if values[in.Name], err = s.Coerce(in.Name, in.Default); err != nil {
				return nil, diag.New(diag.ValidationFailed, "reading the default of input %q of %s: %w", in.Name, it.Ref, err)
			}
		}
	}
	return values, exec.Violated("checking the inputs of", it.Ref, s.Validate(values))
}

// InputSchema returns the JSON Schema of a directive's inputs.
func InputSchema(ins []item.Input) map[string]any {
	props := map[string]any{}
	required := []any{}
	for _, in := range ins {
		props[in.Name] = map[string]any{"type": in.SchemaType(), "description": in.Description}
		if in.Required && !in.HasDefault {
			required = append(required, in.Name)
		}
	}
	return map[string]any{
		"type":                 "object",
		"properties":           props,
		"required":             required,
		"additionalProperties": false,
	}
}

// inputTexts renders the values for the text of the directive: texts unchanged,
// other values as JSON.
func inputTexts(values map[string]any) (map[string]string, error) {
	out := make(map[string]string, len(values))
	for name, v := range values {
		if s, ok := v.(string); ok {
			out[name] = s
			continue
		}
		b, err := jsonx.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("writing input %q: %w", name, err)
		}
		out[name] = string(b)
	}
	return out, nil
}
