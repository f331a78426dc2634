// Package gateway has the commands of rye-server for the gateway: rye gateway, which serves, and open,
// key and audit.
//
// It does not serve anything itself.
package gateway

import (
	"context"
	"net/netip"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/self"
	served "github.com/ryeos/rye/internal/gateway"
	"github.com/ryeos/rye/internal/gateway/access"
	"github.com/ryeos/rye/internal/gateway/host"
	"github.com/ryeos/rye/internal/gateway/trail"
	"github.com/ryeos/rye/internal/httpserve"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/serverconfig"
	"github.com/ryeos/rye/internal/sibling"
)

// Group is the group of the command in the help of rye.
const Group = "Items"

// Usage is the line of the command in the help of rye.
const Usage = "serve threads to people and programs: web pages and an API"

// serveOptions are the flags of rye gateway serve.
type serveOptions struct {
	config, addr, unix, public, cert, key string
	projects, proxies                     []string
	noPage                                bool
}

// Command is rye gateway.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "gateway",
		Group: Group,
		Usage: Usage,
		Subs: []*cli.Command{
			serveCommand(),
			openCommand(),
			keyCommand(),
			auditCommand(),
		},
	}
}

func serveCommand() *cli.Command {
	var o serveOptions
	return &cli.Command{
		Name:  "serve",
		Usage: "serve the pages and the API",
		Long: `Serves the threads of the projects: a page for people, and an API with events for
programs. A thread of a terminal is seen here, and the other way round. Sign in with rye
gateway open, or with a key of rye gateway key new.

Without --project it serves the project of this directory. An address that other machines
reach needs --tls-cert and --tls-key, or a proxy that adds TLS: --trusted-proxy with
--public-url. Flags have precedence over server.yaml; rye-server config check prints it.`,
		Examples: []string{"rye gateway serve", "rye gateway serve --project ~/work --project ~/site --addr 127.0.0.1:7400"},
		Codes:    []diag.Code{diag.ConfigError, diag.Network, diag.Conflict, diag.MissingDependency},
		Flags: []cli.Flag{
			cli.String(&o.addr, "addr", "listen on `HOST:PORT` (default "+serverconfig.DefaultAddr+")"),
			cli.String(&o.unix, "unix", "listen on the socket `PATH` instead"),
			cli.Strings(&o.projects, "serve", "serve the project in `DIR`; can be repeated"),
			cli.String(&o.public, "public-url", "the `URL` by which people reach it"),
			cli.String(&o.cert, "tls-cert", "a certificate in the `FILE`"),
			cli.String(&o.key, "tls-key", "its key in the `FILE`"),
			cli.Strings(&o.proxies, "trusted-proxy", "believe the client's address from `CIDR`"),
			cli.Bool(&o.noPage, "no-page", "serve the API only"),
			cli.String(&o.config, "config", "read `FILE` in place of server.yaml"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runServe(ctx, c, &o)
		},
	}
}

// readConfig returns the configuration with the flags.
func readConfig(c *cli.Call, e *project.Env, o *serveOptions) (*serverconfig.Gateway, error) {
	// With sudo, a file of the person who called it is their own.
	sudo, _ := proc.Lookup(c.Environ(), "SUDO_UID")
	search := serverconfig.Search{
		Dirs: []string{e.UserDirs().Config, e.MachineDir()},
		Sudo: sudo,
	}
	if o.config != "" {
		search.Named = c.Path(o.config)
	}
	conf, err := serverconfig.Read(search)
	if err != nil {
		return nil, err
	}
	g := &conf.Gateway
	// A path that was typed is below the working directory, one of the file below the file.
	path := func(into *string, flag string) {
		if flag != "" {
			*into = c.Path(flag)
		}
	}
	path(&g.Unix, o.unix)
	path(&g.Cert, o.cert)
	path(&g.Key, o.key)
	if o.addr != "" {
		g.Addr = o.addr
	}
	if o.public != "" {
		g.PublicURL = strings.TrimSuffix(o.public, "/")
	}
	for _, text := range o.proxies {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, diag.New(diag.Usage, "reading flag --trusted-proxy: %q is not like 10.0.0.0/8", text)
		}
		g.TrustedProxy = append(g.TrustedProxy, p)
	}
	if len(o.projects) > 0 {
		// The flags name all projects, not more of them.
		g.Projects = nil
	}
	for _, dir := range o.projects {
		g.Projects = append(g.Projects, c.Path(dir))
	}
	g.NoPage = g.NoPage || o.noPage
	return g, g.Check()
}

