package mcpclient

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tomlx"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/tailscale/hujson"
)

// ClientFile is the content of the configuration file of an MCP client.
type ClientFile struct {
	Servers  []*Server
	Disabled []string // names of servers that the client does not start
	Refused  []error  // why others cannot be added
}

// NoServers is the reason of the error about a file without servers.
const NoServers = "mcp_no_servers"

// ReadClientFile returns the servers in a configuration file of an MCP client, by name. It
// reads the files of Claude Code, Cursor, VS Code, Zed, opencode (JSON with comments), codex
// (TOML) and goose (YAML). A name selects one server, also a disabled one; "" selects all.
// file names the file in errors.
func ReadClientFile(file string, b []byte, name string) (*ClientFile, error) {
	doing := "reading " + file
	root, err := clientRoot(file, b)
	if err != nil {
		return nil, err
	}
	all := clientServers(root)
	if len(all) == 0 {
		return nil, diag.New(diag.ParsingError, "%s: it has no mcpServers", doing).WithReason(NoServers)
	}
	names := slices.Sorted(maps.Keys(all))
	if name != "" {
		if all[name] == nil {
			e := diag.New(diag.ItemNotFound, "%s: it has no server %q", doing, name)
			if near := suggest.Nearest(name, names); near != "" {
				e.WithReason("nearest").WithDetail("nearest", near)
			}
			return nil, e
		}
		names = []string{name}
	}
	out := &ClientFile{}
	seen := map[string]string{}
	for _, n := range names {
		entry, _ := all[n].(map[string]any)
		if name == "" &&
			(entry["disabled"] == true || entry["enabled"] == false) &&
			CheckName(n) == nil {
			out.Disabled = append(out.Disabled, n)
			continue
		}
		if other := seen[strings.ToLower(n)]; other != "" {
			out.Refused = append(out.Refused, diag.New(diag.AmbiguousItem, "servers %s and %s differ only by case", other, n))
			continue
		}
		seen[strings.ToLower(n)] = n
		s, bad := readEntry(n, entry)
		if out.Refused = append(out.Refused, bad...); len(bad) == 0 {
			out.Servers = append(out.Servers, s)
		}
	}
	if len(out.Servers) == 0 && len(out.Refused) > 0 {
		return nil, diag.Join(doing, out.Refused)
	}
	return out, nil
}

// clientRoot parses a file by the ending of its name.
func clientRoot(file string, b []byte) (map[string]any, error) {
	var doc *tree.Doc
	var fs []diag.Finding
	switch path.Ext(file) {
	case ".toml":
		doc, fs = tomlx.Parse(b)
	case ".yaml", ".yml":
		doc, fs = yamlx.Parse(b)
	default:
		// Comments and the last comma of a list become blanks: positions stay.
		plain, err := hujson.Standardize(slices.Clone(b))
		if err == nil {
			b = plain
		} else if bytes.Contains(b, []byte("//")) ||
			bytes.Contains(b, []byte("/*")) {
			line := 0
			column := 0
			text := strings.TrimPrefix(err.Error(), "hujson: ")
			_, _ = fmt.Sscanf(text, "line %d, column %d", &line, &column) // else the text has no position
			_, text, _ = strings.Cut(text, ": ")
			return nil, diag.FromFindings("reading "+file, diag.WithPath(
				[]diag.Finding{diag.Errorf(diag.ParsingError, line, column, "%s", text)},
				file,
			))
		}
		doc, fs = jsonx.Parse(b)
	}
	err := diag.FromFindings("reading "+file, diag.WithPath(fs, file))
	if err != nil {
		return nil, err
	}
	return doc.Root, nil
}

// clientServers returns the mapping of servers, by the key that a client uses.
func clientServers(root map[string]any) map[string]any {
	for _, key := range []string{"mcpServers", "servers", "context_servers", "mcp_servers", "extensions", "mcp"} {
		m, _ := root[key].(map[string]any)
		inner, ok := m["servers"].(map[string]any)
		if ok && key == "mcp" {
			m = inner // the settings of VS Code
		}
		if len(m) > 0 {
			return m
		}
	}
	return nil
}

