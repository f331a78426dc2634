package graphdef

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/jsonx"
)

// Refuses returns why a value is not an answer, "" if it is one.
func (a *Ask) Refuses(v any) string {
	if a.Choices != nil {
		s, ok := v.(string)
		if !ok || !slices.Contains(a.Choices, s) {
			return fmt.Sprintf("it must be one of %s", strings.Join(a.Choices, ", "))
		}
		return ""
	}
	if a.Schema != nil {
		if vs := a.Schema.Validate(v); len(vs) > 0 {
			return vs[0].Path + " " + vs[0].Message
		}
		return ""
	}
	if _, ok := v.(string); !ok {
		return "it must be a text"
	}
	return ""
}

// Read returns the answer that a person typed, and why it is not one. A schema reads
// JSON; text that is not JSON is a text.
func (a *Ask) Read(text string) (v any, why string) {
	v = text
	if a.Schema != nil {
		parsed, fs := jsonx.ParseMessage([]byte(text))
		if len(fs) == 0 {
			v = parsed
		}
	}
	why = a.Refuses(v)
	if why != "" && v != any(text) && a.Refuses(text) == "" {
		return text, ""
	}
	return v, why
}
