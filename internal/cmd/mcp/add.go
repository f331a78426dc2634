package mcp

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/internal/surface"
	"github.com/ryeos/rye/policy"
)

// mcpAddOptions are the flags of rye mcp add.
type mcpAddOptions struct {
	mcpOptions
	url, transport, cwd, from string
	headers, env              []string
	allowRead                 []string
	allowWrite, hosts         []string
	net                       string
	timeout                   time.Duration
	refused                   []error // of entries of --from that cannot be added
}

func mcpAddCommand() *cli.Command {
	o := mcpAddOptions{timeout: mcpclient.DefaultTimeout}
	return &cli.Command{
		Name:  "add",
		Usage: "add an MCP server and its tools",
		Args:  "[NAME] [COMMAND…]",
		Long: `Starts the server or connects to it, shows its command or address and every tool,
asks for confirmation, and writes signed items: one for the server and one for each
tool. Write the command after --. Either all items are written or none.

Items contain no secrets, only names of variables of your environment. -e TOKEN passes
the variable TOKEN, -e KEY='${TOKEN}' passes it under another name, and
-e LEVEL='${LEVEL:-info}' has a default. Of other variables the server gets only PATH,
HOME and similar ones.

The server runs in a sandbox: it reads the project and the packages of files that its
command names, writes its own cache and temporary files, and reaches the network.
--allow-read, --allow-write, --net and --host change this, and the question shows it.

--from reads the servers of a file such as .mcp.json: all, or the one called NAME. It
shows each command before starting it. The paths in such a file permit nothing:
--allow-read does.`,
		Examples: []string{
			"rye mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
			"rye mcp add github -e GITHUB_TOKEN -- github-mcp-server stdio",
			"rye mcp add docs --url https://docs.example.com/mcp",
			"rye mcp add docs --url https://docs.example.com/mcp --header-env Authorization='Bearer ${DOCS_TOKEN}'",
			"rye mcp add --from .mcp.json",
		},
		Codes: []diag.Code{diag.ConsentRequired, diag.AmbiguousItem, diag.HiddenChars, diag.TooLarge, diag.ValidationFailed, diag.ExecutionFailed,
			diag.Timeout, diag.Network, diag.AuthFailed, diag.AuthRequired},
		Flags: append([]cli.Flag{
			cli.String(&o.url, "url", "connect to the server at `URL`"),
			cli.String(&o.transport, "transport", "`TRANSPORT`: stdio, http, or sse for older servers").Alias("t"),
			cli.Strings(&o.headers, "header-env", "send header `NAME=VAR` with variable VAR, or NAME='text ${VAR}'"),
			cli.Strings(&o.env, "env", "pass the variable `NAME`, or KEY='${NAME}'").Alias("e"),
			cli.Strings(&o.allowRead, "allow-read", "let the server read `DIR`, absolute or below ~"),
			cli.Strings(&o.allowWrite, "allow-write", "let the server write `DIR` of the project; . is all of it"),
			cli.String(&o.net, "net", "`MODE` of its network: none, loopback, hosts or any, which is the default"),
			cli.Strings(&o.hosts, "host", "let the server reach only `HOST`, and others that are given so"),
			cli.String(&o.cwd, "cwd", "start the server in `DIR` of the project"),
			cli.Duration(&o.timeout, "timeout", "maximum `TIME` to connect, and of each response"),
			cli.String(&o.from, "from", "read servers from `FILE`"),
		}, mcpSignFlags(&o.mcpOptions)...),
		Exclusive: [][]any{
			{&o.from, &o.url},
			{&o.from, &o.transport},
			{&o.from, &o.headers},
			{&o.from, &o.env},
			{&o.from, &o.cwd},
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runMCPAdd(ctx, c, &o)
		},
	}
}

func runMCPAdd(ctx context.Context, c *cli.Call, o *mcpAddOptions) error {
	servers, err := requestedServers(c, o)
	if err != nil {
		return err
	}
	return withStore(
		ctx,
		c,
		&o.mcpOptions,
		project.Strict,
		func(s *mcpStore) error {
			return addServers(ctx, c, o, s, servers)
		},
	)
}