// environment returns the environment of projects. Threads are processes of rye, not of this program.
func environment(c *cli.Call) (*project.Env, error) {
	rye, err := sibling.Find("rye", self.Search(c.World))
	if err != nil {
		return nil, err
	}
	if rye == "" {
		return nil, diag.New(diag.MissingDependency, "serving threads: rye is not installed next to rye-server or in PATH").
			WithReason("gateway_no_rye")
	}
	e := env.Of(c)
	e.Self = rye
	e.ThreadLogs = true
	// A server has no terminal: nothing is printed to it or asked at it for a request.
	e.Terminal = ""
	e.Person = project.Person{}
	return e, nil
}

// projects returns the directories of the projects, which must be projects.
func projects(ctx context.Context, e *project.Env, named []string) ([]string, error) {
	if len(named) == 0 {
		p, err := e.Open(ctx, project.Lenient)
		if err != nil {
			return nil, err
		}
		if p.Spaces.ProjectDir == "" {
			return nil, diag.New(diag.Usage, "serving threads: no project is here; name one with --serve").
				WithReason("gateway_no_project")
		}
		return []string{p.Spaces.ProjectDir}, nil
	}
	// What cannot be opened now would be an error of every request.
	var out []string
	for _, dir := range named {
		p, err := e.In(dir).Open(ctx, project.Lenient)
		if err != nil {
			return nil, diag.Doing("opening "+dir, err)
		}
		out = append(out, p.Spaces.ProjectDir)
	}
	return out, nil
}

func runServe(ctx context.Context, c *cli.Call, o *serveOptions) error {
	e, err := environment(c)
	if err != nil {
		return err
	}
	conf, err := readConfig(c, e, o)
	if err != nil {
		return err
	}
	dirs, err := projects(ctx, e, conf.Projects)
	if err != nil {
		return err
	}
	state := e.UserDirs().State
	if state == "" {
		return diag.New(diag.FileSystemError, "serving threads: the environment names no state directory that is the user's own").
			WithReason("no_state_directory")
	}
	self.PrepareServer(c.Getenv("GOGC"))
	l, err := httpserve.Listen(ctx, httpserve.Address{
		TCP:  conf.Addr,
		Unix: conf.Unix,
		Cert: conf.Cert,
		Key:  conf.Key,
	})
	if err != nil {
		return err
	}
	addr := l.Addr().String()
	keys := access.Open(state, c.Now)
	keys.RemoveOldCodes()
	base := atomicfile.Private(state).Below(access.Dir)
	s, err := served.New(served.Params{
		Host:  host.New(e, dirs),
		Keys:  keys,
		Trail: trail.Open(base, c.Now),
		Guard: httpserve.Guard{
			Addr:   addr,
			Public: conf.PublicURL,
			TLS:    conf.Cert != "",
			Unix:   conf.Unix != "",
		},
		Proxies: conf.TrustedProxy,
		NoPage:  conf.NoPage,
		Version: c.Program.Version,
		Now:     c.Now,
		Note: func(text string) {
			c.UI.Note("%s", text)
		},
	})
	if err != nil {
		_ = l.Close()
		return err
	}
	defer s.Close()
	url := address(conf, addr)
	// rye gateway open finds the server by this file.
	if err := base.Write(addressFile, []byte(url+"\n"), 0o600); err != nil {
		_ = l.Close()
		return err
	}
	defer func() {
		// A second gateway of the account has written its own address.
		b, _, err := openat.Read(base.Path(""), addressFile, maxAddress)
		if err == nil && string(b) == url+"\n" {
			_ = base.Remove(addressFile)
		}
	}()
	for _, dir := range dirs {
		c.UI.Note("project %s", dir)
	}
	c.UI.Note("serving on %s", url)
	if !conf.NoPage {
		c.UI.Note("sign in: rye gateway open")
	}
	return httpserve.Serve(ctx, l, s.Handler(), served.Limits())
}

// addressFile has the URL of the gateway that runs.
const addressFile = "address"

// address returns the URL of a gateway.
func address(conf *serverconfig.Gateway, addr string) string {
	switch {
	// A proxy has the name that certificates and cookies are for.
	case conf.PublicURL != "":
		return conf.PublicURL
	case conf.Unix != "":
		return "unix:" + conf.Unix
	case conf.Cert != "":
		return "https://" + addr
	}
	return "http://" + addr
}
