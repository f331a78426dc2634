package registry

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/self"
	"github.com/ryeos/rye/registry/judge"
	"github.com/ryeos/rye/registry/server"
	"github.com/ryeos/rye/registry/wire"
)

// serveOptions are the flags of rye registry serve.
type serveOptions struct {
	dir, addr, public string
	witnesses         []string
}

// dataUsage is the text of --data.
const dataUsage = "the `DIR` of the registry"

func serveCommand() *cli.Command {
	var o serveOptions
	return &cli.Command{
		Name:  "serve",
		Usage: "serve a registry: static files, the API and web pages",
		Long: `DIR contains everything: the static files below public/, which any web server can
serve as well, a database, and the key of the log. The first call creates it and needs
--public-url, whose host becomes part of the ids of all bundles and cannot change.

Each --witness is asked to sign a checkpoint before clients see it. A witness that does not
answer delays a change by 3 seconds at most, and the next ones not at all; it is asked
again every 30 seconds, and its signature is added then.

The registry speaks HTTP. Put a proxy that adds TLS before it, unless it serves this
machine only.`,
		Examples: []string{
			"rye registry serve --data /srv/rye --public-url https://rye.acme.io",
			"rye registry serve --data demo --public-url http://127.0.0.1:7480",
		},
		Codes: []diag.Code{diag.Conflict, diag.ConfigError, diag.RegistryError, diag.Network},
		Flags: []cli.Flag{
			cli.String(&o.dir, "data", dataUsage),
			cli.String(&o.addr, "addr", "listen on `HOST:PORT` (default 127.0.0.1:7480)"),
			cli.String(&o.public, "public-url", "the `URL` by which clients reach the registry"),
			cli.Strings(&o.witnesses, "witness", "ask the witness `KEY=URL` to sign each checkpoint"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runServe(ctx, c, &o)
		},
	}
}

// hostOfURL returns the host of --public-url in the form of ids.
func hostOfURL(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil ||
		u.Host == "" ||
		u.Scheme != "https" && u.Scheme != "http" ||
		strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" {
		return "", diag.New(diag.Usage, "reading flag --public-url: %q is not https://HOST", text)
	}
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	if u.Scheme == "http" && !wire.IsLoopback(host) {
		return "", diag.New(diag.Usage, "reading flag --public-url: clients use http for this machine only; want https://%s", host)
	}
	return host, wire.CheckHost(host)
}

// params returns the parameters of the registry in a directory.
func params(c *cli.Call, dir, host string) (server.Params, error) {
	if dir == "" {
		return server.Params{}, diag.New(diag.Usage, "reading flag --data: the directory of the registry is needed")
	}
	judgement := judge.New(judge.Params{
		System:   c.Stdlib,
		Now:      c.Now,
		Released: cli.BuildTime(),
	})
	return server.Params{
		Dir:   c.Path(dir),
		Host:  host,
		Judge: judgement,
		Now:   c.Now,
		Rand:  c.Rand,
		Note: func(text string) {
			c.UI.Note("%s", text)
		},
	}, nil
}

func runServe(ctx context.Context, c *cli.Call, o *serveOptions) error {
	host, err := hostOfURL(o.public)
	if err != nil {
		return err
	}
	p, err := params(c, o.dir, host)
	if err != nil {
		return err
	}
	// Without --public-url a mistyped directory is an error and not a new registry.
	if !server.IsRegistry(p.Dir) {
		if host == "" {
			return diag.New(diag.Usage, "creating the registry in %s: --public-url is needed once: its host becomes part of the ids of all bundles", p.Dir)
		}
		if err := server.Create(p); err != nil {
			return err
		}
	}
	for _, text := range o.witnesses {
		w, err := server.ParseWitness(text)
		if err != nil {
			return err
		}
		p.Witnesses = append(p.Witnesses, w)
	}
	self.PrepareServer(c.Getenv("GOGC"))
	s, err := server.Open(ctx, p)
	if err != nil {
		return err
	}
	defer s.Close()
	// It listens last: a client never reaches a registry that is not open.
	addr := cmp.Or(o.addr, "127.0.0.1:7480")
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return diag.New(diag.Network, "listening on %s: %w", addr, err)
	}
	c.UI.Note("serving the registry %s on http://%s: %d log entries", s.Host(), l.Addr(), s.Size())
	c.UI.Note("key of the log: %s", s.Key())
	return s.Serve(ctx, l)
}
