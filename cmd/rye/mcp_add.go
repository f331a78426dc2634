package main

import (
	"context"
	"net/url"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/project"
)

func mcpAddCommand() *cli.Command {
	return &cli.Command{
		Name: "add", Usage: "add an MCP server and its tools", Args: "[NAME] [COMMAND…]",
		Long: `Starts or reaches the server, shows the whole command or address and every tool,
asks, and writes signed items: one for the server, one for each tool. The command
stands after --. All items are written, or none.

Items hold no secrets. What the server needs is named, and taken from your
environment when it runs: -e TOKEN hands the variable TOKEN over, -e KEY='${TOKEN}'
under another name, -e LEVEL='${LEVEL:-info}' with a value for when it is not set.
A program gets nothing else of your environment but PATH, HOME and their like.

--from reads the servers of a file such as .mcp.json, all of them or the one that
NAME says; a command that somebody else wrote down is shown before it is started.`,
		Examples: []string{
			"rye mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
			"rye mcp add github -e GITHUB_TOKEN -- github-mcp-server stdio",
			"rye mcp add docs --url https://docs.example.com/mcp",
			"rye mcp add docs --url https://docs.example.com/mcp --header-env Authorization='Bearer ${DOCS_TOKEN}'",
			"rye mcp add --from .mcp.json",
		},
		Codes: []diag.Code{diag.ConsentRequired, diag.AmbiguousItem, diag.HiddenChars, diag.TooLarge, diag.ValidationFailed, diag.ExecutionFailed,
			diag.Timeout, diag.Network, diag.AuthFailed, diag.AuthRequired},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "url", Usage: "the server is at `URL`"},
			&cli.StringFlag{Name: "transport", Aliases: []string{"t"}, Usage: "`WAY` to it: stdio for a command; http, or sse for older servers, for a URL"},
			&cli.StringSliceFlag{Name: "header-env", Usage: "send header `NAME=VAR` with the value of variable VAR, or NAME='text ${VAR}'"},
			&cli.StringSliceFlag{Name: "env", Aliases: []string{"e"}, Usage: "hand variable `NAME` over, or KEY='${NAME}'"},
			&cli.StringFlag{Name: "cwd", Usage: "start it in this `DIR` of the project"},
			&cli.DurationFlag{Name: "timeout", Usage: "give it `TIME` to connect, and for each answer", Value: mcpclient.DefaultTimeout},
			&cli.StringFlag{Name: "from", Usage: "read servers from `FILE`"},
			scopeFlag(), yesFlag(),
			&cli.StringFlag{Name: "key", Usage: "sign with this `KEY`"},
		},
		Run: runMCPAdd,
	}
}

func runMCPAdd(ctx context.Context, c *cli.Call) error {
	servers, err := mcpServers(c)
	if err != nil {
		return err
	}
	return withStore(ctx, c, project.Strict, func(s *mcpStore) error { return mcpAddAll(ctx, c, s, servers) })
}

func mcpAddAll(ctx context.Context, c *cli.Call, s *mcpStore, servers []*mcpclient.Server) error {
	for _, server := range servers {
		if err := s.CheckNew(ctx, server.Name); err != nil {
			return err
		}
	}
	done := []any{}
	for _, server := range servers {
		added, err := mcpAdd(ctx, c, s, server)
		if err != nil {
			return err
		}
		done = append(done, added)
	}
	if len(done) == 1 {
		return c.UI.JSON(done[0])
	}
	return c.UI.JSON(map[string]any{"servers": done})
}

// mcpAdd adds one server and returns what was done.
func mcpAdd(ctx context.Context, c *cli.Call, s *mcpStore, server *mcpclient.Server) (map[string]any, error) {
	if err := s.loadKey(ctx); err != nil {
		return nil, err
	}
	if c.Str("from") != "" { // somebody else wrote this command: it is read before it runs
		showMcpServer(c.UI, server, s.project.McpOptions().Dir)
		if err := mcpConsent(c, "Start it and ask for its tools?", "starting MCP server "+server.Name, server, nil); err != nil {
			return nil, err
		}
	}
	offer, err := mcpAsk(ctx, c, s, server)
	if err != nil {
		return nil, err
	}
	if c.Str("from") == "" {
		showMcpServer(c.UI, server, s.project.McpOptions().Dir)
	}
	showMcpOffer(c.UI, offer, !c.Bool("yes"))
	if err := mcpConsent(c, "Add it, and sign an item for each tool?", "adding MCP server "+server.Name, server, offer.Tools); err != nil {
		return nil, err
	}
	files, err := offer.Items()
	if err != nil {
		return nil, err
	}
	if err := s.Write(ctx, server.Name, files); err != nil {
		return nil, err
	}
	c.UI.Out("added MCP server %s: %s, %s", server.Name, s.root.Display(mcpclient.ServerPath(server.Name)), plural(len(offer.Tools), "tool"))
	if len(offer.Tools) > 0 {
		c.UI.Note("run one: rye run %s", mcpclient.ToolRef(server.Name, offer.Tools[0].Name))
	}
	if err := s.project.RefreshLock(ctx, s.reports); err != nil {
		return nil, err
	}
	warnings := []string{}
	for _, f := range offer.Warnings {
		warnings = append(warnings, f.Message)
	}
	return map[string]any{
		"name": server.Name, "scope": string(s.root.Space), "path": s.root.Display(mcpclient.ServerPath(server.Name)), "server": offer.Server.Data(),
		"software": offer.Software, "tools": mcpclient.ToolsData(server.Name, offer.Tools), "count": len(offer.Tools), "warnings": warnings,
	}, nil
}

