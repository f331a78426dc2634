package httpstep

import (
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
)

// config is the request of a chain with its templates unfilled. The
// primitive's item describes each setting.
type config struct {
	method, url    string
	query, headers map[string]any
	body           any
	hasBody        bool
	bodyFormat     string
	auth           *auth
	hosts          []string // nil: the host of url
	allowPrivate   []string
	proxy          string
	redirects      int
	maxBytes       int64
	connectTimeout time.Duration
	idle           time.Duration
	retry          httpx.Retry
	stream         bool
	framing        string
	sinks          []sinkConfig
}

// Check returns the errors in a merged configuration that the primitive's schema
// cannot express. pos returns the position of a key such as "config.url".
func Check(conf map[string]any, pos func(key string) diag.Pos) []diag.Finding {
	h, err := readConfig(conf)
	if err != nil {
		return []diag.Finding{diag.Errorf(diag.CodeOf(err), 0, 0, "%s", err)}
	}
	var fs []diag.Finding
	bad := func(key, format string, args ...any) {
		p := pos("config." + key)
		fs = append(fs, diag.Errorf(diag.ConfigError, p.Line, p.Column, "config."+key+" "+format, args...))
	}
	shape, msg := httpfill.Split(h.url)
	if msg != "" {
		bad("url", "%s", msg)
	}
	if h.hosts == nil && strings.Contains(shape.Authority, "{") {
		bad("url", "has a host that depends on a parameter: list the permitted hosts in config.hosts")
	}
	if h.auth != nil && strings.HasPrefix(shape.Base+shape.Scheme, "http:") && len(h.allowPrivate) == 0 {
		bad("url", "begins with http:// and would send a credential unencrypted")
	}
	if text, ok := h.body.(string); ok && h.bodyFormat != "text" && httpfill.WholeName(text) == "" {
		bad("body", "is a text: write it as a mapping, or set body_format to text")
	}
	if _, ok := h.body.(map[string]any); h.hasBody && h.bodyFormat == "form" && !ok {
		bad("body", "must be a mapping when body_format is form")
	}
	for name := range h.headers {
		if reservedHeader(name) {
			bad("headers", "may not set %s, which the connection sets", name)
		}
	}
	if _, err := httpx.New(httpx.Params{Hosts: h.hosts, AllowPrivate: h.allowPrivate}); err != nil {
		fs = append(fs, diag.FindingsOf(err)...)
	}
	diag.Sort(fs)
	return fs
}

// reservedHeader reports whether a header belongs to the connection: a tool that
// set it could direct the message to another host or break its framing.
func reservedHeader(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect":
		return true
	}
	return strings.HasPrefix(strings.ToLower(name), "proxy-")
}

// readConfig decodes a configuration that satisfies the primitive's schema.
func readConfig(m map[string]any) (*config, error) {
	text := func(key string) string { s, _ := m[key].(string); return s }
	number := func(key string) int64 { n, _ := asInt(m[key]); return n }
	h := &config{
		method: text("method"), url: text("url"), bodyFormat: text("body_format"), body: m["body"], proxy: text("proxy"),
		redirects: int(number("redirects")), maxBytes: number("max_bytes"), framing: text("framing"), stream: text("mode") == "stream",
		connectTimeout: time.Duration(number("connect_timeout")) * time.Second, idle: time.Duration(number("idle_timeout")) * time.Second,
	}
	h.hasBody = h.body != nil
	h.query, _ = m["query"].(map[string]any)
	h.headers, _ = m["headers"].(map[string]any)
	if list, ok := m["hosts"].([]any); ok {
		h.hosts = textList(list)
	}
	if list, ok := m["allow_private"].([]any); ok {
		h.allowPrivate = textList(list)
	}
	if a, ok := m["auth"].(map[string]any); ok {
		h.auth = readAuth(a)
	}
	if r, ok := m["retry"].(map[string]any); ok {
		h.retry = readRetry(r)
	}
	var err error
	h.sinks, err = readSinks(m["sinks"])
	return h, err
}

func readRetry(m map[string]any) httpx.Retry {
	number := func(key string) int64 { n, _ := asInt(m[key]); return n }
	r := httpx.Retry{
		Attempts: int(number("max_attempts")),
		First:    time.Duration(number("first_wait_ms")) * time.Millisecond,
		Max:      time.Duration(number("max_wait_ms")) * time.Millisecond,
	}
	switch v := m["jitter"].(type) {
	case float64:
		r.Jitter = v
	case int64:
		r.Jitter = float64(v)
	}
	statuses, _ := m["statuses"].([]any)
	for _, v := range statuses {
		n, _ := asInt(v)
		r.Statuses = append(r.Statuses, int(n))
	}
	methods, _ := m["methods"].([]any)
	r.Methods = textList(methods)
	return r
}

func asInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float64:
		return int64(v), v == float64(int64(v))
	}
	return 0, false
}

// auth is one credential, with its templates unfilled.
type auth struct {
	kind   string
	fields map[string]string // as written
	header string
}

func readAuth(m map[string]any) *auth {
	a := &auth{fields: map[string]string{}, header: "Authorization"}
	a.kind, _ = m["type"].(string)
	for _, key := range a.keys() {
		a.fields[key], _ = m[key].(string)
	}
	if a.kind == "api_key" {
		if a.header, _ = m["header"].(string); a.header == "" {
			a.header = "X-API-Key"
		}
	}
	return a
}

// keys returns the fields that make up the credential.
func (a *auth) keys() []string {
	switch a.kind {
	case "bearer":
		return []string{"token"}
	case "api_key":
		return []string{"key"}
	}
	return []string{"username", "password"}
}

// source describes where the credential comes from, for messages.
func (a *auth) source() string {
	var out []string
	for _, key := range a.keys() {
		out = append(out, "auth."+key+" ("+a.fields[key]+")")
	}
	return strings.Join(out, " and ")
}
