// Package httpfill expands the templates of an HTTP request: ${VAR} from an
// environment, {name} from parameters. A value is escaped for its position and
// is not expanded again, so it stays one part of a path or query, one header,
// one JSON string.
//
// It sends nothing (see httpx) and decides nothing about hosts or credentials.
package httpfill

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tmpl"
)

// Filler expands the templates of one request.
type Filler struct {
	For    string // the owner of the request, for messages
	Env    map[string]string
	Params map[string]any
	Absent []string // declared parameters that the caller did not pass

	texts map[string]string // Params as texts; nil before the first use
}

// Text returns a parameter as text: a string unchanged, any other value as JSON.
func Text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := jsonx.Marshal(v)
	return string(b)
}

// Plain expands one text without escaping. where is its name in errors.
func (f *Filler) Plain(where, s string) (string, error) {
	return f.expand(where, s, func(v string) string { return v })
}

// expand expands one text and passes each value through escape.
func (f *Filler) expand(where, s string, escape func(string) string) (string, error) {
	for _, name := range f.Absent {
		if strings.Contains(s, "{"+name+"}") {
			return "", diag.New(diag.ValidationFailed, "filling in %s of %s: parameter %q is missing", where, f.For, name)
		}
	}
	if f.texts == nil {
		f.texts = make(map[string]string, len(f.Params))
		for name, v := range f.Params {
			f.texts[name] = Text(v)
		}
	}
	out, err := tmpl.Expand(
		s,
		escaped(f.Env, escape),
		escaped(f.texts, escape),
	)
	if err != nil {
		return "", diag.New(diag.ConfigError, "filling in %s of %s: %w", where, f.For, err)
	}
	return out, nil
}

func escaped(m map[string]string, escape func(string) string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = escape(v)
	}
	return out
}

// WholeName returns the name in a text that is exactly {name}, else "".
func WholeName(s string) string {
	rest, open := strings.CutPrefix(s, "{")
	name, end := strings.CutSuffix(rest, "}")
	if !open || !end || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return ""
	}
	return name
}

// value expands a value. A text that is exactly {name} becomes the parameter with
// its type; keep is false if the caller did not pass that parameter.
func (f *Filler) value(where string, v any) (out any, keep bool, err error) {
	switch v := v.(type) {
	case string:
		if name := WholeName(v); name != "" {
			if p, given := f.Params[name]; given {
				return p, true, nil
			}
			if slices.Contains(f.Absent, name) {
				return nil, false, nil
			}
		}
		out, err = f.Plain(where, v)
		return out, true, err
	case []any:
		out, err = f.list(where, v)
		return out, true, err
	case map[string]any:
		out, err = f.mapping(where, v)
		return out, true, err
	}
	return v, true, nil
}

func (f *Filler) list(where string, in []any) ([]any, error) {
	out := make([]any, 0, len(in))
	for _, v := range in {
		filled, keep, err := f.value(where, v)
		if err != nil {
			return nil, err
		}
		if keep {
			out = append(out, filled)
		}
	}
	return out, nil
}

func (f *Filler) mapping(where string, in map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(in))
	for _, k := range slices.Sorted(maps.Keys(in)) {
		filled, keep, err := f.value(where+"."+k, in[k])
		if err != nil {
			return nil, err
		}
		if keep {
			out[k] = filled
		}
	}
	return out, nil
}

// Headers expands the headers. A value with a control character is an error: it
// could begin another header.
func (f *Filler) Headers(in map[string]any, out http.Header) error {
	for _, name := range slices.Sorted(maps.Keys(in)) {
		v, keep, err := f.value("headers."+name, in[name])
		if err != nil {
			return err
		}
		if !keep {
			continue
		}
		text := Text(v)
		if strings.ContainsFunc(text, func(r rune) bool {
			return r < ' ' && r != '\t' ||
				r == 0x7f
		}) {
			return diag.New(diag.ValidationFailed, "filling in headers.%s of %s: the value contains a line break or another control character", name, f.For)
		}
		out.Set(name, text)
	}
	return nil
}

// Body expands a body and encodes it as json, form or text; kind is its content
// type. It returns nil if the body is a parameter that the caller did not pass.
func (f *Filler) Body(v any, format string) (body []byte, kind string, err error) {
	filled, keep, err := f.value("body", v)
	if err != nil || !keep {
		return nil, "", err
	}
	switch format {
	case "form":
		return []byte(form(filled).Encode()), "application/x-www-form-urlencoded", nil
	case "text":
		return []byte(Text(filled)), "text/plain; charset=utf-8", nil
	}
	body, err = jsonx.Marshal(filled)
	return body, "application/json", err
}

// form encodes a mapping. A list becomes several values of one name.
func form(v any) url.Values {
	out := url.Values{}
	m, _ := v.(map[string]any)
	for name, v := range m {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, one := range list {
			out.Add(name, Text(one))
		}
	}
	return out
}

// Variables returns the variables without a default in the texts of v, sorted,
// each once.
func Variables(v any) []string {
	found := map[string]bool{}
	variables(v, found)
	return slices.Sorted(maps.Keys(found))
}

func variables(v any, into map[string]bool) {
	switch v := v.(type) {
	case string:
		for _, part := range strings.Split(v, "${")[1:] {
			name, _, ends := strings.Cut(part, "}")
			if ends && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
				into[name] = true
			}
		}
	case []any:
		for _, one := range v {
			variables(one, into)
		}
	case map[string]any:
		for _, one := range v {
			variables(one, into)
		}
	}
}
