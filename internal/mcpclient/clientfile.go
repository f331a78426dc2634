package mcpclient

import (
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/suggest"
)

// ReadClientFile returns the servers in a configuration file of an MCP client, by
// name: {"mcpServers": {NAME: {command, args, env} or {type, url, headers}}}. A
// name selects one of them; "" selects all. file names the file in errors.
func ReadClientFile(file string, b []byte, name string) ([]*Server, error) {
	doing := "reading " + file
	doc, fs := jsonx.Parse(b)
	if err := diag.FromFindings(doing, diag.WithPath(fs, file)); err != nil {
		return nil, err
	}
	all, _ := doc.Root["mcpServers"].(map[string]any)
	if all == nil {
		all, _ = doc.Root["servers"].(map[string]any)
	}
	if len(all) == 0 {
		return nil, diag.New(diag.ParsingError, "%s: it has no mcpServers", doing)
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
	var out []*Server
	var errs []error
	seen := map[string]string{}
	for _, name := range names {
		if other := seen[strings.ToLower(name)]; other != "" {
			errs = append(errs, diag.New(diag.AmbiguousItem, "servers %s and %s differ only by case", other, name))
		}
		seen[strings.ToLower(name)] = name
		s, bad := readEntry(name, all[name])
		errs = append(errs, bad...)
		out = append(out, s)
	}
	return out, diag.Join(doing, errs)
}

// readEntry decodes one server. Keys that do not state how it is reached are for
// other clients.
func readEntry(name string, v any) (*Server, []error) {
	if err := CheckName(name); err != nil {
		return nil, []error{err}
	}
	entry, _ := v.(map[string]any)
	config := map[string]any{}
	for _, key := range []string{"command", "args", "env", "cwd", "url", "headers"} {
		if entry[key] != nil {
			config[key] = entry[key]
		}
	}
	transport, _ := entry["type"].(string)
	switch transport = strings.ToLower(transport); {
	case transport == "" && config["url"] != nil, transport == "streamable-http", transport == "streamablehttp":
		transport = HTTP
	case transport == "":
		transport = Stdio
	}
	config["transport"] = transport
	s, fs := ParseServer(name, config)
	if len(fs) == 0 {
		return s, s.CheckSecrets()
	}
	var errs []error
	for _, f := range fs {
		errs = append(errs, diag.New(diag.ConfigError, "server %s: %s", name, strings.TrimPrefix(f.Message, "config.")))
	}
	return s, errs
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
				WithReason("mcp_literal").WithDetail("reference", key+"='${"+name+"}'").WithDetail("default", key+"='${"+name+":-VALUE}'"))
		}
	}
	for _, part := range secretParts(s.URL) {
		name := strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_")) + "_KEY"
		errs = append(errs, diag.New(diag.Usage, "adding MCP server %s: the %s of its address looks like a secret, and items are shared", s.Name, part).
			WithReason("mcp_literal_url").WithDetail("variable", name).WithDetail("reference", "'${"+name+"}'"))
	}
	check("header", s.Headers)
	check("variable", s.Env)
	return errs
}
