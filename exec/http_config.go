package exec

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/layered"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// httpConfig is what a chain says about its request, before anything is filled
// in. The primitive's item describes each setting.
type httpConfig struct {
	method, url    string
	query, headers map[string]any
	body           any
	hasBody        bool
	bodyFormat     string
	auth           *httpAuth
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

// prepareHTTP completes and checks the configuration of a chain that ends in
// HTTPClient, so that a dry run shows and refuses what a run would.
func (e *Executor) prepareHTTP(ctx context.Context, in *NativeCall) error {
	c := in.Chain
	var layers []layered.Layer
	for i, el := range slices.Backward(c.Elements) {
		if i > 0 || len(c.Elements) == 2 {
			layers = append(layers, layered.Layer{Name: el.Path(), Root: el.Meta.Config})
		}
	}
	in.Config = layered.Merge(layers).Root
	s, err := Schema(c.Primitive())
	if err != nil {
		return err
	}
	if s != nil {
		in.Config = s.Defaults(in.Config)
		if err := diag.FromFindings("reading the configuration of "+c.Tool().Ref.String(), located(c, s.Validate(in.Config))); err != nil {
			return err
		}
	}
	if err := e.findSinks(ctx, in); err != nil {
		return err
	}
	conf, err := readHTTPConfig(in.Config)
	if err != nil {
		return err
	}
	return conf.check(c)
}

// located gives each violation the place of the element that says so.
func located(c *Chain, vs []schema.Violation) []diag.Finding {
	var fs []diag.Finding
	for _, v := range vs {
		path := "config" + strings.TrimPrefix(v.Path, "$")
		f := diag.Errorf(diag.ConfigError, 0, 0, "%s %s", path, v.Message)
		f.Path = c.Tool().Path()
		for key := path; key != ""; key = key[:max(strings.LastIndexAny(key, ".["), 0)] {
			if i := slices.IndexFunc(c.Elements, func(el *resolve.Item) bool { return el.Meta.Pos[key].Line > 0 }); i >= 0 {
				pos := c.Elements[i].Meta.Pos[key]
				f.Path, f.Line, f.Column = c.Elements[i].Path(), pos.Line, pos.Column
				break
			}
		}
		fs = append(fs, f)
	}
	return fs
}

// check finds what a schema cannot.
func (h *httpConfig) check(c *Chain) error {
	var fs []diag.Finding
	bad := func(key, format string, args ...any) {
		pos := c.Tool().Meta.Pos["config."+key]
		f := diag.Errorf(diag.ConfigError, pos.Line, pos.Column, "config."+key+" "+format, args...)
		f.Path = c.Tool().Path()
		fs = append(fs, f)
	}
	shape, msg := httpfill.Split(h.url)
	if msg != "" {
		bad("url", "%s", msg)
	}
	if h.hosts == nil && strings.Contains(shape.Authority, "{") {
		bad("url", "leaves its host to a parameter: name the hosts that it may be under config.hosts")
	}
	if h.auth != nil && strings.HasPrefix(shape.Base+shape.Scheme, "http:") && len(h.allowPrivate) == 0 {
		bad("url", "begins with http:// and would send a credential in the open")
	}
	if text, ok := h.body.(string); ok && h.bodyFormat != "text" && httpfill.WholeName(text) == "" {
		bad("body", "is a text: write it as a mapping, or set body_format to text")
	}
	if _, ok := h.body.(map[string]any); h.hasBody && h.bodyFormat == "form" && !ok {
		bad("body", "must be a mapping, to be sent as a form")
	}
	for name := range h.headers {
		if reservedHeader(name) {
			bad("headers", "may not set %s, which belongs to the connection", name)
		}
	}
	if _, err := httpx.New(httpx.Params{Hosts: h.hosts, AllowPrivate: h.allowPrivate}); err != nil {
		fs = append(fs, diag.WithPath(diag.FindingsOf(err), c.Tool().Path())...)
	}
	diag.Sort(fs)
	return diag.FromFindings("reading the configuration of "+c.Tool().Ref.String(), fs)
}

// reservedHeader are headers that say how a message is carried, and to whom.
func reservedHeader(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect":
		return true
	}
	return strings.HasPrefix(strings.ToLower(name), "proxy-")
}

// readHTTPConfig reads a configuration that fits the primitive's schema.
func readHTTPConfig(m map[string]any) (*httpConfig, error) {
	text := func(key string) string { s, _ := m[key].(string); return s }
	number := func(key string) int64 { n, _ := asInt(m[key]); return n }
	h := &httpConfig{
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

// httpAuth is one credential.
type httpAuth struct {
	kind   string
	fields map[string]string // as written
	header string
}

func readAuth(m map[string]any) *httpAuth {
	a := &httpAuth{fields: map[string]string{}, header: "Authorization"}
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

// keys are the fields that make the credential.
func (a *httpAuth) keys() []string {
	switch a.kind {
	case "bearer":
		return []string{"token"}
	case "api_key":
		return []string{"key"}
	}
	return []string{"username", "password"}
}

// source names where the credential comes from, for people.
func (a *httpAuth) source() string {
	var out []string
	for _, key := range a.keys() {
		out = append(out, "auth."+key+" ("+a.fields[key]+")")
	}
	return strings.Join(out, " and ")
}

// findSinks replaces the sinks of a stream by their items' settings.
func (e *Executor) findSinks(ctx context.Context, in *NativeCall) error {
	list, _ := in.Config["sinks"].([]any)
	out := make([]any, 0, len(list))
	var errs []error
	for _, v := range list {
		settings, err := e.findSink(ctx, in, v)
		if err != nil {
			errs = append(errs, err)
		}
		out = append(out, settings)
	}
	in.Config["sinks"] = out
	return diag.Join("reading the sinks of "+in.Chain.Tool().Ref.String(), errs)
}

// findSink reads the item of one sink, as a static edge of the tool, and lays
// the tool's own settings over the item's.
func (e *Executor) findSink(ctx context.Context, in *NativeCall, v any) (map[string]any, error) {
	tool := in.Chain.Tool()
	own, _ := v.(map[string]any)
	name, isName := v.(string)
	if !isName {
		name, _ = own["sink"].(string)
	}
	if !strings.Contains(name, "/") {
		name = "rye/core/sinks/" + name
	}
	ref, err := item.ParseRef(name, item.Tool)
	if err != nil {
		return nil, err
	}
	it, err := e.p.Resolver.FindFrom(ctx, ref, tool.Root)
	if err != nil {
		return nil, err
	}
	if it.Meta.ToolType != "sink" {
		return nil, diag.New(diag.ConfigError, "reading the sinks of %s: %s is no sink, its tool_type is %q", tool.Ref, it.Ref, it.Meta.ToolType)
	}
	in.beside = append(in.beside, it)
	settings := map[string]any{}
	maps.Copy(settings, it.Meta.Config)
	maps.Copy(settings, own)
	delete(settings, "sink")
	s, err := Schema(it)
	if err != nil {
		return nil, err
	}
	if s != nil {
		var fs []diag.Finding
		for _, v := range s.Validate(settings) {
			fs = append(fs, diag.Errorf(diag.ConfigError, 0, 0, "%s %s", v.Path, v.Message))
		}
		if err := diag.FromFindings("reading the settings of "+it.Ref.String()+" in "+tool.Path(), fs); err != nil {
			return nil, err
		}
	}
	settings["sink"] = it.Ref.ID
	return settings, nil
}
