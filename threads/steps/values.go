package steps

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

// A turn has some twenty steps. Their inputs and outputs are JSON, because a step can be a
// program, but between a native step and the kernel no text of them is needed: most of it
// are mappings already.

// Object returns the input as parsed JSON.
func (in Input) Object() (map[string]any, error) {
	p := in.Params
	in.Params = nil
	out, err := object(in)
	if err == nil && p != nil {
		out[paramsKey], err = object(p)
	}
	return out, err
}

// Object returns the output as parsed JSON.
func (o Output) Object() (map[string]any, error) {
	whole := map[string]any{"success": o.Success, "data": o.Data}
	if len(o.Events) > 0 {
		events := make([]any, len(o.Events))
		for i, e := range o.Events {
			events[i] = map[string]any{"event": e.Event, "data": e.Data}
		}
		whole["events"] = events
	}
	return object(whole)
}

// Decode returns the input of a step from the parameters of its item. The parameters
// of control and emitter belong to the step itself: hooks and graphs call them as tools.
func Decode(name string, parameters map[string]any) (Input, error) {
	if name == "control" || name == "emitter" {
		return Input{Params: parameters}, nil
	}
	rest := maps.Clone(parameters)
	delete(rest, paramsKey)
	p, isMap := parameters[paramsKey].(map[string]any)
	plainParams, plain := decoded(p)
	for k := range rest {
		plain = plain && !strings.EqualFold(k, paramsKey) // decoding ignores case
	}
	if !isMap || !plain {
		return params[Input](name, Input{Params: parameters})
	}
	in, err := params[Input](name, Input{Params: rest})
	if err == nil {
		in.Params, _ = plainParams.(map[string]any)
	}
	return in, err
}

// paramsKey is the key of Input.Params.
const paramsKey = "params"

// decoded returns a value as params decodes it: numbers are json.Number. ok is false for
// one that only its text shows.
func decoded(v any) (out any, ok bool) {
	switch v := v.(type) {
	case nil, bool:
		return v, true
	case int64:
		return json.Number(strconv.FormatInt(v, 10)), true
	case string:
		return v, utf8.ValidString(v)
	case map[string]any:
		if v == nil {
			return nil, true
		}
		m := make(map[string]any, len(v))
		for k, x := range v {
			if m[k], ok = decoded(x); !ok || !utf8.ValidString(k) {
				return nil, false
			}
		}
		return m, true
	case []any:
		if v == nil {
			return nil, true
		}
		list := make([]any, len(v))
		for i, x := range v {
			if list[i], ok = decoded(x); !ok {
				return nil, false
			}
		}
		return list, true
	case float64:
		b, err := jsonx.Marshal(v)
		return json.Number(b), err == nil
	}
	return nil, false
}

// params decodes the parameters of a step. Unknown fields are errors: a misspelled
// parameter would change the run without notice.
func params[T any](name string, in Input) (T, error) {
	var v T
	if len(in.Params) == 0 {
		return v, nil
	}
	raw, err := jsonx.Marshal(in.Params)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		d.UseNumber()
		err = d.Decode(&v)
	}
	if err != nil {
		plain := checkParams(name, reflect.TypeFor[T](), in.Params)
		if plain != nil {
			return v, plain
		}
		return v, diag.New(diag.ValidationFailed, "reading the parameters of the step %s: %w", name, err)
	}
	return v, nil
}

// done returns the output of a step that succeeded.
func done(data any, events ...Event) (Output, error) {
	m, err := object(data)
	return Output{Success: true, Data: m, Events: events}, err
}

// object converts a struct, or a mapping with structs in it, to the types of parsed
// JSON.
func object(v any) (map[string]any, error) {
	out, err := jsonx.Plain(v)
	if err != nil {
		return nil, diag.New(diag.Internal, "writing the values of a step: %w", err)
	}
	m, _ := out.(map[string]any)
	return m, nil
}
