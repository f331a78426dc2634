package mcpclient

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/resolve"
)

// ReadServer returns the server that a verified item describes.
func ReadServer(it *resolve.Item) (*Server, error) {
	doing := "reading " + it.Ref.String()
	if it.Meta.ToolType != ServerType {
		return nil, diag.New(diag.ConfigError, "%s: its tool_type is %q, not %s", doing, it.Meta.ToolType, ServerType)
	}
	r := tree.NewReader(
		&tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos},
		diag.ConfigError,
	)
	s := readServer(it.Ref.Name(), r.Map("config"))
	stated, found := it.Confinement()
	if diag.Failed(found) {
		return s, diag.FromFindings(doing, found)
	}
	if stated.Stated {
		s.Sandbox = &stated.Profile
	}
	s.Risk = it.Declared()
	if fs := r.Findings(); len(fs) > 0 {
		return s, diag.FromFindings(doing, diag.WithPath(fs, it.Path()))
	}
	return s, nil
}

// ParseServer decodes the config of a server that is not an item yet. The
// findings have no path and no position; their messages begin with the key, for
// example "config.timeout".
func ParseServer(name string, config map[string]any) (*Server, []diag.Finding) {
	r := tree.NewReader(
		&tree.Doc{Root: map[string]any{"config": config}},
		diag.ConfigError,
	)
	return readServer(name, r.Map("config")), r.Findings()
}

func readServer(name string, r *tree.Reader) *Server {
	r.Only("transport", "command", "args", "env", "cwd", "url", "headers", "protocol", "timeout")
	r.Require("transport")
	s := &Server{
		Name:      name,
		Transport: r.Enum("transport", "", Stdio, HTTP, SSE),
		Command:   r.Text("command"),
		Args:      r.Texts("args", nil),
		Env:       r.TextMap("env"),
		Cwd:       r.Text("cwd"),
		URL:       r.Text("url"),
		Headers:   r.TextMap("headers"),
		Protocol:  r.Text("protocol"),
		Timeout:   r.Seconds("timeout", DefaultTimeout, time.Second, MaxTimeout),
	}
	if s.Transport == "" {
		return s // reported above
	}
	s.check(r)
	others := []string{"url", "headers"} // the keys of the other transports
	if s.Transport != Stdio {
		others = []string{"command", "args", "env", "cwd"}
	}
	for _, key := range others {
		if r.Has(key) {
			r.Reject(key, "does not apply to transport %s", s.Transport)
		}
	}
	return s
}

// check reports invalid values of s to r, which need not contain them.
func (s *Server) check(r *tree.Reader) {
	if s.Transport == Stdio {
		if s.Command == "" {
			r.Reject("command", "is missing")
		}
		s.checkEnv(r.Map("env"))
		return
	}
	s.checkURL(r)
	s.checkHeaders(r.Map("headers"))
}

func (s *Server) checkEnv(r *tree.Reader) {
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if msg := badVariable(name); msg != "" {
			r.Reject(name, "cannot be set: %s", msg)
		}
		if strings.IndexByte(s.Env[name], 0) >= 0 {
			r.Reject(name, "contains NUL")
		}
	}
}

// badVariable returns why a server may not have a variable of that name, or "".
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

func (s *Server) checkURL(r *tree.Reader) {
	u, err := url.Parse(s.URL)
	switch {
	case s.URL == "":
		r.Reject("url", "is missing")
	case strings.Contains(s.URL, "${"): // checked once it is expanded
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		r.Reject("url", "must be an http or https URL")
	case u.User != nil:
		r.Reject("url", "contains a user or a password; use a header for credentials")
	case u.Fragment != "":
		r.Reject("url", "contains a fragment (#…)")
	}
}

func (s *Server) checkHeaders(r *tree.Reader) {
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		switch strings.ToLower(name) {
		case "host", "content-length", "content-type", "accept", "connection", "transfer-encoding", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id":
			r.Reject(name, "cannot be set: the protocol sets it")
			continue
		}
		if !isToken(name) {
			r.Reject(name, "is not the name of a header")
		}
		if strings.ContainsAny(s.Headers[name], "\r\n\x00") {
			r.Reject(name, "contains a line break or NUL")
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
