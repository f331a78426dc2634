package layered

import (
	"reflect"
	"testing"
)

func TestMerge(t *testing.T) {
	layers := []Layer{
		{"system", map[string]any{
			"retries": int64(3), "limits": map[string]any{"turns": int64(25), "depth": int64(10)},
			"patterns": []any{map[string]any{"id": "429", "retry": true}, map[string]any{"id": "500", "retry": true}},
			"tags":     []any{"a", "b"}, "deep": map[string]any{"x": map[string]any{"y": "z"}},
		}},
		{"user", map[string]any{"retries": int64(5), "tags": []any{"c"}, "deep": map[string]any{"x": "flat"}}},
		{"project", map[string]any{
			"limits":   map[string]any{"turns": int64(5)},
			"patterns": []any{map[string]any{"id": "500", "retry": false}, map[string]any{"id": "529", "retry": true}},
		}},
	}
	root, from := Merge(layers), Origins(layers)
	want := map[string]any{
		"retries": int64(5), "limits": map[string]any{"turns": int64(5), "depth": int64(10)},
		"patterns": []any{map[string]any{"id": "429", "retry": true}, map[string]any{"id": "500", "retry": false}, map[string]any{"id": "529", "retry": true}},
		"tags":     []any{"c"}, "deep": map[string]any{"x": "flat"},
	}
	if !reflect.DeepEqual(root, want) {
		t.Errorf("root = %v\nwant   %v", root, want)
	}
	origins := map[string]string{
		"retries": "user", "limits.turns": "project", "limits.depth": "system", "tags": "user", "deep.x": "user",
		"patterns.429.id": "system", "patterns.429.retry": "system", "patterns.500.id": "project", "patterns.500.retry": "project",
		"patterns.529.id": "project", "patterns.529.retry": "project",
	}
	if !reflect.DeepEqual(from, origins) {
		t.Errorf("origins = %v\nwant      %v", from, origins)
	}
}

func TestMergeChangesNoLayer(t *testing.T) {
	base := map[string]any{"list": []any{map[string]any{"id": "a", "v": int64(1)}}}
	Merge([]Layer{{"a", base}, {"b", map[string]any{"list": []any{map[string]any{"id": "a", "v": int64(2)}}}}})
	if !reflect.DeepEqual(base, map[string]any{"list": []any{map[string]any{"id": "a", "v": int64(1)}}}) {
		t.Errorf("the first layer changed: %v", base)
	}
}

func TestListsWithoutIDsAreReplaced(t *testing.T) {
	for name, over := range map[string][]any{
		"scalars":   {"x"},
		"mixed":     {map[string]any{"id": "a"}, "x"},
		"twice":     {map[string]any{"id": "a"}, map[string]any{"id": "a"}},
		"empty":     {},
		"odd types": {map[string]any{"id": int64(1)}},
	} {
		m := Merge([]Layer{{"low", map[string]any{"l": []any{map[string]any{"id": "a"}}}}, {"high", map[string]any{"l": over}}})
		if got := m["l"].([]any); name != "empty" && !reflect.DeepEqual(got, over) {
			t.Errorf("%s: got %v, want it replaced by %v", name, got, over)
		}
	}
}
