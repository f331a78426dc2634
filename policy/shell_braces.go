package policy

import (
	"regexp"
	"strings"

	"github.com/ryeos/rye/internal/interpolate"
)

// BracedName is a {NAME} in a text of the shell that is not a template: it stays as it is.
type BracedName struct {
	At   string // the path of the text in the parameters
	Name string
	Line int // in the text, from 1
}

// BracedNames returns the {NAME} in the texts of the shell of a call for which value returns
// true. Other template languages replace it by the value, so its author may expect that.
func BracedNames(schema any, params *interpolate.Template, value func(name string) bool) (out []BracedName) {
	// {NAME} or {NAME.KEY} without $, another brace or a backslash before it
	braced := regexp.MustCompile(`(^|[^$\\{])\{([a-zA-Z_][a-zA-Z0-9_]*(?:\.[a-zA-Z0-9_]+)*)\}`)
	params.Literals(func(at string, names, literal []string) {
		if marked, _ := shellMark(schema, names); !marked {
			return
		}
		line := 1
		for _, text := range literal {
			for _, m := range braced.FindAllStringSubmatchIndex(text, -1) {
				name := text[m[4]:m[5]]
				if value(name) {
					out = append(out, BracedName{at, name, line + strings.Count(text[:m[4]], "\n")})
				}
			}
			line += strings.Count(text, "\n")
		}
	})
	return out
}
