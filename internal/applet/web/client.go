// Package web has the applets that read the web: webfetch gets one page,
// websearch asks a search service. Limits, hosts and services are configuration.
//
// It decides nothing about addresses itself: httpx refuses hosts that are not
// listed and addresses that are not public.
package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/tree"
)

// Applets returns the applets by name.
func Applets() map[string]wire.Func {
	return map[string]wire.Func{"webfetch": runWebfetch, "websearch": runWebsearch}
}

// limits are the settings of every request.
type limits struct {
	userAgent    string
	proxy        string
	hosts        []string
	allowPrivate []string
	maxBytes     int64
	redirects    int
	retry        httpx.Retry
}

// limitKeys returns the keys of those settings.
func limitKeys() []string {
	return []string{"user_agent", "proxy", "hosts", "allow_private", "max_bytes", "redirects", "retry"}
}

func decodeLimits(a wire.Args) limits {
	l := limits{
		userAgent: a.String("user_agent", ""),
		proxy:     a.String("proxy", ""),
		maxBytes:  int64(a.Int("max_bytes", 2<<20, 1, 256<<20)),
		redirects: a.Int("redirects", 0, 0, 20),
	}
	// A missing list means any host; an empty one means none.
	if a.Has("hosts") {
		l.hosts = a.Strings("hosts")
	}
	if a.Has("allow_private") {
		l.allowPrivate = a.Strings("allow_private")
	}
	if a.Has("retry") {
		l.retry = decodeRetry(a.Object("retry", "max_attempts", "first_wait_ms", "max_wait_ms", "jitter", "statuses"))
	}
	return l
}

func decodeRetry(a wire.Args) httpx.Retry {
	r := httpx.Retry{
		Attempts: a.Int("max_attempts", 1, 1, 20),
		First:    time.Duration(a.Int("first_wait_ms", 0, 0, 3_600_000)) * time.Millisecond,
		Max:      time.Duration(a.Int("max_wait_ms", 0, 0, 3_600_000)) * time.Millisecond,
		Jitter:   a.Number("jitter", 0, 0, 1),
	}
	for _, v := range a.List("statuses") {
		n, ok := v.(int64)
		if !ok {
			a.Reject("statuses", "must be a list of whole numbers, not of %s", tree.TypeName(v))
		}
		r.Statuses = append(r.Statuses, int(n))
	}
	return r
}

// filler fills settings in from the variables of this process, which are those
// that the tool's item declares.
func filler(p wire.Params) *httpfill.Filler {
	env := map[string]string{}
	for _, kv := range p.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return &httpfill.Filler{Env: env, For: "the settings"}
}

// send sends one request and its retries within the timeout.
func (l limits) send(
	ctx context.Context,
	p wire.Params,
	timeout time.Duration,
	r httpx.Request,
) (*httpx.Response, error) {
	proxy, err := filler(p).Plain("proxy", l.proxy)
	if err != nil {
		return nil, err
	}
	c, err := httpx.New(httpx.Params{
		Hosts:        l.hosts,
		AllowPrivate: l.allowPrivate,
		Proxy:        proxy,
		Now:          p.Now,
	})
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
	r.MaxBytes = l.maxBytes
	r.MaxRedirects = l.redirects
	r.Retry = l.retry
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.Do(ctx, r)
}

// statusError returns the error of a response that is not a success. body is
// the text of the response.
func statusError(res *httpx.Response, body string) *diag.Error {
	code := diag.Network
	switch res.Status {
	case http.StatusUnauthorized:
		code = diag.AuthRequired
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		code = diag.Timeout
	}
	e := diag.New(
		code,
		"asking %s: the server responds with %d %s",
		httpx.Shown(res.URL),
		res.Status,
		http.StatusText(res.Status),
	)
	e.Retryable = res.Status >= 500 ||
		res.Status == http.StatusTooManyRequests ||
		res.Status == http.StatusRequestTimeout
	e.
		WithDetail("status_code", res.Status).
		WithDetail("url", httpx.Shown(res.URL))
	if res.RetryAfter > 0 {
		e.Message += "; it asks to wait " + res.RetryAfter.Round(time.Second).String()
		e.WithDetail("retry_after_ms", res.RetryAfter.Milliseconds())
	}
	if body != "" {
		e.WithDetail("body", body)
	}
	return e
}

// mediaType returns the type and the character set of a response, "" for a set
// that it does not declare.
func mediaType(res *httpx.Response) (kind, charset string) {
	header := res.Header.Get("Content-Type")
	if header == "" {
		header = http.DetectContentType(res.Body)
	}
	return httpx.MediaType(header)
}
