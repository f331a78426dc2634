package jsonx

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

// sameAsText reports an error if Plain does not return what the text of a value has.
func sameAsText(t *testing.T, v any) {
	t.Helper()
	b, err := Marshal(v)
	got, gotErr := Plain(v)
	if err != nil {
		if gotErr == nil {
			t.Errorf("%#v: %#v, and it cannot be written: %v", v, got, err)
		}
		return
	}
	want, found := ParseMessage(b)
	if (gotErr != nil) != (len(found) > 0) || !reflect.DeepEqual(got, want) {
		t.Errorf("%#v: %#v, %v, its text has %#v, %s", v, got, gotErr, want, brief(found))
	}
}

func TestPlain(t *testing.T) {
	type pair struct {
		A int            `json:"a"`
		B map[string]any `json:"b,omitempty"`
	}
	deep := any("end")
	for range 999 {
		deep = []any{deep}
	}
	for _, v := range []any{
		nil, true, "text", "", 7, int64(math.MinInt64), uint64(math.MaxUint64), 1.0, 1.5, -0.0, 1e21, 1e-7, 1e300, json.Number("1e999"), json.Number("12"), json.Number(""),
		"bad \xff byte", "\u2028<&>\x00", map[string]any(nil), map[string]any{}, []any(nil), []any{}, []string{"a"}, []string(nil), pair{}, &pair{1, map[string]any{"x": 2}},
		map[string]any{"a": []any{1, 2.0, pair{3, nil}}, "b": map[string]any{"c": nil}}, map[string]any{"\xff": 1, "\ufffd": 1}, json.RawMessage(`{"a": [1, 2.50]}`),
		math.NaN(), []any{math.Inf(1)}, func() {}, map[string]any{"a": []any{make(chan int)}},
		[]any{deep}, deep, []any{[]any{deep}}, []any{json.RawMessage("[1]"), deep}, map[string]any{"a": []any{deep}},
	} {
		sameAsText(t, v)
	}
	list := []any{map[string]any{"a": int64(1)}}
	out, err := Plain(list)
	if err != nil {
		t.Fatal(err)
	}
	list[0].(map[string]any)["a"] = int64(2)
	if !reflect.DeepEqual(out, []any{map[string]any{"a": int64(1)}}) {
		t.Errorf("it changed with the value it was made of: %v", out)
	}
}

// TestPlainNestedText is about a part that only its text shows, below a depth.
func TestPlainNestedText(t *testing.T) {
	raw := json.RawMessage("[[[[1]]]]")
	v := any(raw)
	for range MaxMessageDepth - 5 {
		v = []any{v}
	}
	for range 4 {
		sameAsText(t, v)
		v = []any{v}
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,-0,"x"],"b":{"c":null}}`, "[[[]]]", "1e400", `{"":{"":1}}`, "1.0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var v any
		if json.Unmarshal(b, &v) == nil {
			sameAsText(t, v)
		}
		if v, found := ParseMessage(b); len(found) == 0 {
			sameAsText(t, v)
		}
		sameAsText(t, map[string]any{string(b): string(b)})
	})
}

func BenchmarkPlain(b *testing.B) {
	v := map[string]any{"event": "after_tool", "context": map[string]any{"call": map[string]any{"name": "read", "input": map[string]any{"file_path": "a.md"}}, "turn": int64(3), "texts": []any{"a", "b"}}}
	for b.Loop() {
		_, _ = Plain(v)
	}
}

func BenchmarkThroughText(b *testing.B) {
	v := map[string]any{"event": "after_tool", "context": map[string]any{"call": map[string]any{"name": "read", "input": map[string]any{"file_path": "a.md"}}, "turn": int64(3), "texts": []any{"a", "b"}}}
	for b.Loop() {
		_, _ = throughText(v)
	}
}

func TestSame(t *testing.T) {
	a := map[string]any{"n": 1, "list": []any{"x", nil}, "m": map[string]any{"k": true, "j": 2.5}}
	b := map[string]any{"m": map[string]any{"j": 2.5, "k": true}, "n": int64(1), "list": []any{"x", nil}}
	for name, c := range map[string]struct {
		a, b any
		want bool
	}{
		"equal":            {a, b, true},
		"another text":     {a, map[string]any{"n": 1}, false},
		"a text, a number": {"1", 1, false},
		"not JSON":         {make(chan int), make(chan int), false},
		"one is not JSON":  {1, func() {}, false},
		"nothing":          {nil, nil, true},
	} {
		if got := Same(c.a, c.b); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
