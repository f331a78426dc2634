package applet

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/suggest"
)

// searchSettings is the configuration of websearch: the backends as data.
const searchSettings = "web/search"

type searchHit struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

type searchAnswer struct {
	Success bool        `json:"success"`
	Output  string      `json:"output"`
	Results []searchHit `json:"results"`
	Count   int         `json:"count"`
	Backend string      `json:"backend"`
}

// backend is one service that can be asked, as the configuration describes it.
type backend struct {
	id, method, url, bodyFormat string
	query, headers              map[string]any
	body                        any
	find                        finder
	limits                      webLimits
}

// searchConfig is what the configuration says.
type searchConfig struct {
	order    []string // which backend is asked without being named: the first that can be
	timeout  time.Duration
	snippet  int
	backends []*backend
}

// runWebsearch asks one search service. Which ones there are, where they are
// and how they answer is configuration.
func runWebsearch(ctx context.Context, p Params, in map[string]any) (any, error) {
	a := newArgs(in, "query", "num_results", "backend")
	query, count, name := strings.TrimSpace(a.need("query")), a.integer("num_results", 10, 1, 20), a.str("backend", "")
	if err := a.err(); err != nil {
		return nil, err
	}
	conf, err := settings(p, searchSettings)
	if err != nil {
		return nil, err
	}
	c, err := readSearch(conf)
	if err != nil {
		return nil, err
	}
	f := webLimits{}.filler(p)
	f.Params = map[string]any{"query": query, "count": int64(count)}
	b, err := c.choose(name, f.Env)
	if err != nil {
		return nil, err
	}
	hits, err := c.ask(ctx, p, b, f)
	if err != nil {
		return nil, b.secrets(f).Err(err)
	}
	hits = hits[:min(count, len(hits))]
	return searchAnswer{Success: true, Output: listHits(hits), Results: hits, Count: len(hits), Backend: b.id}, nil
}

func readSearch(conf map[string]any) (*searchConfig, error) {
	a := newArgs(conf, append(webKeys(), "default", "backends", "timeout", "max_snippet")...)
	c := &searchConfig{
		order: a.strings("default"), snippet: a.integer("max_snippet", 500, 1, 10_000),
		timeout: time.Duration(a.number("timeout", 30, 0.001, 120) * float64(time.Second)),
	}
	common := a.webLimits()
	for _, s := range a.objects("backends", append(webKeys(), "id", "method", "url", "query", "headers", "body", "body_format", "format", "results", "fields")...) {
		c.backends = append(c.backends, s.backend(common))
	}
	return c, a.configError(searchSettings)
}

// backend reads one; common is what holds where it says nothing.
func (a args) backend(common webLimits) *backend {
	b := &backend{
		id: a.need("id"), method: strings.ToUpper(a.str("method", http.MethodGet)), url: a.need("url"), body: a.in["body"],
		query: a.mapping("query"), headers: a.mapping("headers"), bodyFormat: a.str("body_format", "json"), limits: common,
	}
	if _, msg := httpfill.Split(b.url); msg != "" && b.url != "" {
		a.bad("url", "%s", msg)
	}
	own := a.webLimits()
	for key, set := range map[string]func(){
		"user_agent": func() { b.limits.userAgent = own.userAgent }, "proxy": func() { b.limits.proxy = own.proxy },
		"hosts": func() { b.limits.hosts = own.hosts }, "allow_private": func() { b.limits.allowPrivate = own.allowPrivate },
		"max_bytes": func() { b.limits.maxBytes = own.maxBytes }, "redirects": func() { b.limits.redirects = own.redirects },
		"retry": func() { b.limits.retry = own.retry },
	} {
		if a.has(key) {
			set()
		}
	}
	b.find = a.finder()
	return b
}

func (a args) mapping(key string) map[string]any {
	m, ok := a.in[key].(map[string]any)
	if !ok && a.has(key) {
		a.bad(key, "must be a mapping, not %s", typeName(a.in[key]))
	}
	return m
}

