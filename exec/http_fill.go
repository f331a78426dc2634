package exec

import (
	"encoding/base64"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tmpl"
)

// filler fills the templates of one request in. What is filled in is escaped
// for its place and never a template again.
type filler struct {
	env    map[string]string
	params map[string]any
	vars   map[string]string // the parameters as texts
	absent []string          // declared and not given
	tool   string
}

func (x *httpExchange) fill() *filler {
	f := &filler{env: x.in.Env, params: x.in.Parameters, vars: map[string]string{}, tool: x.in.Chain.Tool().Ref.String()}
	for name, v := range f.params {
		f.vars[name] = paramText(v)
	}
	if s, err := Schema(x.in.Chain.Tool()); s != nil && err == nil {
		for _, name := range s.Properties() {
			if _, given := f.params[name]; !given {
				f.absent = append(f.absent, name)
			}
		}
	}
	return f
}

func paramText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := jsonx.Marshal(v)
	return string(b)
}

// plain fills one text in as it is.
func (f *filler) plain(where, s string) (string, error) {
	return f.expand(where, s, func(v string) string { return v })
}

// expand fills one text in, each value through escape.
func (f *filler) expand(where, s string, escape func(string) string) (string, error) {
	for _, name := range f.absent {
		if strings.Contains(s, "{"+name+"}") {
			return "", diag.New(diag.ValidationFailed, "filling in %s of %s: parameter %q is not given", where, f.tool, name)
		}
	}
	out, err := tmpl.Expand(s, escaped(f.env, escape), escaped(f.vars, escape))
	if err != nil {
		return "", diag.New(diag.ConfigError, "filling in %s of %s: %w", where, f.tool, err)
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

// wholeName returns the name in a text that is exactly {name}, else "".
func wholeName(s string) string {
	rest, open := strings.CutPrefix(s, "{")
	name, end := strings.CutSuffix(rest, "}")
	if !open || !end || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return ""
	}
	return name
}

// value fills a value in. A text that is exactly {name} becomes the parameter
// with its type; keep is false when that parameter was not given.
func (f *filler) value(where string, v any) (out any, keep bool, err error) {
	switch v := v.(type) {
	case string:
		if name := wholeName(v); name != "" {
			if p, given := f.params[name]; given {
				return p, true, nil
			}
			if slices.Contains(f.absent, name) {
				return nil, false, nil
			}
		}
		out, err = f.plain(where, v)
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

func (f *filler) list(where string, in []any) ([]any, error) {
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

func (f *filler) mapping(where string, in map[string]any) (map[string]any, error) {
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

// request fills everything in, and tells the hosts that may be asked.
func (x *httpExchange) request() (httpx.Request, []string, error) {
	f, c := x.fill(), x.config
	r := httpx.Request{
		Method: c.method, MaxBytes: c.maxBytes, MaxRedirects: c.redirects, Idle: c.idle, Retry: c.retry, Header: http.Header{},
	}
	u, err := f.url(c)
	if err != nil {
		return r, nil, err
	}
	r.URL = u.String()
	if err := f.headers(c.headers, r.Header); err != nil {
		return r, nil, err
	}
	if err := x.writeBody(f, &r); err != nil {
		return r, nil, err
	}
	if err := x.credential(f, r.Header); err != nil {
		return r, nil, err
	}
	hosts := c.hosts
	if hosts == nil {
		hosts = []string{u.Hostname()}
		if u.Port() != "" {
			hosts = []string{net.JoinHostPort(u.Hostname(), u.Port())}
		}
	}
	return r, hosts, nil
}

// headers fills the headers in. A value that would end its line is refused.
func (f *filler) headers(in map[string]any, out http.Header) error {
	for _, name := range slices.Sorted(maps.Keys(in)) {
		v, keep, err := f.value("headers."+name, in[name])
		if err != nil {
			return err
		}
		if !keep {
			continue
		}
		text := paramText(v)
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return diag.New(diag.ValidationFailed, "filling in headers.%s of %s: the value holds a line break or another control character", name, f.tool)
		}
		out.Set(name, text)
	}
	return nil
}

// writeBody fills the body in and writes it in its format.
func (x *httpExchange) writeBody(f *filler, r *httpx.Request) error {
	if !x.config.hasBody {
		return nil
	}
	v, keep, err := f.value("body", x.config.body)
	if err != nil || !keep {
		return err
	}
	kind := "application/json"
	switch x.config.bodyFormat {
	case "form":
		kind = "application/x-www-form-urlencoded"
		r.Body = []byte(form(v).Encode())
	case "text":
		kind = "text/plain; charset=utf-8"
		r.Body = []byte(paramText(v))
	default:
		r.Body, err = jsonx.Marshal(v)
	}
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", kind)
	}
	return err
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
			out.Add(name, paramText(one))
		}
	}
	return out
}

// credential adds what auth says. It is made of variables alone: a parameter
// is the caller's, a credential the user's.
func (x *httpExchange) credential(f *filler, out http.Header) error {
	a := x.config.auth
	if a == nil {
		return nil
	}
	got := map[string]string{}
	for _, key := range a.keys() {
		v, err := tmpl.Expand(a.fields[key], f.env, nil)
		if err != nil {
			return diag.New(diag.ConfigError, "filling in auth.%s of %s: %w", key, f.tool, err)
		}
		if v == "" {
			return diag.New(diag.AuthRequired, "filling in auth.%s of %s: %s is empty", key, f.tool, a.fields[key]).
				WithHint("set the variable in your environment; the item names it under env_config.pass")
		}
		if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return diag.New(diag.AuthRequired, "filling in auth.%s of %s: the value holds a line break or another control character", key, f.tool)
		}
		got[key] = v
		x.secret.add(v)
	}
	switch a.kind {
	case "bearer":
		out.Set("Authorization", "Bearer "+got["token"])
	case "api_key":
		out.Set(a.header, got["key"])
	default:
		both := got["username"] + ":" + got["password"]
		x.secret.add(both)
		out.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(both)))
	}
	return nil
}
