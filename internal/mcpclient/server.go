package mcpclient

import (
	"bytes"
	"path"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// The directories of the items of tools and of servers, below the directory of tools.
const (
	Folder       = "mcp"
	ServerFolder = Folder + "/servers"
)

// ServerType is the tool_type of an item that describes a server.
const ServerType = "mcp_server"

// DefaultTimeout is the time to connect and the time for each answer, unless the
// server's item has another.
const DefaultTimeout = 60 * time.Second

// MaxTimeout is the maximum of that time.
const MaxTimeout = 24 * time.Hour

// The transports.
const (
	Stdio = "stdio"
	HTTP  = "http"
	SSE   = "sse"
)

// Server is the description of how one MCP server is started or reached. Command,
// Args, Cwd, Env, URL and Headers may refer to variables as ${VAR} and
// ${VAR:-default}.
type Server struct {
	Name      string
	Transport string
	Command   string
	Args      []string
	Env       map[string]string
	Cwd       string // where it is started, below the project; "" is the project
	URL       string
	Headers   map[string]string
	Timeout   time.Duration // for connecting and for each answer
	Protocol  string        // the revision negotiated when it was added, or ""

	// Sandbox is the profile of the program; nil states none, as in items of earlier versions.
	Sandbox *policy.Profile
	Risk    string // the class that the item declares, or ""

	described string // identity of the description before its variables were filled in
}

// ServerRef returns the ref of the item that describes a server.
func ServerRef(name string) item.Ref {
	return item.Ref{Kind: item.Tool, ID: path.Join(ServerFolder, name)}
}

// Ref returns the ref of the server's item.
func (s *Server) Ref() item.Ref {
	return ServerRef(s.Name)
}

// CheckName returns an error unless name is one segment of an id and not the name of the
// directory of server items.
func CheckName(name string) error {
	bad := func(why string) error {
		return diag.New(diag.Usage, "naming an MCP server %q: %s", name, why)
	}
	switch {
	case strings.Contains(name, "/"):
		return bad("it must be one word without /")
	case item.CheckID(name) != nil:
		return bad("a name consists of letters, digits, _ and -, and does not begin with -")
	case len(name) > 64:
		return bad("it is longer than 64 characters")
	case strings.EqualFold(name, path.Base(ServerFolder)):
		return bad("that directory is for the descriptions of servers")
	}
	return nil
}

// Config returns the server as the config of its item.
func (s *Server) Config() yamlx.Map {
	m := yamlx.Map{{Key: "transport", Value: s.Transport}}
	add := func(key string, v any, has bool) {
		if has {
			m = append(m, yamlx.Pair{Key: key, Value: v})
		}
	}
	add("command", s.Command, s.Command != "")
	add("args", s.Args, len(s.Args) > 0)
	add("cwd", s.Cwd, s.Cwd != "")
	add("env", anyMap(s.Env), len(s.Env) > 0)
	add("url", s.URL, s.URL != "")
	add("headers", anyMap(s.Headers), len(s.Headers) > 0)
	add("timeout", int64(s.Timeout/time.Second), s.Timeout > 0)
	add("protocol", s.Protocol, s.Protocol != "")
	return m
}

// Reached returns the digest of how the server is started or reached: of its whole
// description except the timeout and the negotiated revision.
func (s *Server) Reached() item.Digest {
	m := s.Data()
	delete(m, "timeout")
	delete(m, "protocol")
	if sandbox := s.sandboxData(); sandbox != nil {
		m["sandbox"] = sandbox
	}
	b, err := jsonx.Marshal(m)
	if err != nil { // texts and lists of texts can always be JSON
		return item.Digest{}
	}
	return item.DigestOf(b)
}

// Same reports whether two servers have the same item.
func (s *Server) Same(other *Server) bool {
	a, err := s.Item()
	b, err2 := other.Item()
	return err == nil && err2 == nil && bytes.Equal(a, b)
}

// Data returns how the server is reached, as plain values.
func (s *Server) Data() map[string]any {
	m := map[string]any{}
	for _, p := range s.Config() {
		m[p.Key] = p.Value
	}
	return m
}

func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// Item returns the text of the server's item, unsigned.
func (s *Server) Item() ([]byte, error) {
	m := yamlx.Map{
		{Key: "version", Value: "1.0.0"},
		{Key: "tool_type", Value: ServerType},
		{Key: "executor_id", Value: nil},
		{Key: "category", Value: ServerFolder},
		{Key: "description", Value: "How the MCP server " + s.Name + " is reached"},
	}
	if s.Risk != "" {
		m = append(m, yamlx.Pair{Key: "risk", Value: s.Risk})
	}
	if sandbox := s.sandboxData(); sandbox != nil {
		m = append(m, yamlx.Pair{Key: "sandbox", Value: sandbox})
	}
	return yamlx.Marshal(append(m, yamlx.Pair{Key: "config", Value: s.Config()}))
}
