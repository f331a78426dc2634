package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
)

// searchSettings is the configuration of websearch: the backends as data.
const searchSettings = "web/search"

type searchHit struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

type searchResult struct {
	Success bool        `json:"success"`
	Output  string      `json:"output"`
	Results []searchHit `json:"results"`
	Count   int         `json:"count"`
	Backend string      `json:"backend"`
}

// backend is one search service of the configuration.
type backend struct {
	id         string
	method     string
	url        string
	bodyFormat string
	query      map[string]any
	headers    map[string]any
	body       any
	find       finder
	limits     limits
}

// searchConfig is the decoded configuration.
type searchConfig struct {
	order    []string // the default backends: the first whose variables are set is used
	timeout  time.Duration
	snippet  int
	backends []*backend
}

// runWebsearch asks one search service. The services, their URLs and the form of
// their responses are configuration.
func runWebsearch(ctx context.Context, p wire.Params, in map[string]any) (any, error) {
	a := wire.NewArgs(in, "query", "num_results", "backend")
	query := strings.TrimSpace(a.Required("query"))
	count := a.Int("num_results", 10, 1, 20)
	name := a.String("backend", "")
	if err := a.Err(); err != nil {
		return nil, err
	}
	conf, err := wire.Settings(p, searchSettings)
	if err != nil {
		return nil, err
	}
	c, err := decodeSearch(conf)
	if err != nil {
		return nil, err
	}
	f := filler(p)
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
	return searchResult{
		Success: true,
		Output:  listHits(hits),
		Results: hits,
		Count:   len(hits),
		Backend: b.id,
	}, nil
}

func decodeSearch(conf map[string]any) (*searchConfig, error) {
	a := wire.NewArgs(conf, append(limitKeys(), "default", "backends", "timeout", "max_snippet")...)
	c := &searchConfig{
		order: a.Strings("default"), snippet: a.Int("max_snippet", 500, 1, 10_000),
		timeout: time.Duration(a.Number("timeout", 30, 0.001, 120) * float64(time.Second)),
	}
	common := decodeLimits(a)
	for _, s := range a.Objects("backends", append(limitKeys(), "id", "method", "url", "query", "headers", "body", "body_format", "format", "results", "fields")...) {
		c.backends = append(c.backends, decodeBackend(s, common))
	}
	return c, a.ConfigError(searchSettings)
}

// decodeBackend decodes one backend. common has the limits that it does not set.
func decodeBackend(a wire.Args, common limits) *backend {
	b := &backend{
		id:         a.Required("id"),
		method:     strings.ToUpper(a.String("method", http.MethodGet)),
		url:        a.Required("url"),
		body:       a.Value("body"),
		query:      a.Map("query"),
		headers:    a.Map("headers"),
		bodyFormat: a.String("body_format", "json"),
		limits:     common,
	}
	_, msg := httpfill.Split(b.url)
	if msg != "" && b.url != "" {
		a.Reject("url", "%s", msg)
	}
	bounds := decodeLimits(a)
	for key, set := range map[string]func(){
		"user_agent": func() { b.limits.userAgent = bounds.userAgent }, "proxy": func() { b.limits.proxy = bounds.proxy },
		"hosts": func() { b.limits.hosts = bounds.hosts }, "allow_private": func() { b.limits.allowPrivate = bounds.allowPrivate },
		"max_bytes": func() { b.limits.maxBytes = bounds.maxBytes }, "redirects": func() { b.limits.redirects = bounds.redirects },
		"retry": func() { b.limits.retry = bounds.retry },
	} {
		if a.Has(key) {
			set()
		}
	}
	b.find = decodeFinder(a)
	return b
}

// choose returns the named backend, or the first default backend whose variables
// are all set.
// If the chosen service fails, no other one is used.
func (c *searchConfig) choose(name string, env map[string]string) (*backend, error) {
	var ids []string
	for _, b := range c.backends {
		ids = append(ids, b.id)
	}
	if name != "" {
		i := slices.Index(ids, name)
		if i < 0 {
			return nil, diag.New(diag.ValidationFailed, "searching: unknown backend %q; the backends are %s", name, strings.Join(ids, ", "))
		}
		return c.backends[i], c.backends[i].ready(env)
	}
	var first error
	for _, id := range c.order {
		i := slices.Index(ids, id)
		if i < 0 {
			return nil, diag.New(diag.ConfigError, "searching: default lists the unknown backend %q; the backends are %s", id, strings.Join(ids, ", "))
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
		first = diag.New(diag.ConfigError, "searching: config:%s lists no default backend", searchSettings)
	}
	return nil, first
}

// ready returns an error that lists the variables that are not set, or nil.
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
	return diag.New(diag.AuthRequired, "searching with %s: %s is not set in the environment of the tool", b.id, strings.Join(missing, ", ")).
		WithReason("variable_missing").WithDetail("backend", b.id).WithDetail("variables", missing)
}

func (b *backend) variables() []string {
	return httpfill.Variables([]any{b.url, b.query, b.headers, b.body})
}

// secrets returns the values in a backend's request that are not the query.
func (b *backend) secrets(f *httpfill.Filler) *httpfill.Redactor {
	r := &httpfill.Redactor{}
	for _, name := range httpfill.Variables([]any{b.query, b.headers, b.body}) {
		r.Add(f.Env[name])
	}
	return r
}

// ask sends the request and extracts the results from the response.
func (c *searchConfig) ask(
	ctx context.Context,
	p wire.Params,
	b *backend,
	f *httpfill.Filler,
) ([]searchHit, error) {
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
	limits.retry.Methods = []string{b.method} // a search changes nothing, so any method may be retried
	res, err := limits.send(ctx, p, c.timeout, r)
	if err != nil {
		return nil, err
	}
	if !res.OK() {
		return nil, b.refused(res, f)
	}
	hits, err := b.find.find(res)
	if err != nil {
		return nil, diag.New(diag.Network, "reading the response of %s: %w", b.id, err).
			WithDetail("config", searchSettings)
	}
	return tidy(hits, c.snippet), nil
}

func (b *backend) refused(res *httpx.Response, f *httpfill.Filler) error {
	text, _ := decode(res.Body, "", false)
	e := statusError(res, b.secrets(f).Text(wire.Clip(plainText(text), 1000)))
	e.WithDetail("backend", b.id)
	names := b.variables()
	if len(names) > 0 && (res.Status == http.StatusUnauthorized || res.Status == http.StatusForbidden) {
		e.Code = diag.AuthFailed
		e.Message += "; the key is in " + strings.Join(names, ", ")
		e.WithDetail("variables", names)
	}
	return e
}

// tidy returns the results that have a web address, each once, as plain text.
func tidy(hits []searchHit, snippet int) []searchHit {
	out := []searchHit{}
	seen := map[string]bool{}
	for _, h := range hits {
		u, err := url.Parse(strings.TrimSpace(h.URL))
		if err != nil ||
			u.Scheme != "http" && u.Scheme != "https" ||
			u.Host == "" ||
			seen[u.String()] {
			continue
		}
		seen[u.String()] = true
		h = searchHit{Title: wire.Clip(plainText(h.Title), 300), URL: u.String(), Snippet: wire.Clip(plainText(h.Snippet), snippet)}
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
