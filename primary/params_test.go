package primary

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/schema"
)

// An argument sets the parameter named before its first "=", and a closed schema
// permits no other name.
func FuzzParam(f *testing.F) {
	for _, s := range []string{"a=1", "a:=1", "b=", "a:=", "=", ":=1", "a==", "a:b=1", "x=1", "x:=[]", "a:={\"a\":1,\"a\":2}", "\x00=\x00"} {
		f.Add(s)
	}
	s, fs := schema.Compile(map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "integer"}, "b": map[string]any{}}})
	if s == nil {
		f.Fatal(fs)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, sch := range []*schema.Schema{nil, s} {
			name, v, err := param(word, sch)
			if err != nil {
				continue
			}
			before, after, ok := strings.Cut(word, "=")
			if !ok || name == "" || name != before && name+":" != before {
				t.Fatalf("%q gives %q", word, name)
			}
			if text, isText := v.(string); isText && name == before && text != after {
				t.Fatalf("%q gives %q", word, text)
			}
			if sch != nil && name != "a" && name != "b" {
				t.Fatalf("%q passes a closed schema as %q", word, name)
			}
		}
	})
}
