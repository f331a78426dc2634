package httpstep

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

// filler returns the values that the templates of the request may name.
func (x *exchange) filler() *httpfill.Filler {
	return &httpfill.Filler{
		Env:    x.call.Env,
		Params: x.call.Parameters,
		Absent: x.call.Absent,
		For:    x.call.Ref,
	}
}

// request fills in the templates. It returns the request and the hosts that it
// may reach.
func (x *exchange) request() (httpx.Request, []string, error) {
	f := x.filler()
	c := x.config
	r := httpx.Request{
		Method:       c.method,
		MaxBytes:     c.maxBytes,
		MaxRedirects: c.redirects,
		Idle:         c.idle,
		Retry:        c.retry,
		Header:       http.Header{},
	}
	u, err := f.URL(c.url, c.query)
	if err != nil {
		return r, nil, err
	}
	r.URL = u.String()
	// Check saw the template only: a variable can supply the scheme.
	if c.auth != nil && u.Scheme == "http" && len(c.allowPrivate) == 0 {
		return r, nil, diag.New(diag.ConfigError, "filling in url of %s: it begins with http:// and would send a credential unencrypted", f.For).
			WithReason("credential_over_http")
	}
	if err := f.Headers(c.headers, r.Header); err != nil {
		return r, nil, err
	}
	if c.hasBody {
		body, kind, err := f.Body(c.body, c.bodyFormat)
		if err != nil {
			return r, nil, err
		}
		r.Body = body
		if body != nil && r.Header.Get("Content-Type") == "" {
			r.Header.Set("Content-Type", kind)
		}
	}
	// The credential comes last: no header of the tool may replace it.
	if err := x.credential(f, r.Header); err != nil {
		return r, nil, err
	}
	hosts := c.hosts
	if hosts == nil {
		hosts = []string{httpx.HostOf(u)}
	}
	return r, hosts, nil
}

// credential sets the header of config.auth. Its templates see variables only:
// parameters come from the caller, and the credential belongs to the user.
func (x *exchange) credential(f *httpfill.Filler, out http.Header) error {
	a := x.config.auth
	if a == nil {
		return nil
	}
	values := map[string]string{}
	for _, key := range a.keys() {
		v, err := tmpl.Expand(a.fields[key], f.Env, nil)
		if err != nil {
			return diag.New(diag.ConfigError, "filling in auth.%s of %s: %w", key, f.For, err)
		}
		if v == "" {
			return diag.New(diag.AuthRequired, "filling in auth.%s of %s: %s is empty", key, f.For, a.fields[key]).
				WithReason("credential_empty")
		}
		if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return diag.New(diag.AuthRequired, "filling in auth.%s of %s: the value has a line break or another control character", key, f.For)
		}
		values[key] = v
		x.secret.Add(v)
	}
	switch a.kind {
	case "bearer":
		out.Set("Authorization", "Bearer "+values["token"])
	case "api_key":
		out.Set(a.header, values["key"])
	default:
		pair := values["username"] + ":" + values["password"]
		x.secret.Add(pair)
		out.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	}
	return nil
}

// newRedactor returns a redactor for the values of all variables that are not
// public: the chain passes those on from its caller.
func newRedactor(c Call, conf *config) *httpfill.Redactor {
	r := &httpfill.Redactor{}
	public := publicNames(c, conf)
	for name, value := range c.Env {
		if !public[name] {
			r.Add(value)
		}
	}
	return r
}

// publicNames returns the variables whose values are not secret: the variables of the
// base environment, of c.Public and of config.public, and the variable that
// supplies the base of the URL.
func publicNames(c Call, conf *config) map[string]bool {
	public := map[string]bool{}
	for _, kv := range proc.Base(proc.Environ(c.Env)) {
		name, _, _ := strings.Cut(kv, "=")
		public[name] = true
	}
	for _, name := range c.Public {
		public[name] = true
	}
	for _, name := range conf.public {
		public[name] = true
	}
	public[httpfill.BaseVariable(conf.url)] = true
	return public
}
