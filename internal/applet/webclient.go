package applet

import (
	"context"
	"net/http"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
)

// webLimits are the settings that every request of a web tool has.
type webLimits struct {
	userAgent, proxy    string
	hosts, allowPrivate []string
	maxBytes            int64
	redirects           int
	retry               httpx.Retry
}

// webKeys are the names of those settings.
func webKeys() []string {
	return []string{"user_agent", "proxy", "hosts", "allow_private", "max_bytes", "redirects", "retry"}
}

// webLimits reads them.
func (a args) webLimits() webLimits {
	l := webLimits{
		userAgent: a.str("user_agent", ""), proxy: a.str("proxy", ""),
		maxBytes: int64(a.integer("max_bytes", 2<<20, 1, 256<<20)), redirects: a.integer("redirects", 0, 0, 20),
	}
	if a.has("hosts") {
		l.hosts = a.strings("hosts")
	}
	if a.has("allow_private") {
		l.allowPrivate = a.strings("allow_private")
	}
	if a.has("retry") {
		m, ok := a.in["retry"].(map[string]any)
		if !ok {
			a.bad("retry", "must be a mapping, not %s", typeName(a.in["retry"]))
		}
		sub := args{in: m, prefix: a.prefix + "retry.", findings: a.findings}
		l.retry = sub.check([]string{"max_attempts", "first_wait_ms", "max_wait_ms", "jitter", "statuses"}).retry()
	}
	return l
}

func (a args) retry() httpx.Retry {
	r := httpx.Retry{
		Attempts: a.integer("max_attempts", 1, 1, 20),
		First:    time.Duration(a.integer("first_wait_ms", 0, 0, 3_600_000)) * time.Millisecond,
		Max:      time.Duration(a.integer("max_wait_ms", 0, 0, 3_600_000)) * time.Millisecond,
		Jitter:   a.number("jitter", 0, 0, 1),
	}
	for _, v := range a.list("statuses") {
		n, ok := asFloat(v)
		if !ok {
			a.bad("statuses", "must hold numbers, not %s", typeName(v))
		}
		r.Statuses = append(r.Statuses, int(n))
	}
	return r
}

// send sends one request within its time.
func (l webLimits) send(ctx context.Context, p Params, timeout time.Duration, r httpx.Request) (*httpx.Response, error) {
	proxy, err := l.filler(p).Plain("proxy", l.proxy)
	if err != nil {
		return nil, err
	}
	c, err := httpx.New(httpx.Params{Hosts: l.hosts, AllowPrivate: l.allowPrivate, Proxy: proxy, Now: p.Now})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if l.userAgent != "" && r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", l.userAgent)
	}
	r.MaxBytes, r.MaxRedirects, r.Retry = l.maxBytes, l.redirects, l.retry
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.Do(ctx, r)
}

// statusFailure types an answer that is no success; said is what it says.
func statusFailure(res *httpx.Response, said string) error {
	code := diag.Network
	switch res.Status {
	case http.StatusUnauthorized:
		code = diag.AuthRequired
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		code = diag.Timeout
	}
	e := diag.New(code, "asking %s: the server answers %d %s", httpx.Shown(res.URL), res.Status, http.StatusText(res.Status))
	e.Retryable = res.Status >= 500 || res.Status == http.StatusTooManyRequests || res.Status == http.StatusRequestTimeout
	e.WithDetail("status_code", res.Status).WithDetail("url", httpx.Shown(res.URL))
	if res.RetryAfter > 0 {
		e.WithDetail("retry_after_ms", res.RetryAfter.Milliseconds()).WithHint("the server asks to wait %s", res.RetryAfter.Round(time.Second))
	}
	if said != "" {
		e.WithDetail("body", said)
	}
	return e
}

// mediaType returns the type of an answer and its character set, "" for what
// it does not say.
func mediaType(res *httpx.Response) (kind, charset string) {
	header := res.Header.Get("Content-Type")
	if header == "" {
		header = http.DetectContentType(res.Body)
	}
	return httpx.MediaType(header)
}