// readEntry decodes one server. Keys that do not state how it is reached are for
// other clients.
func readEntry(name string, entry map[string]any) (*Server, []error) {
	if err := CheckName(name); err != nil {
		return nil, []error{err}
	}
	config := clientConfig(entry)
	transport, _ := entry["type"].(string)
	switch transport = strings.ToLower(transport); transport {
	case "local":
		transport = Stdio
	case "remote", "streamable-http", "streamablehttp", "streamable_http":
		transport = HTTP
	case "":
		if transport = Stdio; config["url"] != nil {
			transport = HTTP
		}
	case "builtin", "platform", "frontend":
		return nil, []error{diag.New(diag.ConfigError, "server %s is a part of the client: no command starts it", name)}
	}
	config["transport"] = transport
	s, fs := ParseServer(name, config)
	if len(fs) == 0 {
		return s, s.CheckSecrets()
	}
	var errs []error
	for _, f := range fs {
		errs = append(errs, diag.New(
			diag.ConfigError,
			"server %s: %s",
			name,
			strings.TrimPrefix(f.Message, "config."),
		))
	}
	return s, errs
}

// clientConfig returns the config of a server item for an entry. Clients have different
// names for its keys.
func clientConfig(entry map[string]any) map[string]any {
	config := map[string]any{}
	for _, key := range [][2]string{
		{"command", "command"}, {"cmd", "command"}, {"args", "args"}, {"env", "env"}, {"environment", "env"}, {"envs", "env"}, {"cwd", "cwd"},
		{"url", "url"}, {"uri", "url"}, {"serverUrl", "url"}, {"httpUrl", "url"}, {"headers", "headers"}, {"http_headers", "headers"},
	} {
		if entry[key[0]] != nil {
			config[key[1]] = reference(entry[key[0]])
		}
	}
	switch command := config["command"].(type) {
	case []any: // a command with its arguments
		if len(command) > 0 {
			args, _ := config["args"].([]any)
			config["command"], config["args"] = command[0], append(
				slices.Clone(command[1:]),
				args...,
			)
		}
	case map[string]any:
		config["command"] = command["path"]
		for _, key := range []string{"args", "env"} {
			if command[key] != nil {
				config[key] = command[key]
			}
		}
	}
	named := func(key, name, value string) {
		m, _ := config[key].(map[string]any)
		if m = maps.Clone(m); m == nil {
			m = map[string]any{}
		}
		m[name] = value
		config[key] = m
	}
	if v, _ := entry["bearer_token_env_var"].(string); v != "" {
		named("headers", "Authorization", "Bearer ${"+v+"}")
	}
	from, _ := entry["env_http_headers"].(map[string]any)
	for _, header := range slices.Sorted(maps.Keys(from)) {
		if v, _ := from[header].(string); v != "" {
			named("headers", header, "${"+v+"}")
		}
	}
	pass, _ := entry["env_vars"].([]any)
	for _, v := range pass {
		if v, _ := v.(string); v != "" {
			named("env", v, "${"+v+"}")
		}
	}
	return config
}

// variableOf finds the variables of other clients: ${env:NAME} and {env:NAME}.
const variableOf = `\$?\{env:([A-Za-z_][A-Za-z0-9_]*)\}`

// reference returns a value with the variables of other clients as ${NAME}.
func reference(v any) any {
	switch v := v.(type) {
	case string:
		return regexp.MustCompile(variableOf).ReplaceAllString(v, "$${$1}")
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = reference(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, x := range v {
			out[key] = reference(x)
		}
		return out
	}
	return v
}

// CheckSecrets returns an error for each variable and header that has a literal
// value: it may be a secret, and items are shared. Text around a variable, as in
// "Bearer ${TOKEN}", is permitted.
func (s *Server) CheckSecrets() []error {
	var errs []error
	check := func(what string, values map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if len(variables(values[key], true)) > 0 {
				continue
			}
			name := strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
			errs = append(errs, diag.New(diag.Usage, "adding MCP server %s: %s %s has a literal value, and items are shared", s.Name, what, key).
				WithReason("mcp_literal").
				WithDetail("reference", key+"='${"+name+"}'").
				WithDetail("default", key+"='${"+name+":-VALUE}'"))
		}
	}
	for _, part := range secretParts(s.URL) {
		name := strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_")) + "_KEY"
		errs = append(errs, diag.New(diag.Usage, "adding MCP server %s: the %s of its address looks like a secret, and items are shared", s.Name, part).
			WithReason("mcp_literal_url").
			WithDetail("variable", name).
			WithDetail("reference", "'${"+name+"}'"))
	}
	check("header", s.Headers)
	check("variable", s.Env)
	return errs
}
