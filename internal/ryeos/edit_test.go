package ryeos

import (
	"reflect"
	"testing"
)

func TestWithValue(t *testing.T) {
	in := map[string]any{"config": map[string]any{"args": []any{"a", "b"}, "x": int64(1)}, "n": nil}
	got := withValue(in, []string{"config", "args", "1"}, "c")
	want := map[string]any{"config": map[string]any{"args": []any{"a", "c"}, "x": int64(1)}, "n": nil}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("withValue returns %v, want %v", got, want)
	}
	if in["config"].(map[string]any)["args"].([]any)[1] != "b" {
		t.Error("withValue changes its input")
	}
}

func TestLineAt(t *testing.T) {
	b := []byte("one\ntwo\nthree")
	for number, want := range map[int]string{1: "one\n", 2: "two\n", 3: "three", 4: "", 0: ""} {
		if start, end := lineAt(b, number); string(b[start:end]) != want {
			t.Errorf("line %d is %q, want %q", number, b[start:end], want)
		}
	}
}
