package steps

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/schema"
)

// Each step has a form, whose schemas compile, and an error names what does not fit it.
func TestForms(t *testing.T) {
	for name := range All() {
		f, ok := formOf(name)
		if !ok {
			t.Errorf("the step %s has no form", name)
			continue
		}
		for _, s := range []map[string]any{f.Params, f.Result} {
			if _, fs := schema.Compile(s); len(fs) > 0 {
				t.Errorf("%s: %v", name, fs)
			}
		}
	}
	for _, c := range [][3]string{
		{"compact", `{"action":"references","first_turn":"two"}`, "first_turn must be a whole number, and is a string"},
		{"compact", `{"first_turn":2.5}`, "first_turn must be a whole number, and is a number"},
		{"compact", `{"results":[{"call_id":"a"},{"call_id":1}]}`, "results[1].call_id must be a string, and is a number"},
		{"compose", `{"message":{"blocks":[{"type":"text","text":1}]}}`, "message.blocks[0].text must be a string, and is a number"},
		{"compose", `{"tools":{}}`, "tools must be a list, and is a mapping"},
		{"watchdog", `{"stop":"now"}`, "stop must be a mapping, and is a string"},
		{"watchdog", `{"stop":null,"more":1}`, ""},
		{"provider_call", `{"usage":1}`, "usage must be a mapping, and is a number"},
	} {
		err := CheckResult(c[0], parse(t, c[1]))
		if (err == nil) != (c[2] == "") || err != nil && !strings.HasSuffix(err.Error(), "its result does not fit: "+c[2]) {
			t.Errorf("%s %s: %v, want %q", c[0], c[1], err, c[2])
		}
	}
}

// form has the JSON Schemas of a step: of params in its input, and of data in its output.
type form struct {
	Params, Result map[string]any
}

// formOf returns the form of a step. ok is false for a name that is not one of All.
func formOf(name string) (f form, ok bool) {
	p, r := types(name)
	if p == nil {
		return form{}, false
	}
	return form{Params: schemaOf(p), Result: schemaOf(r)}, true
}

// inputForm is the JSON Schema of what each step has in addition to its params.
func inputForm() map[string]any { return schemaOf(reflect.TypeFor[Input]()) }
