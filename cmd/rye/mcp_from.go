package main

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/suggest"
)

// maxMCPFile is the largest file that --from reads, in bytes.
const maxMCPFile = 1 << 20

// mcpFrom reads the servers of a file in the form that MCP clients share:
// {"mcpServers": {NAME: {command, args, env} or {type, url, headers}}}.
func mcpFrom(c *cli.Call) ([]*mcpclient.Server, error) {
	file := c.Str("from")
	doing := "reading " + file
	for _, flag := range []string{"url", "transport", "header-env", "env", "cwd"} {
		if c.IsSet(flag) {
			return nil, diag.New(diag.Usage, "%s: --%s does not go with --from", doing, flag)
		}
	}
	if len(c.Args) > 1 || c.Dash == 0 {
		return nil, diag.New(diag.Usage, "%s: a command does not go with --from", doing)
	}
	f, err := os.Open(c.Path(file))
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "%s: %w", doing, err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err == nil && fi.Size() > maxMCPFile {
		return nil, diag.New(diag.TooLarge, "%s: it has more than %d bytes", doing, maxMCPFile)
	}
	b, err := readParams(f)
	if err != nil {
		return nil, diag.New(cmp.Or(diag.CodeOf(err), diag.FileSystemError), "%s: %w", doing, err)
	}
	doc, fs := jsonx.Parse(b)
	if err := diag.FromFindings(doing, diag.WithPath(fs, file)); err != nil {
		return nil, err
	}
	all, ok := doc.Root["mcpServers"].(map[string]any)
	if all == nil && !ok {
		all, ok = doc.Root["servers"].(map[string]any)
	}
	if !ok || len(all) == 0 {
		return nil, diag.New(diag.ParsingError, "%s: it holds no mcpServers", doing)
	}
	return mcpChosen(c, doing, all)
}

// mcpChosen reads the server that the words name, else all.
func mcpChosen(c *cli.Call, doing string, all map[string]any) ([]*mcpclient.Server, error) {
	names := slices.Sorted(maps.Keys(all))
	if want := c.Arg(0); want != "" {
		if all[want] == nil {
			err := diag.New(diag.ItemNotFound, "%s: it holds no server %q", doing, want)
			if near := suggest.Nearest(want, names); near != "" {
				err.Hint = "did you mean " + near + "?"
			}
			return nil, err
		}
		names = []string{want}
	}
	var out []*mcpclient.Server
	var errs []error
	seen := map[string]string{}
	for _, name := range names {
		if other := seen[strings.ToLower(name)]; other != "" {
			errs = append(errs, diag.New(diag.AmbiguousItem, "servers %s and %s differ only by case", other, name))
		}
		seen[strings.ToLower(name)] = name
		s, err := mcpEntry(name, all[name], c)
		if err != nil {
			errs = append(errs, err...)
			continue
		}
		out = append(out, s)
	}
	return out, diag.Join(doing, errs)
}

// mcpEntry reads one server of a file. Keys that say nothing about how it is
// reached are other clients' business.
func mcpEntry(name string, v any, c *cli.Call) (*mcpclient.Server, []error) {
	if err := mcpclient.CheckName(name); err != nil {
		return nil, []error{err}
	}
	entry, _ := v.(map[string]any)
	config := map[string]any{}
	for _, key := range []string{"command", "args", "env", "cwd", "url", "headers"} {
		if entry[key] != nil {
			config[key] = entry[key]
		}
	}
	kind, _ := entry["type"].(string)
	switch kind = strings.ToLower(kind); {
	case kind == "" && config["url"] != nil, kind == "streamable-http", kind == "streamablehttp":
		kind = mcpclient.HTTP
	case kind == "":
		kind = mcpclient.Stdio
	}
	config["transport"] = kind
	s, fs := mcpclient.ParseServer(name, config)
	var errs []error
	for _, f := range fs {
		errs = append(errs, diag.New(diag.ConfigError, "server %s: %s", name, strings.TrimPrefix(f.Message, "config.")))
	}
	if s.Timeout = c.Duration("timeout"); len(errs) == 0 {
		errs = noSecrets(s)
	}
	return s, errs
}