func addServers(
	ctx context.Context,
	c *cli.Call,
	o *mcpAddOptions,
	s *mcpStore,
	servers []*mcpclient.Server,
) error {
	done := []any{}
	failed := o.refused
	for _, server := range servers {
		err := s.CheckNew(ctx, server.Name)
		if err != nil {
			if more := completeServerLock(ctx, s, server.Name); more != nil {
				return more
			}
		}
		var added map[string]any
		if err == nil {
			added, err = addServer(ctx, c, o, s, server)
		}
		if err != nil &&
			(len(servers) == 1 && len(failed) == 0 || ctx.Err() != nil || diag.CodeOf(err).Class() == diag.ClassDenied || diag.CodeOf(err).Class() == diag.ClassAuth) {
			return err // the person declined, or nothing can be signed
		}
		if err != nil { // one server that does not start keeps no other from being added
			failed = append(failed, diag.Doing("adding MCP server "+server.Name, err))
			continue
		}
		done = append(done, added)
	}
	data := map[string]any{"servers": done}
	if err := diag.Join("adding the MCP servers of "+o.from, failed); err != nil {
		if c.UI.AsJSON {
			return cli.Shown(err, data)
		}
		return err
	}
	if len(done) == 1 {
		return c.UI.JSON(done[0])
	}
	return c.UI.JSON(data)
}

// completeServerLock writes the lock entries of a server, if a command that signed its
// items was killed before it did.
func completeServerLock(ctx context.Context, s *mcpStore, name string) error {
	refs, err := s.Items(name)
	if err != nil {
		return err
	}
	return relock.Complete(ctx, s.project, refs...)
}

