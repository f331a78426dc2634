package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/httpx"
)

// fetchSettings is the configuration of webfetch.
const fetchSettings = "web/fetch"

type fetchResult struct {
	Success     bool   `json:"success"`
	Output      string `json:"output"`
	URL         string `json:"url"` // after redirects
	Requested   string `json:"requested_url,omitempty"`
	Format      string `json:"format"`
	Title       string `json:"title,omitempty"`
	StatusCode  int    `json:"status_code"`
	ContentType string `json:"content_type"`
	Charset     string `json:"charset,omitempty"` // set if it is not supported
	Bytes       int    `json:"bytes"`             // read from the server
	Truncated   bool   `json:"truncated"`
}

// fetchCall is the decoded parameters and settings.
type fetchCall struct {
	url       string
	format    string
	timeout   time.Duration
	accept    string
	maxOutput int
	limits    limits
}

// runWebfetch gets one page and renders it as Markdown, as text, or unchanged.
// It reaches public addresses only, after redirects too.
func runWebfetch(ctx context.Context, p wire.Params, in map[string]any) (any, error) {
	c, err := decodeFetch(p, in)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if c.accept != "" {
		header.Set("Accept", c.accept)
	}
	res, err := c.limits.send(ctx, p, c.timeout, httpx.Request{Method: http.MethodGet, URL: c.url, Header: header})
	if err != nil {
		return nil, err
	}
	return c.render(res)
}

func decodeFetch(p wire.Params, in map[string]any) (*fetchCall, error) {
	a := wire.NewArgs(in, "url", "format", "timeout")
	c := &fetchCall{url: strings.TrimSpace(a.Required("url")), format: a.String("format", "markdown")}
	seconds := a.Number("timeout", 30, 0.001, 120)
	switch c.format {
	case "markdown", "text", "html":
	default:
		a.Reject("format", "must be markdown, text or html, not %q", c.format)
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	c.timeout = time.Duration(seconds * float64(time.Second))
	conf, err := wire.Settings(p, fetchSettings)
	if err != nil {
		return nil, err
	}
	s := wire.NewArgs(conf, append(limitKeys(), "accept", "max_output")...)
	c.accept = s.String("accept", "")
	c.maxOutput = s.Int("max_output", 512_000, 1, 8<<20)
	c.limits = decodeLimits(s)
	return c, s.ConfigError(fetchSettings)
}

func (c *fetchCall) render(res *httpx.Response) (any, error) {
	kind, charset := mediaType(res)
	r := fetchResult{
		Success:     true,
		URL:         res.URL,
		Format:      c.format,
		StatusCode:  res.Status,
		ContentType: kind,
		Bytes:       len(res.Body),
		Truncated:   res.Truncated,
	}
	if res.URL != c.url {
		r.Requested = c.url
	}
	if !isText(kind) {
		if !res.OK() {
			return nil, statusError(res, "")
		}
		return nil, diag.New(diag.ValidationFailed, "fetching %s: its type %s is not text", httpx.Shown(res.URL), kind).
			WithDetail("content_type", kind).WithDetail("url", httpx.Shown(res.URL))
	}
	text, supported := decode(res.Body, charset, isHTML(kind))
	if !supported {
		r.Charset = charset
	}
	if isHTML(kind) {
		r.Title = wire.Clip(htmlTitle(text), 300)
		text = c.convert(text, res.URL)
	}
	if !res.OK() {
		return nil, statusError(res, wire.Clip(text, 2000))
	}
	if len(text) > c.maxOutput {
		text = wire.Clip(text, c.maxOutput)
		r.Truncated = true
	}
	r.Output = text
	return r, nil
}

// convert renders HTML in the requested format.
func (c *fetchCall) convert(text, base string) string {
	switch c.format {
	case "markdown":
		if md, err := markdown(text, base); err == nil {
			return md
		}
		return htmlText(text) // the parser refuses trees that are nested too deeply
	case "text":
		return htmlText(text)
	}
	return text
}

func isHTML(kind string) bool {
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// isText reports whether a response of that type is text.
func isText(kind string) bool {
	if strings.HasPrefix(kind, "text/") ||
		strings.HasSuffix(kind, "+xml") ||
		strings.HasSuffix(kind, "+json") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/x-javascript", "application/ecmascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/x-sh", "application/sql", "application/x-ndjson",
		"application/graphql", "application/x-www-form-urlencoded", "application/rtf":
		return true
	}
	return false
}
