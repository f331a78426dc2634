// Package config has the commands for the configuration of rye-server: rye-server config.
//
// It does not read the file itself.
package config

import (
	"context"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/serverconfig"
)

// Command is rye-server config. rye config is about the configuration of projects, so people type
// the name of the program here.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Group: "This machine",
		Usage: "check the configuration of the servers",
		Subs:  []*cli.Command{checkCommand()},
	}
}

func checkCommand() *cli.Command {
	var named string
	return &cli.Command{
		Name:  "check",
		Usage: "check server.yaml and print the values in force",
		Long: `Reads --config, or server.yaml of the user's configuration directory, or of the
machine. It is never read from a project, because it opens ports. Flags of a command have
precedence over it.`,
		Examples: []string{"rye-server config check", "rye-server config check --config /etc/rye/server.yaml --json"},
		Codes:    []diag.Code{diag.ConfigError, diag.Usage},
		Flags:    []cli.Flag{cli.String(&named, "config", "the `FILE`")},
		Run: func(_ context.Context, c *cli.Call) error {
			// With sudo, a file of the person who called it is their own.
			sudo, _ := proc.Lookup(c.Environ(), "SUDO_UID")
			if named != "" {
				named = c.Path(named)
			}
			e := env.Of(c)
			conf, err := serverconfig.Read(serverconfig.Search{
				Named: named,
				Dirs:  []string{e.UserDirs().Config, e.MachineDir()},
				Sudo:  sudo,
			})
			if err == nil {
				err = conf.Gateway.Check()
			}
			if err != nil {
				return err
			}
			return c.UI.Show(conf, func() {
				showConfig(c, conf)
			})
		},
	}
}

func showConfig(c *cli.Call, conf *serverconfig.Config) {
	t := cli.NewTable("server config")
	t.Add("file", orNone(conf.Path))
	g := conf.Gateway
	t.Add("gateway.addr", g.Addr)
	t.Add("gateway.unix", orNone(g.Unix))
	t.Add("gateway.public_url", orNone(g.PublicURL))
	t.Add("gateway.tls.cert", orNone(g.Cert))
	t.Add("gateway.tls.key", orNone(g.Key))
	var proxies []string
	for _, p := range g.TrustedProxy {
		proxies = append(proxies, p.String())
	}
	t.Add("gateway.trusted_proxy", orNone(strings.Join(proxies, ", ")))
	t.Add("gateway.projects", orNone(strings.Join(g.Projects, ", ")))
	t.Add("gateway.page", strconv.FormatBool(!g.NoPage))
	c.UI.Table(t)
}

func orNone(s string) string {
	// An empty cell would look like a fault of the table.
	if s == "" {
		return "-"
	}
	return s
}
