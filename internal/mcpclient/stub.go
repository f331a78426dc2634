package mcpclient

import (
	"maps"
	"path"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// StubType is the tool_type of a stub.
const StubType = "mcp"

// The runtimes that reach a server, by its transport.
const (
	stdioRuntime = "rye/core/runtimes/mcp_stdio_runtime"
	httpRuntime  = "rye/core/runtimes/mcp_http_runtime"
)

// maxDefaultTimeout is the longest timeout of a server for which the timeout of the
// runtime is long enough.
const maxDefaultTimeout = 4 * time.Minute

// Runtime returns the id of the runtime that reaches the server.
func (s *Server) Runtime() string {
	if s.Transport == Stdio {
		return stdioRuntime
	}
	return httpRuntime
}

// Stub is an item that represents a tool of a server.
type Stub struct {
	Ref        item.Ref
	Server     string      // its name
	Tool       string      // the tool's name at the server
	Definition item.Digest // digest of the tool's definition when the item was signed
	Reached    item.Digest // digest of how the server was reached then (see Server.Reached)
}

// StubItem returns the unsigned item of a tool. It contains the tool's definition
// unchanged.
func StubItem(s *Server, t Tool) ([]byte, error) {
	hash, err := t.Hash()
	if err != nil {
		return nil, err
	}
	m := yamlx.Map{
		{Key: "version", Value: "1.0.0"},
		{Key: "tool_type", Value: StubType},
		{Key: "executor_id", Value: s.Runtime()},
		{Key: "category", Value: path.Join(Folder, s.Name)},
	}
	if t.Title != "" {
		m = append(m, yamlx.Pair{Key: "title", Value: t.Title})
	}
	config := yamlx.Map{
		{Key: "server", Value: s.Ref().ID},
		{Key: "tool_name", Value: t.Name},
		{Key: "definition", Value: hash.String()},
		{Key: "reached", Value: s.Reached().String()},
	}
	if s.Timeout > maxDefaultTimeout {
		config = append(config, yamlx.Pair{Key: "timeout", Value: int64(s.Timeout / time.Second)})
	}
	m = append(m,
		yamlx.Pair{Key: "description", Value: t.described(s.Name)},
		yamlx.Pair{Key: "config", Value: config},
		yamlx.Pair{Key: "input_schema", Value: t.InputSchema},
	)
	if t.OutputSchema != nil {
		m = append(m, yamlx.Pair{Key: "output_schema", Value: t.OutputSchema})
	}
	if len(t.Annotations) > 0 {
		m = append(m, yamlx.Pair{Key: "annotations", Value: t.Annotations})
	}
	b, err := yamlx.Marshal(m)
	if err != nil {
		return nil, diag.New(diag.ValidationFailed, "writing the item of tool %q: %w", t.Name, err)
	}
	return b, nil
}

// described returns the description, or a text for a missing one: an item must have
// a description.
// An edited description survives a refresh, because the digest is of the server's own one.
func (t Tool) described(server string) string {
	if t.Description != "" {
		return t.Description
	}
	return "Tool " + t.Name + " of the MCP server " + server + ", which has no description"
}

// ReadStub decodes the stub in a verified item.
func ReadStub(it *resolve.Item) (*Stub, error) {
	bad := func(format string, args ...any) error {
		return diag.New(diag.ConfigError, "reading "+it.Ref.String()+": "+format, args...)
	}
	server, _ := it.Meta.Config["server"].(string)
	name := path.Base(server)
	if path.Dir(server) != ServerFolder || CheckName(name) != nil {
		return nil, bad("config.server must be %s/NAME", ServerFolder)
	}
	s := &Stub{Ref: it.Ref, Server: name}
	if s.Tool, _ = it.Meta.Config["tool_name"].(string); s.Tool == "" {
		return nil, bad("config.tool_name is missing")
	}
	for key, to := range map[string]*item.Digest{"definition": &s.Definition, "reached": &s.Reached} {
		text, _ := it.Meta.Config[key].(string)
		var err error
		if *to, err = item.ParseDigest(text); err != nil {
			return nil, bad("config.%s must be a digest: %w", key, err)
		}
	}
	return s, nil
}

// Matches reports whether the item matches the current server and tool.
func (s *Stub) Matches(server *Server, t Tool) bool {
	hash, err := t.Hash()
	return err == nil &&
		s.Tool == t.Name &&
		s.Definition == hash &&
		s.Reached == server.Reached()
}

// signed returns the tool's definition in its item.
func signed(it *resolve.Item, tool string) map[string]any {
	m := map[string]any{"name": tool}
	for _, f := range [][2]string{
		{"title", "title"}, {"description", "description"}, {"annotations", "annotations"}, {"outputSchema", "output_schema"},
		{"inputSchema", "input_schema"}, {"inputSchema", "config_schema"}, // the name that extractors use
	} {
		if v := it.Meta.Fields[f[1]]; v != nil {
			m[f[0]] = v
		}
	}
	return m
}

// Differences returns the names of the parts in which a definition differs from
// that in an item, sorted.
func Differences(it *resolve.Item, live Tool) []string {
	was := signed(it, live.Name)
	is := live.Definition()
	if live.Description == "" {
		is["description"] = live.described(path.Base(it.Ref.Category()))
	}
	keys := maps.Clone(was)
	maps.Copy(keys, is)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !same(was[key], is[key]) {
			out = append(out, key)
		}
	}
	return out
}

func same(a, b any) bool {
	x, err := yamlx.Marshal(a)
	y, err2 := yamlx.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}