// mcpServers returns the servers that the words name.
func mcpServers(c *cli.Call) ([]*mcpclient.Server, error) {
	if c.Str("from") != "" {
		return mcpFrom(c)
	}
	name := c.Arg(0)
	command := c.Args
	if len(command) > 0 {
		command = command[1:]
	}
	s := &mcpclient.Server{Name: name, Transport: c.Str("transport"), URL: c.Str("url"), Cwd: c.Str("cwd"), Timeout: c.Duration("timeout")}
	var errs []error
	fail := func(format string, args ...any) *diag.Error {
		e := diag.New(diag.Usage, "adding an MCP server: "+format, args...)
		errs = append(errs, e)
		return e
	}
	switch {
	case name == "" || c.Dash == 0:
		return nil, diag.New(diag.Usage, "adding an MCP server: it has no name").WithHint("rye mcp add NAME -- COMMAND, or rye mcp add NAME --url URL")
	case s.URL == "" && len(command) == 0:
		fail("%s has neither a command nor --url", name).WithHint("rye mcp add %s -- COMMAND ARGS…", name)
	case s.URL != "" && len(command) > 0:
		fail("a server has a command or --url, not both")
	case len(command) > 0:
		s.Command, s.Args = command[0], command[1:]
	}
	for _, err := range []error{mcpclient.CheckName(name), checkTypedURL(s.URL)} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if s.Transport == "" {
		s.Transport = pick(s.URL != "", mcpclient.HTTP, mcpclient.Stdio)
	}
	s.Env, s.Headers = map[string]string{}, map[string]string{}
	for _, word := range c.Strs("env") {
		key, value, given := strings.Cut(word, "=")
		if !given {
			value = "${" + key + "}"
		}
		s.Env[key] = value
	}
	for _, word := range c.Strs("header-env") {
		key, value, given := strings.Cut(word, "=")
		if !given {
			fail("--header-env %s names no variable", key).WithHint("--header-env NAME=VARIABLE")
			continue
		}
		if !strings.Contains(value, "${") {
			value = "${" + value + "}"
		}
		s.Headers[key] = value
	}
	errs = append(errs, s.CheckSecrets()...)
	if err := diag.Join("reading arguments", errs); err != nil {
		return nil, err
	}
	return []*mcpclient.Server{s}, checkServer(s)
}

// checkTypedURL names an address that is none of the web as it was typed. One with
// variables in it is known when they are filled in.
func checkTypedURL(typed string) error {
	u, err := url.Parse(typed)
	switch {
	case typed == "" || strings.Contains(typed, "${"):
		return nil
	case err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return nil
	case err == nil:
		typed = u.Redacted()
	}
	e := diag.New(diag.Usage, "adding an MCP server: --url %q is no http or https address", typed)
	switch {
	case err == nil && u.Scheme == "" && !strings.HasPrefix(typed, "/"):
		return e.WithHint("did you mean --url https://%s?", typed)
	case err == nil && u.Opaque != "" && u.Opaque[0] >= '0' && u.Opaque[0] <= '9': // HOST:PORT
		return e.WithHint("did you mean --url http://%s?", typed)
	}
	return e.WithHint("servers are reached by http and https, for example --url https://docs.example.com/mcp; one on this machine by its command: rye mcp add NAME -- COMMAND")
}

// checkServer holds a server against what its item may say.
func checkServer(s *mcpclient.Server) error {
	config := map[string]any{}
	for key, v := range s.Data() {
		if list, ok := v.([]string); ok {
			l := make([]any, len(list))
			for i, e := range list {
				l[i] = e
			}
			v = l
		}
		config[key] = v
	}
	_, fs := mcpclient.ParseServer(s.Name, config)
	for i := range fs {
		fs[i].Code, fs[i].Path = diag.Usage, ""
	}
	return diag.FromFindings("adding MCP server "+s.Name, fs)
}