// addServer adds one server and returns the JSON data of the result.
func addServer(
	ctx context.Context,
	c *cli.Call,
	o *mcpAddOptions,
	s *mcpStore,
	server *mcpclient.Server,
) (map[string]any, error) {
	if err := s.loadKey(ctx); err != nil {
		return nil, err
	}
	// A command of a file was written by another person: the user reads it before
	// it is started.
	if o.from != "" {
		showMcpServer(c.UI, server, surface.McpOptions(s.project).Dir)
		err := confirmServer(c, o.yes, "Start it and list its tools?", "starting MCP server "+server.Name, server, nil)
		if err != nil {
			return nil, err
		}
	}
	offer, err := connectServer(ctx, c, s, server)
	if err != nil {
		return nil, err
	}
	if o.from == "" {
		showMcpServer(c.UI, server, surface.McpOptions(s.project).Dir)
	}
	showMcpOffer(c.UI, offer, !o.yes)
	err = confirmServer(c, o.yes, "Add it and sign an item for each tool?", "adding MCP server "+server.Name, server, offer.Tools)
	if err != nil {
		return nil, err
	}
	files, err := offer.Items()
	if err != nil {
		return nil, err
	}
	if err := s.Write(ctx, server.Name, files); err != nil {
		return nil, err
	}
	c.UI.Out(
		"added MCP server %s: %s, %s",
		server.Name,
		s.root.Display(mcpclient.ServerPath(server.Name)),
		cli.Plural(len(offer.Tools), "tool"),
	)
	if len(offer.Tools) > 0 {
		c.UI.Note("run one: rye run %s", mcpclient.ToolRef(server.Name, offer.Tools[0].Name))
	}
	if err := relock.Refresh(ctx, s.project, s.reports); err != nil {
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

// requestedServers returns the servers that the command line or --from describes.
func requestedServers(c *cli.Call, o *mcpAddOptions) ([]*mcpclient.Server, error) {
	servers, err := describedServers(c, o)
	if err != nil {
		return nil, err
	}
	sandbox, err := o.sandbox()
	for _, s := range servers {
		if s.Transport == mcpclient.Stdio {
			profile := sandbox
			named := s.NamedFiles(c.Getenv("HOME"))
			if o.from != "" { // another person may have written the paths
				for _, at := range named {
					c.UI.Note("the command of %s names %s, which it can read only with --allow-read %s", s.Name, at, at)
				}
				named = nil
			}
			read := append(slices.Clone(*sandbox.Read), named...)
			profile.Read = &read
			profile = profile.Normal()
			s.Sandbox = &profile
		} else if o.net != "" ||
			len(o.hosts)+len(o.allowWrite)+len(o.allowRead) > 0 {
			return nil, diag.New(diag.Usage, "adding an MCP server: --allow-read, --allow-write, --net and --host are for programs, and %s is reached at a URL", s.Name)
		}
	}
	return servers, err
}

// sandbox returns the sandbox of a server that the flags describe.
func (o *mcpAddOptions) sandbox() (policy.Profile, error) {
	p := mcpclient.DefaultSandbox()
	if o.net != "" || len(o.hosts) > 0 {
		p.Net = cmp.Or(o.net, policy.NetHosts)
	}
	bad := func(format string, args ...any) (policy.Profile, error) {
		return p, diag.New(diag.Usage, "adding an MCP server: "+format, args...)
	}
	switch {
	case !slices.Contains([]string{policy.NetNone, policy.NetLoopback, policy.NetHosts, policy.NetAny}, p.Net):
		return bad("--net %q is not none, loopback, hosts or any", p.Net)
	case p.Net == policy.NetHosts && len(o.hosts) == 0:
		return bad("--net hosts needs --host")
	case p.Net != policy.NetHosts && len(o.hosts) > 0:
		return bad("--host is for --net hosts, not %s", p.Net)
	}
	for _, host := range o.hosts {
		if err := policy.CheckHostPattern(host); err != nil {
			return bad("--host %w", err)
		}
	}
	p.Hosts = o.hosts
	read := slices.Clone(*p.Read)
	for _, dir := range o.allowRead {
		if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~/") {
			return bad("--allow-read %q is not absolute or below ~/", dir)
		}
		read = append(read, filepath.ToSlash(dir))
	}
	p.Read = &read
	write := slices.Clone(*p.Write)
	for _, dir := range o.allowWrite {
		if !filepath.IsLocal(filepath.FromSlash(dir)) {
			return bad("--allow-write %q is not a directory of the project", dir)
		}
		write = append(write, path.Join("{project}", filepath.ToSlash(dir)))
	}
	p.Write = &write
	return p.Normal(), nil
}

// describedServers returns the servers without their sandbox.
func describedServers(c *cli.Call, o *mcpAddOptions) ([]*mcpclient.Server, error) {
	if o.from != "" {
		return serversOfFile(c, o)
	}
	name := c.Arg(0)
	command := c.Args
	if len(command) > 0 {
		command = command[1:]
	}
	s := &mcpclient.Server{
		Name:      name,
		Transport: o.transport,
		URL:       o.url,
		Cwd:       o.cwd,
		Timeout:   o.timeout,
	}
	var errs []error
	fail := func(format string, args ...any) *diag.Error {
		e := diag.New(diag.Usage, "adding an MCP server: "+format, args...)
		errs = append(errs, e)
		return e
	}
	switch {
	case name == "" || c.Dash == 0:
		return nil, diag.New(diag.Usage, "adding an MCP server: the name is missing").WithReason("mcp_no_name")
	case s.URL == "" && len(command) == 0:
		fail("%s has no command and no --url", name).WithReason("mcp_no_command").WithDetail("name", name)
	case s.URL != "" && len(command) > 0:
		fail("a command and --url exclude each other")
	case len(command) > 0:
		s.Command = command[0]
		s.Args = command[1:]
	}
	for _, err := range []error{mcpclient.CheckName(name), checkTypedURL(s.URL), checkCommand(s.Command)} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if s.Transport == "" {
		s.Transport = cli.Pick(s.URL != "", mcpclient.HTTP, mcpclient.Stdio)
	}
	s.Env = map[string]string{}
	s.Headers = map[string]string{}
	for _, word := range o.env {
		key, value, given := strings.Cut(word, "=")
		if !given {
			value = "${" + key + "}"
		}
		s.Env[key] = value
	}
	for _, word := range o.headers {
		key, value, given := strings.Cut(word, "=")
		if !given {
			fail("--header-env %q has no variable", key).WithReason("header_variable")
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

// checkTypedURL returns an error with the text of --url if it is not an http or
// https URL. A URL with variables is checked when they are replaced.
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
	e := diag.New(diag.Usage, "adding an MCP server: --url %q is not an http or https URL", typed)
	switch {
	case err == nil && u.Scheme == "" && !strings.HasPrefix(typed, "/"):
		return e.WithReason("nearest_url").WithDetail("nearest", "https://"+typed)
	case err == nil && u.Opaque != "" && u.Opaque[0] >= '0' && u.Opaque[0] <= '9': // HOST:PORT
		return e.WithReason("nearest_url").WithDetail("nearest", "http://"+typed)
	}
	return e.WithReason("url")
}

// checkCommand returns an error if the program of a server is an address.
func checkCommand(program string) error {
	u, err := url.Parse(program)
	if err == nil &&
		(u.Scheme == "http" || u.Scheme == "https") &&
		u.Host != "" {
		return diag.New(diag.Usage, "adding an MCP server: %q is an address, and not a program", u.Redacted()).
			WithReason("nearest_url").
			WithDetail("nearest", u.Redacted())
	}
	return nil
}

// checkServer checks a server with the rules of its item.
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
		fs[i].Code = diag.Usage
		fs[i].Path = ""
	}
	return diag.FromFindings("adding MCP server "+s.Name, fs)
}
