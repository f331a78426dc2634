// Package httpfill fills the templates of an HTTP request in: ${VAR} from an
// environment, {name} from parameters. What is filled in is escaped for its place
// and never a template again: a value stays one part of a path or query, one
// header, one JSON text.
//
// It sends nothing (httpx) and decides nothing about hosts or credentials.
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

// Filler fills one request in.
type Filler struct {
	For    string // whose request it is, for messages
	Env    map[string]string
	Params map[string]any
	Absent []string // parameters that are declared and not given

	texts map[string]string // Params as texts, made when first needed
}

// Text renders a parameter within a text: a string as it is, anything else as
// JSON.
func Text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := jsonx.Marshal(v)
	return string(b)
}

// Plain fills one text in as it is; where tells which.
func (f *Filler) Plain(where, s string) (string, error) {
	return f.expand(where, s, func(v string) string { return v })
}

// expand fills one text in, each value through escape.
func (f *Filler) expand(where, s string, escape func(string) string) (string, error) {
	for _, name := range f.Absent {
		if strings.Contains(s, "{"+name+"}") {
			return "", diag.New(diag.ValidationFailed, "filling in %s of %s: parameter %q is not given", where, f.For, name)
		}
	}
	if f.texts == nil {
		f.texts = make(map[string]string, len(f.Params))
		for name, v := range f.Params {
			f.texts[name] = Text(v)
		}
	}
	out, err := tmpl.Expand(s, escaped(f.Env, escape), escaped(f.texts, escape))
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

// value fills a value in. A text that is exactly {name} becomes the parameter
// with its type; keep is false when that parameter was not given.
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

// Headers fills the headers in. A value that would end its line is refused.
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
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return diag.New(diag.ValidationFailed, "filling in headers.%s of %s: the value holds a line break or another control character", name, f.For)
		}
		out.Set(name, text)
	}
	return nil
}

// Body fills a body in and writes it as json, form or text; kind is its content
// type. It is nil when the parameter that it is was not given.
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

// form flattens a mapping: a list gives several values of one name.
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

// Variables lists the variables that the texts of v name without a default,
// sorted, each once.
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