// choose returns the backend of that name, or the first of the default ones
// whose variables are all set.
func (c *searchConfig) choose(name string, env map[string]string) (*backend, error) {
	var ids []string
	for _, b := range c.backends {
		ids = append(ids, b.id)
	}
	if name != "" {
		i := slices.Index(ids, name)
		if i < 0 {
			e := diag.New(diag.ValidationFailed, "searching: there is no backend %q", name).WithHint("the backends are %s", strings.Join(ids, ", "))
			if near := suggest.Nearest(name, ids); near != "" {
				e.WithHint("did you mean %q?", near)
			}
			return nil, e
		}
		return c.backends[i], c.backends[i].ready(env)
	}
	var first error
	for _, id := range c.order {
		i := slices.Index(ids, id)
		if i < 0 {
			return nil, diag.New(diag.ConfigError, "searching: default names %q, and there is no backend of that id", id).WithHint("the backends are %s", strings.Join(ids, ", "))
		}
		err := c.backends[i].ready(env)
		if err == nil {
			return c.backends[i], nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = diag.New(diag.ConfigError, "searching: config:%s names no default backend", searchSettings)
	}
	return nil, first
}

// ready says which variables a backend still needs.
func (b *backend) ready(env map[string]string) error {
	var missing []string
	for _, name := range b.variables() {
		if env[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return diag.New(diag.AuthRequired, "searching with %s: %s is not set", b.id, strings.Join(missing, ", ")).
		WithHint("set it in your environment; the tool's item names under env_config.pass what reaches it").WithDetail("backend", b.id)
}

func (b *backend) variables() []string {
	return httpfill.Variables([]any{b.url, b.query, b.headers, b.body})
}

// secrets are the values that a backend's request holds beside the query.
func (b *backend) secrets(f *httpfill.Filler) *httpfill.Redactor {
	r := &httpfill.Redactor{}
	for _, name := range httpfill.Variables([]any{b.query, b.headers, b.body}) {
		r.Add(f.Env[name])
	}
	return r
}

// ask sends the request and finds the results in the answer.
func (c *searchConfig) ask(ctx context.Context, p Params, b *backend, f *httpfill.Filler) ([]searchHit, error) {
	f.For = "backend " + b.id
	u, err := f.URL(b.url, b.query)
	if err != nil {
		return nil, err
	}
	r := httpx.Request{Method: b.method, URL: u.String(), Header: http.Header{}}
	if err := f.Headers(b.headers, r.Header); err != nil {
		return nil, err
	}
	if b.body != nil {
		var kind string
		if r.Body, kind, err = f.Body(b.body, b.bodyFormat); err != nil {
			return nil, err
		}
		if r.Header.Get("Content-Type") == "" {
			r.Header.Set("Content-Type", kind)
		}
	}
	limits := b.limits
	if limits.hosts == nil {
		limits.hosts = []string{httpx.HostOf(u)}
	}
	limits.retry.Methods = []string{b.method} // asking changes nothing
	res, err := limits.send(ctx, p, c.timeout, r)
	if err != nil {
		return nil, err
	}
	if !res.OK() {
		return nil, b.refused(res, f)
	}
	hits, err := b.find.find(res)
	if err != nil {
		return nil, diag.New(diag.Network, "reading the answer of %s: %w", b.id, err).
			WithHint("the service answers otherwise than config:%s says", searchSettings)
	}
	return tidy(hits, c.snippet), nil
}

func (b *backend) refused(res *httpx.Response, f *httpfill.Filler) error {
	text, _ := decode(res.Body, "", false)
	err := statusFailure(res, b.secrets(f).Text(clipText(plainText(text), 1000)))
	e := err.(*diag.Error)
	e.WithDetail("backend", b.id)
	if res.Status == http.StatusUnauthorized || res.Status == http.StatusForbidden {
		if names := b.variables(); len(names) > 0 {
			e.Code = diag.AuthFailed
			e.WithHint("the service refuses the key: check %s", strings.Join(names, ", "))
		}
	}
	return e
}

// tidy keeps results that lead somewhere, each once, as plain text.
func tidy(hits []searchHit, snippet int) []searchHit {
	out, seen := []searchHit{}, map[string]bool{}
	for _, h := range hits {
		u, err := url.Parse(strings.TrimSpace(h.URL))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || seen[u.String()] {
			continue
		}
		seen[u.String()] = true
		h = searchHit{Title: clipText(plainText(h.Title), 300), URL: u.String(), Snippet: clipText(plainText(h.Snippet), snippet)}
		if h.Title == "" {
			h.Title = u.Host
		}
		out = append(out, h)
	}
	return out
}

func listHits(hits []searchHit) string {
	if len(hits) == 0 {
		return "no results\n"
	}
	var b strings.Builder
	for i, h := range hits {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, h.Title, h.URL)
		if h.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", h.Snippet)
		}
	}
	return b.String()
}
