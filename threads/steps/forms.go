package steps

import (
	"cmp"
	"encoding"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/threads/message"
)

// nothing is the type of parameters and results without members.
type nothing struct{}

// Attempt is the result of provider_call: an answer of the model, without its blocks.
// A program that executes the provider item has it with the whole text.
type Attempt struct {
	Turn  int64         `json:"turn"`
	Stop  message.Stop  `json:"stop"`
	Text  string        `json:"text"`
	Calls []string      `json:"calls"` // ids
	Usage message.Usage `json:"usage"`
}

// types returns the types that a step decodes its parameters into, and that it writes.
func types(name string) (params, result reflect.Type) {
	of := func(p, r any) (reflect.Type, reflect.Type) {
		return reflect.TypeOf(p), reflect.TypeOf(r)
	}
	switch name {
	case "cancel_checker":
		return of(inboxParams{}, inboxRequest{})
	case "classifier":
		return of(failedCall{}, Classification{})
	case "compact":
		return of(compactParams{}, Compaction{})
	case "compose":
		return of(Material{}, Prompt{})
	case "continuation":
		return of(nothing{}, fullness{})
	case "control":
		return of(Control{}, controlResult{})
	case "cost_tracker":
		return of(costParams{}, figures{})
	case "dispatch":
		return of(dispatchParams{}, dispatched{})
	case "emitter":
		return of(observation{}, nothing{})
	case "finish":
		return of(finishParams{}, Ending{})
	case "limit_checker":
		return of(nothing{}, limitResult{})
	case "provider_call":
		return of(pauseParams{}, Attempt{})
	case "result_guard":
		return of(guardParams{}, guardResult{})
	case "run_hooks":
		return of(hookParams{}, HookResult{})
	case "watchdog":
		return of(watchParams{}, watchResult{})
	}
	return nil, nil
}

// schemaOf returns the JSON Schema of what a type is written as. Lists and mappings without
// a value are null.
func schemaOf(t reflect.Type) map[string]any {
	text := reflect.TypeFor[encoding.TextMarshaler]()
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	case t == reflect.TypeFor[message.Block]():
		return blockSchema()
	case t == reflect.TypeFor[message.Usage](): // it contains itself, by model
		return map[string]any{"type": "object", "title": "counts"}
	case t.Implements(text):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Pointer:
		return orNull(schemaOf(t.Elem()))
	case reflect.Slice:
		return map[string]any{"type": []any{"array", "null"}, "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": []any{"object", "null"}, "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		return structSchema(t)
	}
	return map[string]any{}
}

// blockSchema returns the schema of a block of any type. docs/reference/format/events.md states which
// members each type has.
func blockSchema() map[string]any {
	properties := map[string]any{"input": map[string]any{}, "wire": map[string]any{"type": "object"}}
	for kind, names := range map[string][]string{
		"string":  {"type", "text", "media_type", "name", "data", "artifact", "id", "invalid_input", "call_id", "dialect", "provider", "model", "raw", "raw_base64"},
		"integer": {"width", "height", "pages", "bytes"}, "boolean": {"is_error"}, "array": {"content"},
	} {
		for _, name := range names {
			properties[name] = map[string]any{"type": kind}
		}
	}
	return map[string]any{
		"type":       "object",
		"title":      "block",
		"required":   []any{"type"},
		"properties": properties,
	}
}

func orNull(s map[string]any) map[string]any {
	if name, ok := s["type"].(string); ok {
		s["type"] = []any{name, "null"}
	}
	return s
}

// structSchema returns the schema of a struct. What it may omit is not required.
func structSchema(t reflect.Type) map[string]any {
	properties := map[string]any{}
	required := []any{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		properties[name] = schemaOf(f.Type)
		if options != "omitempty" {
			required = append(required, name)
		}
	}
	return map[string]any{
		"type":                 "object",
		"properties":           properties,
		"required":             required,
		"additionalProperties": false,
	}
}

// CheckResult returns an error that names the first member of a step's result that has
// another type than the step of rye writes. What is absent or null is not an error, and
// neither are other members.
func CheckResult(name string, data map[string]any) error {
	_, result := types(name)
	if result == nil {
		return nil
	}
	found := misfit(schemaOf(result), data, "", false)
	if found != "" {
		return diag.New(diag.ExecutionFailed, "running the step %s: its result does not fit: %s", name, found)
	}
	return nil
}

// checkParams returns an error that names the first parameter which a type does not have, or
// has with another type.
func checkParams(name string, t reflect.Type, p map[string]any) error {
	found := misfit(schemaOf(t), p, "", true)
	if found != "" {
		return diag.New(diag.ValidationFailed, "reading the parameters of the step %s: %s", name, found)
	}
	return nil
}

// largest is the largest whole number that every program can write.
const largest = 1<<53 - 1

// misfit returns a sentence about the first value that has another type than a schema states,
// "" without one. With only, members that the schema does not have are one, too.
func misfit(s map[string]any, v any, at string, only bool) string {
	want := typeWord(s)
	if v == nil || want == "" {
		return ""
	}
	number, isNumber := number(v)
	switch got := tree.TypeName(v); {
	case want == "a whole number" && isNumber && number == math.Trunc(number) && math.Abs(number) <= largest:
		return ""
	case want != got:
		return at + " must be " + want + ", and is " + got
	}
	switch v := v.(type) {
	case map[string]any:
		return misfitIn(s, v, at, only)
	case []any:
		items, _ := s["items"].(map[string]any)
		for i, x := range v {
			found := misfit(items, x, at+"["+strconv.Itoa(i)+"]", only)
			if found != "" {
				return found
			}
		}
	}
	return ""
}

// misfitIn is misfit for the members of an object.
func misfitIn(s, object map[string]any, at string, only bool) string {
	properties, _ := s["properties"].(map[string]any)
	others, open := s["additionalProperties"].(map[string]any)
	_, closed := s["additionalProperties"].(bool)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		path := strings.TrimPrefix(at+"."+key, ".")
		sub, known := properties[key].(map[string]any)
		if !known && open {
			sub = others
		}
		if !known && closed && only {
			return path + " is unknown; known are " + cmp.Or(
				strings.Join(slices.Sorted(maps.Keys(properties)), ", "),
				"none",
			)
		}
		found := misfit(sub, object[key], path, only)
		if found != "" {
			return found
		}
	}
	return ""
}

// typeWord returns the type of a schema for people, "" if it permits every value.
func typeWord(s map[string]any) string {
	name, _ := s["type"].(string)
	if list, ok := s["type"].([]any); ok {
		name, _ = list[0].(string)
	}
	return map[string]string{
		"object": "a mapping", "array": "a list", "string": "a string", "boolean": "a boolean", "integer": "a whole number", "number": "a number",
	}[name]
}
