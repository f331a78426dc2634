package applet

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
)

// fetchSettings is the configuration of webfetch.
const fetchSettings = "web/fetch"

type fetchResult struct {
	Success     bool   `json:"success"`
	Output      string `json:"output"`
	URL         string `json:"url"` // where the text came from in the end
	Requested   string `json:"requested_url,omitempty"`
	Format      string `json:"format"`
	Title       string `json:"title,omitempty"`
	StatusCode  int    `json:"status_code"`
	ContentType string `json:"content_type"`
	Charset     string `json:"charset,omitempty"` // when it is none that is known here
	Bytes       int    `json:"bytes"`             // read from the server
	Truncated   bool   `json:"truncated"`
}

// fetchCall is what the caller asked for, and what the settings allow.
type fetchCall struct {
	url, format string
	timeout     time.Duration
	accept      string
	maxOutput   int
	limits      webLimits
}

// runWebfetch gets one page and renders it as Markdown, text, or as it is. Only
// public addresses are reached, by redirects too.
func runWebfetch(ctx context.Context, p Params, in map[string]any) (any, error) {
	c, err := fetchParams(p, in)
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

func fetchParams(p Params, in map[string]any) (*fetchCall, error) {
	a := newArgs(in, "url", "format", "timeout")
	c := &fetchCall{url: strings.TrimSpace(a.need("url")), format: a.str("format", "markdown")}
	seconds := a.number("timeout", 30, 0.001, 120)
	switch c.format {
	case "markdown", "text", "html":
	default:
		a.bad("format", "must be markdown, text or html, not %q", c.format)
	}
	if err := a.err(); err != nil {
		return nil, err
	}
	c.timeout = time.Duration(seconds * float64(time.Second))
	conf, err := settings(p, fetchSettings)
	if err != nil {
		return nil, err
	}
	s := newArgs(conf, append(webKeys(), "accept", "max_output")...)
	c.accept = s.str("accept", "")
	c.maxOutput = s.integer("max_output", 512_000, 1, 8<<20)
	c.limits = s.webLimits()
	return c, s.configError(fetchSettings)
}

// filler fills settings in from the variables of this process, which are those
// that the tool's item declares.
func (l webLimits) filler(p Params) *httpfill.Filler {
	env := map[string]string{}
	for _, kv := range p.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return &httpfill.Filler{Env: env, For: "the settings"}
}

func (c *fetchCall) render(res *httpx.Response) (any, error) {
	kind, charset := mediaType(res)
	r := fetchResult{
		Success: true, URL: res.URL, Format: c.format, StatusCode: res.Status, ContentType: kind, Bytes: len(res.Body), Truncated: res.Truncated,
	}
	if res.URL != c.url {
		r.Requested = c.url
	}
	if !textual(kind) {
		if !res.OK() {
			return nil, statusFailure(res, "")
		}
		return nil, diag.New(diag.ValidationFailed, "fetching %s: it is %s, which is no text", httpx.Shown(res.URL), kind).
			WithHint("download it with a command instead").WithDetail("content_type", kind).WithDetail("url", httpx.Shown(res.URL))
	}
	text, known := decode(res.Body, charset, isHTML(kind))
	if !known {
		r.Charset = charset
	}
	if isHTML(kind) {
		r.Title = clipText(htmlTitle(text), 300)
		text = c.convert(text, res.URL)
	}
	if !res.OK() {
		return nil, statusFailure(res, clipText(text, 2000))
	}
	if len(text) > c.maxOutput {
		text, r.Truncated = clipText(text, c.maxOutput), true
	}
	r.Output = text
	return r, nil
}

// convert renders HTML in the format that is wanted.
func (c *fetchCall) convert(text, base string) string {
	switch c.format {
	case "markdown":
		if md, err := markdown(text, base); err == nil {
			return md
		}
		return htmlText(text) // nested deeper than a tree may be
	case "text":
		return htmlText(text)
	}
	return text
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

// textual reports whether an answer of that type can be read.
func textual(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+json") {
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

// clipText cuts at a character.
func clipText(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}
