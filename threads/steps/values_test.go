package steps

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
)

// throughText returns what the text of a value has.
func throughText(t *testing.T, v any) any {
	t.Helper()
	b, err := jsonx.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, found := jsonx.ParseMessage(b)
	if len(found) > 0 {
		t.Fatal(found)
	}
	return out
}

// The values of a step that is a function of this program are those that a program reads
// and writes as text.
func TestObject(t *testing.T) {
	for _, in := range []Input{
		{}, {ThreadID: "a-1", Turn: 3, Params: map[string]any{}},
		{Params: map[string]any{"a": 1.0, "b": []string{"x"}, "c": map[string]any{"d": json.Number("1.50")}}, ConversationFile: "f"},
	} {
		if got, err := in.Object(); err != nil || !reflect.DeepEqual(got, throughText(t, in)) {
			t.Errorf("%#v: %#v, %v", in, got, err)
		}
	}
	for _, out := range []Output{
		{}, {Success: true, Data: map[string]any{"n": 2, "list": []any{}}},
		{Success: true, Data: map[string]any{}, Events: []Event{{Event: "a"}, {Event: "b", Data: map[string]any{"x": 1}}}}, {Events: []Event{}},
	} {
		if got, err := out.Object(); err != nil || !reflect.DeepEqual(got, throughText(t, out)) {
			t.Errorf("%#v: %#v, %v", out, got, err)
		}
	}
	if got, err := (Output{Data: map[string]any{"f": func() {}}}).Object(); err == nil {
		t.Errorf("a function is written as %v", got)
	}
}

func TestDecode(t *testing.T) {
	for _, p := range []map[string]any{
		nil, {}, {"params": nil}, {"params": map[string]any(nil)}, {"params": map[string]any{}}, {"params": []any{}}, {"params": "x"},
		{"turn": int64(4), "params": map[string]any{"i": int64(-7), "f": 1.5, "whole": 2.0, "large": 1e21, "n": json.Number("1e999"), "s": "x", "l": []any{nil, true, []any(nil)}, "m": map[string]any(nil)}},
		{"params": map[string]any{"bad": "\xff"}}, {"params": map[string]any{"\xff": 1}}, {"params": map[string]any{"typed": []string{"a"}}},
		{"params": map[string]any{"a": int64(1)}, "PARAMS": map[string]any{"b": int64(2)}},
		{"params": map[string]any{"a": int64(1)}, "other": int64(2)}, {"turn": "x", "params": map[string]any{}},
		{"params": map[string]any{"f": func() {}}}, {"thread_id": "t", "usage": map[string]any{"turns": int64(2)}, "limits": map[string]any{"turns": int64(9)}, "params": map[string]any{"a": map[string]any{"b": []any{int64(1)}}}},
	} {
		got, err := Decode("compose", p)
		want, wantErr := params[Input]("compose", Input{Params: p})
		if (err != nil) != (wantErr != nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%#v: %#v, %v; its text has %#v, %v", p, got, err, want, wantErr)
		}
		if err != nil && err.Error() != wantErr.Error() {
			t.Errorf("%#v: %v, want %v", p, err, wantErr)
		}
	}
	own := map[string]any{"event": "x"}
	if in, err := Decode("control", own); err != nil || !reflect.DeepEqual(in.Params, own) {
		t.Errorf("control: %v, %v", in, err)
	}
}
