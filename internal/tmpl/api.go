package tmpl

import (
	"errors"

	"github.com/ryeos/rye/diag"
)

// Expand fills ${VAR}, ${VAR:-default} from env and {name} from vars.
func Expand(s string, env, vars map[string]string) (string, error) { return "", errors.ErrUnsupported }

// ExpandArgv is Expand for each element, with {param:NAME} as a whole element.
func ExpandArgv(args []string, env, vars map[string]string, params map[string]any) ([]string, error) {
	return nil, errors.ErrUnsupported
}

// Lint reports what Expand would refuse or leave as it is.
func Lint(s string, known []string) []diag.Finding { return nil }

// LintArgv is Lint for an argument vector.
func LintArgv(args, known []string) []diag.Finding { return nil }

// ShellQuote quotes s for a POSIX shell.
func ShellQuote(s string) string { return s }

// Inputs fills {input:k} and its forms from values.
func Inputs(s string, values map[string]string) string { return s }

// InputNames returns the names that s refers to, each once, in order.
func InputNames(s string) []string { return nil }
