package tmpl

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Expand replaces ${VAR} and ${VAR:-default} (upper-case names) from env, and {name}
// (lower-case names) from vars. An unset or empty variable becomes the default, or
// nothing. A {name} that is not in vars, and a ${name} in lower case, stay as they
// are. {param:NAME}, {params:NAME}, an unclosed ${VAR and braces in a default are CONFIG_ERROR.
func Expand(s string, env, vars map[string]string) (string, error) {
	out, err := fill(s, env, vars)
	if err != nil {
		return "", diag.New(diag.ConfigError, "expanding template: %w", err)
	}
	return out, nil
}

func fill(s string, env, vars map[string]string) (string, error) {
	if !strings.Contains(s, "{") {
		return s, nil
	}
	var b strings.Builder
	for s != "" {
		t := cut(&s)
		switch t.kind {
		case broken:
			return "", refused(t, t.why)
		case variable:
			b.WriteString(fallback(env[t.name], t.def))
		case name:
			v, ok := vars[t.name]
			if !ok {
				v = t.raw
			}
			b.WriteString(v)
		case param, params:
			return "", refused(t, whereParams)
		default:
			b.WriteString(t.raw)
		}
	}
	return b.String(), nil
}

// ExpandArgv expands each element, which stays one element with any value. An
// element that is exactly {param:NAME} becomes the parameter: a string as it is,
// any other value as compact JSON. It is dropped if values does not have it. An element that
// is exactly {params:NAME} becomes an element for each value of a list.
func ExpandArgv(
	args []string,
	env, vars map[string]string,
	values map[string]any,
) ([]string, error) {
	out := make([]string, 0, len(args))
	for i, arg := range args {
		if p, kind := wholeParam(arg); kind != literal {
			v, given := values[p]
			if !given {
				continue
			}
			list := []any{v}
			if kind == params {
				var ok bool
				if list, ok = v.([]any); !ok {
					return nil, diag.New(diag.ValidationFailed, "rendering parameter %q: it is not a list", p)
				}
			}
			for _, v := range list {
				s, err := text(v)
				if err != nil {
					return nil, diag.New(diag.ValidationFailed, "rendering parameter %q: %w", p, err)
				}
				out = append(out, s)
			}
			continue
		}
		s, err := fill(arg, env, vars)
		if err != nil {
			return nil, diag.New(diag.ConfigError, "expanding argument %d: %w", i+1, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// ShellQuote returns s as one word of a POSIX shell.
func ShellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func fallback(v, def string) string {
	if v == "" {
		return def
	}
	return v
}

// wholeParam returns the parameter that an element is, and how it is written: param or params.
// The kind of any other element is literal.
func wholeParam(arg string) (string, kind) {
	if arg == "" {
		return "", literal
	}
	rest := arg
	t := cut(&rest)
	if rest != "" || t.kind != param && t.kind != params {
		return "", literal
	}
	return t.name, t.kind
}

// ExpandInput expands the text of the standard input. A text that is exactly {param:NAME}
// becomes the parameter, and is empty if values does not have it.
func ExpandInput(s string, env, vars map[string]string, values map[string]any) (string, error) {
	p, kind := wholeParam(s)
	if kind != param {
		return Expand(s, env, vars)
	}
	if values[p] == nil {
		return "", nil
	}
	out, err := text(values[p])
	if err != nil {
		return "", diag.New(diag.ValidationFailed, "rendering parameter %q: %w", p, err)
	}
	return out, nil
}

func text(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func refused(t token, why string) error {
	return errors.New(strconv.Quote(clip(t.raw)) + ": " + why)
}

const whereParams = "a parameter may only be a whole argument of its own"
