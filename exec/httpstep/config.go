package httpstep

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/tree"
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
	public         []string // variables that are not secret
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
func Check(conf map[string]any, pos func(key string) diag.Position) []diag.Finding {
	h, fs := readConfig(conf)
	bad := func(key, format string, args ...any) {
		p := pos("config." + key)
		fs = append(fs, diag.Errorf(
			diag.ConfigError,
			p.Line,
			p.Column,
			"config."+key+" "+format,
			args...,
		))
	}
	shape, msg := httpfill.Split(h.url)
	if msg != "" {
		bad("url", "%s", msg)
	}
	if h.hosts == nil && strings.Contains(shape.Authority, "{") {
		bad("url", "has a host that depends on a parameter: list the permitted hosts in config.hosts")
	}
	if h.auth != nil &&
		strings.HasPrefix(shape.Base+shape.Scheme, "http:") &&
		len(h.allowPrivate) == 0 {
		bad("url", "begins with http:// and would send a credential unencrypted")
	}
	text, ok := h.body.(string)
	if ok && h.bodyFormat != "text" && httpfill.WholeName(text) == "" {
		bad("body", "is a text: write it as a mapping, or set body_format to text")
	}
	_, ok = h.body.(map[string]any)
	if h.hasBody && h.bodyFormat == "form" && !ok {
		bad("body", "must be a mapping when body_format is form")
	}
	for name := range h.headers {
		if reservedHeader(name) {
			bad("headers", "may not set %s, which the connection sets", name)
		}
	}
	_, err := httpx.New(httpx.Params{Hosts: h.hosts, AllowPrivate: h.allowPrivate})
	if err != nil {
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

// readConfig decodes a merged configuration.
func readConfig(conf map[string]any) (*config, []diag.Finding) {
	r := tree.NewReader(
		&tree.Doc{Root: map[string]any{"config": conf}},
		diag.ConfigError,
	).Map("config")
	h := &config{
		method:         r.Text("method"),
		url:            r.Text("url"),
		body:           conf["body"],
		hasBody:        r.Has("body"),
		bodyFormat:     r.Text("body_format"),
		hosts:          r.Texts("hosts", nil),
		allowPrivate:   r.Texts("allow_private", nil),
		public:         r.Texts("public", nil),
		proxy:          r.Text("proxy"),
		redirects:      int(r.Int("redirects", 0, 0, math.MaxInt32)),
		maxBytes:       r.Int("max_bytes", 0, 0, math.MaxInt64),
		connectTimeout: r.Seconds("connect_timeout", 0, 0, maxTimeout),
		idle:           r.Seconds("idle_timeout", 0, 0, maxTimeout),
		retry:          readRetry(r.Map("retry")),
		stream:         r.Text("mode") == "stream",
		framing:        r.Text("framing"),
	}
	h.query, _ = conf["query"].(map[string]any)
	h.headers, _ = conf["headers"].(map[string]any)
	if r.Has("auth") {
		h.auth = readAuth(r.Map("auth"))
	}
	for _, sink := range r.Maps("sinks") {
		h.sinks = append(h.sinks, readSink(sink))
	}
	return h, r.Findings()
}

// maxTimeout bounds a timeout, so that the duration does not overflow.
const maxTimeout = 24 * time.Hour

func readRetry(r *tree.Reader) httpx.Retry {
	retry := httpx.Retry{
		Attempts: int(r.Int("max_attempts", 0, 0, math.MaxInt32)),
		First:    time.Duration(r.Int("first_wait_ms", 0, 0, math.MaxInt32)) * time.Millisecond,
		Max:      time.Duration(r.Int("max_wait_ms", 0, 0, math.MaxInt32)) * time.Millisecond,
		Jitter:   r.Number("jitter", 0, 0, 1),
		Methods:  r.Texts("methods", nil),
	}
	statuses, _ := r.Value("statuses").([]any)
	for _, v := range statuses {
		if n, ok := v.(int64); ok {
			retry.Statuses = append(retry.Statuses, int(n))
		}
	}
	return retry
}

// auth is one credential, with its templates unfilled.
type auth struct {
	kind   string
	fields map[string]string // as written
	header string
}

func readAuth(r *tree.Reader) *auth {
	a := &auth{kind: r.Text("type"), fields: map[string]string{}, header: "Authorization"}
	for _, key := range a.keys() {
		a.fields[key] = r.Text(key)
	}
	if a.kind == "api_key" {
		a.header = cmp.Or(r.Text("header"), "X-API-Key")
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
