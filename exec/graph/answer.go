package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Refuses returns why a value is not an answer, "" if it is one.
func (a *Ask) Refuses(v any) string {
	if a.Choices != nil {
		if s, ok := v.(string); !ok || !slices.Contains(a.Choices, s) {
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
