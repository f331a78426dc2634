package mcpclient

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
)

// ReadServer returns the server that a verified item describes.
func ReadServer(it *resolve.Item) (*Server, error) {
	doing := "reading " + it.Ref.String()
	if it.Meta.ToolType != ServerType {
		return nil, diag.New(diag.ConfigError, "%s: its tool_type is %q, not %s", doing, it.Meta.ToolType, ServerType)
	}
	s, fs := ParseServer(it.Ref.Name(), it.Meta.Config)
	for i, f := range fs {
		if at, ok := it.Meta.Pos[f.Path]; ok {
			fs[i].Line, fs[i].Column = at.Line, at.Column
		}
		fs[i].Path = it.Path()
	}
	return s, diag.FromFindings(doing, fs)
}

// ParseServer reads the config of a server's item. The Path of a finding is the
// key that it is about, as "config.timeout".
func ParseServer(name string, config map[string]any) (*Server, []diag.Finding) {
	p := &serverParser{s: &Server{Name: name, Timeout: DefaultTimeout}}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		p.set(key, config[key])
	}
	p.check(config)
	return p.s, p.fs
}

type serverParser struct {
	s  *Server
	fs []diag.Finding
}

func (p *serverParser) bad(key, format string, args ...any) {
	f := diag.Errorf(diag.ConfigError, 0, 0, "config.%s %s", key, fmt.Sprintf(format, args...))
	f.Path = "config." + key
	p.fs = append(p.fs, f)
}

func (p *serverParser) text(key string, v any) string {
	s, ok := v.(string)
	if !ok {
		p.bad(key, "must be a text")
	}
	return s
}

func (p *serverParser) texts(key string, v any) map[string]string {
	m, ok := v.(map[string]any)
	out := make(map[string]string, len(m))
	for k, e := range m {
		s, isText := e.(string)
		out[k], ok = s, ok && isText
	}
	if !ok {
		p.bad(key, "must be a mapping of texts")
	}
	return out
}

func (p *serverParser) list(key string, v any) []string {
	l, ok := v.([]any)
	out := make([]string, len(l))
	for i, e := range l {
		s, isText := e.(string)
		out[i], ok = s, ok && isText
	}
	if !ok {
		p.bad(key, "must be a list of texts")
	}
	return out
}

func (p *serverParser) set(key string, v any) {
	s := p.s
	switch key {
	case "transport":
		s.Transport = p.text(key, v)
	case "command":
		s.Command = p.text(key, v)
	case "args":
		s.Args = p.list(key, v)
	case "env":
		s.Env = p.texts(key, v)
	case "cwd":
		s.Cwd = p.text(key, v)
	case "url":
		s.URL = p.text(key, v)
	case "headers":
		s.Headers = p.texts(key, v)
	case "protocol":
		s.Protocol = p.text(key, v)
	case "timeout":
		n, ok := v.(int64)
		if !ok || n < 1 || n > int64(MaxTimeout/time.Second) {
			p.bad(key, "must be whole seconds from 1 to %d", int64(MaxTimeout/time.Second))
			return
		}
		s.Timeout = time.Duration(n) * time.Second
	default:
		p.bad(key, "is not known for an MCP server")
	}
}

// check finds what does not fit together.
func (p *serverParser) check(config map[string]any) {
	other := []string{"url", "headers"}
	switch p.s.Transport {
	case Stdio:
		if p.s.Command == "" {
			p.bad("command", "is missing")
		}
		p.checkEnv()
	case HTTP, SSE:
		other = []string{"command", "args", "env", "cwd"}
		p.checkURL()
		p.checkHeaders()
	default:
		p.bad("transport", "must be %s, %s or %s", Stdio, HTTP, SSE)
		return
	}
	for _, key := range other {
		if _, has := config[key]; has {
			p.bad(key, "does not go with transport %s", p.s.Transport)
		}
	}
}

func (p *serverParser) checkEnv() {
	for _, name := range slices.Sorted(maps.Keys(p.s.Env)) {
		if msg := badVariable(name); msg != "" {
			p.bad("env", "holds %q: %s", name, msg)
		}
		if strings.IndexByte(p.s.Env[name], 0) >= 0 {
			p.bad("env", "holds NUL in %s", name)
		}
	}
}

// badVariable says why a server may not be given a variable of that name, or "".
func badVariable(name string) string {
	for i, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return "a name is letters, digits and _"
		}
	}
	switch {
	case name == "":
		return "a name is letters, digits and _"
	case strings.HasPrefix(strings.ToUpper(name), "RYE_"):
		return "only rye sets it"
	}
	return ""
}

func (p *serverParser) checkURL() {
	u, err := url.Parse(p.s.URL)
	switch {
	case p.s.URL == "":
		p.bad("url", "is missing")
	case strings.Contains(p.s.URL, "${"): // known when it is filled in
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		p.bad("url", "must be an http or https address")
	case u.User != nil:
		p.bad("url", "holds a user or a password; hand it over in a header")
	case u.Fragment != "":
		p.bad("url", "holds a fragment (#…)")
	}
}

func (p *serverParser) checkHeaders() {
	for _, name := range slices.Sorted(maps.Keys(p.s.Headers)) {
		switch strings.ToLower(name) {
		case "host", "content-length", "content-type", "accept", "connection", "transfer-encoding", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id":
			p.bad("headers", "sets %s, which the protocol sets", name)
			continue
		}
		if !isToken(name) {
			p.bad("headers", "holds %q, which is no name of a header", name)
		}
		if strings.ContainsAny(p.s.Headers[name], "\r\n\x00") {
			p.bad("headers", "holds a line end in %s", name)
		}
	}
}

func isToken(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
