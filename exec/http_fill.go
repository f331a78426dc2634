package exec

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/tmpl"
)

// fill is what the places of the request are filled with.
func (x *httpExchange) fill() *httpfill.Filler {
	f := &httpfill.Filler{Env: x.in.Env, Params: x.in.Parameters, For: x.in.Chain.Tool().Ref.String()}
	if s, err := Schema(x.in.Chain.Tool()); s != nil && err == nil {
		for _, name := range s.Properties() {
			if _, given := f.Params[name]; !given {
				f.Absent = append(f.Absent, name)
			}
		}
	}
	return f
}

// request fills everything in, and tells the hosts that may be asked.
func (x *httpExchange) request() (httpx.Request, []string, error) {
	f, c := x.fill(), x.config
	r := httpx.Request{
		Method: c.method, MaxBytes: c.maxBytes, MaxRedirects: c.redirects, Idle: c.idle, Retry: c.retry, Header: http.Header{},
	}
	u, err := f.URL(c.url, c.query)
	if err != nil {
		return r, nil, err
	}
	r.URL = u.String()
	if c.auth != nil && u.Scheme == "http" && len(c.allowPrivate) == 0 { // a variable may have said so
		return r, nil, diag.New(diag.ConfigError, "filling in url of %s: it begins with http:// and would send a credential in the open", f.For).
			WithHint("use https://, or name the address under config.allow_private when it is one of your own network")
	}
	if err := f.Headers(c.headers, r.Header); err != nil {
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
		hosts = []string{httpx.HostOf(u)}
	}
	return r, hosts, nil
}

// writeBody fills the body in, in its format.
func (x *httpExchange) writeBody(f *httpfill.Filler, r *httpx.Request) error {
	if !x.config.hasBody {
		return nil
	}
	body, kind, err := f.Body(x.config.body, x.config.bodyFormat)
	if r.Body = body; body != nil && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", kind)
	}
	return err
}

// credential adds what auth says. It is made of variables alone: a parameter
// is the caller's, a credential the user's.
func (x *httpExchange) credential(f *httpfill.Filler, out http.Header) error {
	a := x.config.auth
	if a == nil {
		return nil
	}
	got := map[string]string{}
	for _, key := range a.keys() {
		v, err := tmpl.Expand(a.fields[key], f.Env, nil)
		if err != nil {
			return diag.New(diag.ConfigError, "filling in auth.%s of %s: %w", key, f.For, err)
		}
		if v == "" {
			return diag.New(diag.AuthRequired, "filling in auth.%s of %s: %s is empty", key, f.For, a.fields[key]).
				WithHint("set the variable in your environment; the item names it under env_config.pass")
		}
		if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return diag.New(diag.AuthRequired, "filling in auth.%s of %s: the value holds a line break or another control character", key, f.For)
		}
		got[key] = v
		x.secret.Add(v)
	}
	switch a.kind {
	case "bearer":
		out.Set("Authorization", "Bearer "+got["token"])
	case "api_key":
		out.Set(a.header, got["key"])
	default:
		both := got["username"] + ":" + got["password"]
		x.secret.Add(both)
		out.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(both)))
	}
	return nil
}

// newRedactor knows the secrets of a call: what came from outside the items,
// the values of variables that the chain passes on from its caller.
func newRedactor(in NativeCall) *httpfill.Redactor {
	r := &httpfill.Redactor{}
	open := openNames(in)
	for name, value := range in.Env {
		if !open[name] {
			r.Add(value)
		}
	}
	return r
}

// openNames are the variables whose values are no secret: what every program
// sees, what rye sets, what an item says in so many words or calls public, and
// the base of the URL.
func openNames(in NativeCall) map[string]bool {
	open := map[string]bool{"RYE_SELF": true, "RYE_PROJECT": true}
	for _, kv := range proc.Base(proc.Environ(in.Env)) {
		name, _, _ := strings.Cut(kv, "=")
		open[name] = true
	}
	for _, el := range in.Chain.Elements {
		env, _ := el.Meta.EnvConfig["env"].(map[string]any)
		for name, v := range env {
			if text, ok := v.(string); ok && !strings.Contains(text, "${") {
				open[name] = true
			}
		}
	}
	public, _ := in.Config["public"].([]any)
	for _, name := range textList(public) {
		open[name] = true
	}
	raw, _ := in.Config["url"].(string)
	open[httpfill.BaseVariable(raw)] = true
	return open
}
