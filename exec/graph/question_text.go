package graph

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/internal/tree"
)

// question renders a question. A value in it loses the newlines at its end, as in a shell's
// "$(program)": the output of a program ends with one, and would divide the sentence.
func (w *walker) question(t *interpolate.Template, scope map[string]any) (string, error) {
	trim := func(s string) string {
		return strings.TrimRight(s, "\r\n")
	}
	if _, whole := t.Whole(); !whole {
		v, err := t.RenderQuoted(scope, func([]string) func(string) string {
			return trim
		})
		if text, ok := v.(string); ok || err != nil {
			if err != nil {
				err = diag.New(diag.ValidationFailed, "%w", err).WithReason("graph_path")
			}
			return text, err
		}
	}
	v, err := w.render(t, scope)
	if err != nil {
		return "", err
	}
	text, ok := v.(string)
	if !ok {
		return "", diag.New(diag.ValidationFailed, "question is %s, not a text", tree.TypeName(v))
	}
	return trim(text), nil
}
