package hidden

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": "b"}`:                     `{"a": "b"}`,
		"\"\u009b31m\x7f\"":              `"\u009b31m\u007f"`,
		"{\"a\u202eb\": \"c\u200bd\"}":   `{"a\u202eb": "c\u200bd"}`,
		"\"\U000E0041\uE000\"":           `"\udb40\udc41\ue000"`,
		"\"\U0001F468\u200d\U0001F469\"": "\"\U0001F468\u200d\U0001F469\"",
		"\"مرحبا\"\r\n":                  "\"مرحبا\"\r\n",
	} {
		if got := string(JSON([]byte(in))); got != want {
			t.Errorf("JSON(%s) = %s, want %s", in, got, want)
		}
	}
}

// FuzzJSON: the document is equal after decoding, and nothing in it hides.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{"", "a\u009bb", "\u202e\u2066", "\U000E0041\U000E0101", "\u2764\ufe0f\u200b\u200d\U0001F525", "क्\u200d\u200b", "\ufeff\\\"\u200b", "\r\n\t\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]any{"k" + s: []any{s}}); err != nil {
			t.Fatal(err)
		}
		out := JSON(b.Bytes())
		if fs := Scan(out); len(fs) > 0 {
			t.Fatalf("JSON of %q hides: %s", s, brief(fs))
		}
		var was, is any
		if err := json.Unmarshal(b.Bytes(), &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &is); err != nil || !reflect.DeepEqual(was, is) {
			t.Fatalf("%q: %s decodes to %v, %v, want %v", s, out, is, err, was)
		}
	})
}
