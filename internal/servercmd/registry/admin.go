package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/registry/server"
)

// adminOptions are the flags of rye registry admin.
type adminOptions struct{ dir, document, reason, version string }

func adminCommand() *cli.Command {
	return &cli.Command{
		Name: "admin", Usage: "operate a registry on this machine",
		Subs: []*cli.Command{
			adminDoctorCommand(), adminBackupCommand(), adminRestoreCommand(), adminRotateCommand(), adminNamespaceCommand(), adminDeleteCommand(), adminBlockCommand(), adminUnblockCommand(), adminReportsCommand(),
		},
	}
}

func adminNamespaceCommand() *cli.Command {
	var grant, withdraw adminOptions
	return &cli.Command{
		Name: "namespace", Usage: "bind keys to namespaces by an act of the operator",
		Subs: []*cli.Command{{
			Name: "grant", Usage: "bind a key to a namespace", Args: "NAMESPACE KEY.toml",
			Long: `KEY.toml is a key document, as rye key export writes it. The log states that the
operator granted the namespace. The binding lasts one year; granting it again renews it.`,
			Examples: []string{"rye registry admin namespace grant acme acme-key.toml --data /srv/rye"},
			Codes:    []diag.Code{diag.Scope, diag.ValidationFailed},
			Flags:    []cli.Flag{cli.String(&grant.dir, "data", dataUsage)},
			Run: func(ctx context.Context, c *cli.Call) error {
				text, err := openat.ReadBounded(c.Path(c.Arg(1)), openat.MaxText)
				if err != nil {
					return diag.New(diag.FileSystemError, "reading the key document: %w", err)
				}
				return runAdmin(ctx, c, &grant, server.Command{Do: "grant", NS: c.Arg(0), Document: string(text)})
			},
		}, {
			Name: "withdraw", Usage: "remove a key from a namespace", Args: "NAMESPACE KEY",
			Long:     `KEY is ed25519: and the 64 digits of the fingerprint. What the key published stays.`,
			Examples: []string{"rye registry admin namespace withdraw acme ed25519:9209cb63… --data /srv/rye"},
			Codes:    []diag.Code{diag.ItemNotFound},
			Flags:    []cli.Flag{cli.String(&withdraw.dir, "data", dataUsage)},
			Run: func(ctx context.Context, c *cli.Call) error {
				return runAdmin(ctx, c, &withdraw, server.Command{Do: "withdraw", NS: c.Arg(0), Key: c.Arg(1)})
			},
		}},
	}
}

func adminDeleteCommand() *cli.Command {
	var o adminOptions
	return &cli.Command{
		Name:     "delete",
		Usage:    "delete a version; its log entry and its index line stay",
		Args:     "ID VERSION",
		Long:     `The archive is removed and its address answers 410. The version number is never used again.`,
		Examples: []string{"rye registry admin delete acme.io/tools v1.0.2 --reason 'a court order' --data /srv/rye"},
		Codes:    []diag.Code{diag.VersionNotFound},
		Flags:    []cli.Flag{cli.String(&o.dir, "data", dataUsage), cli.String(&o.reason, "reason", "one line of `TEXT`, which the log states")},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runAdmin(ctx, c, &o, server.Command{
				Do:      "delete",
				ID:      c.Arg(0),
				Version: c.Arg(1),
				Reason:  o.reason,
			})
		},
	}
}

func adminBlockCommand() *cli.Command {
	var o adminOptions
	return &cli.Command{
		Name:     "block-key",
		Usage:    "refuse all changes by a key",
		Args:     "KEY",
		Long:     `What the key published keeps its state.`,
		Examples: []string{"rye registry admin block-key ed25519:9209cb63… --reason 'spam' --data /srv/rye"},
		Codes:    []diag.Code{diag.ParsingError},
		Flags:    []cli.Flag{cli.String(&o.dir, "data", dataUsage), cli.String(&o.reason, "reason", "one line of `TEXT`, which the key's owner sees")},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runAdmin(ctx, c, &o, server.Command{Do: "block", Key: c.Arg(0), Reason: o.reason})
		},
	}
}

func adminUnblockCommand() *cli.Command {
	var o adminOptions
	return &cli.Command{
		Name:     "unblock-key",
		Usage:    "accept changes by a key again",
		Args:     "KEY",
		Examples: []string{"rye registry admin unblock-key ed25519:9209cb63… --data /srv/rye"},
		Codes:    []diag.Code{diag.ItemNotFound},
		Flags:    []cli.Flag{cli.String(&o.dir, "data", dataUsage)},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runAdmin(ctx, c, &o, server.Command{Do: "unblock", Key: c.Arg(0)})
		},
	}
}

func adminReportsCommand() *cli.Command {
	var o adminOptions
	return &cli.Command{
		Name:     "reports",
		Usage:    "list the reports of users",
		Examples: []string{"rye registry admin reports --data /srv/rye"},
		Codes:    []diag.Code{diag.ConfigError},
		Flags:    []cli.Flag{cli.String(&o.dir, "data", dataUsage)},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runAdmin(ctx, c, &o, server.Command{Do: "reports"})
		},
	}
}

func runAdmin(ctx context.Context, c *cli.Call, o *adminOptions, do server.Command) error {
	p, err := params(c, o.dir, "")
	if err != nil {
		return err
	}
	r, err := server.Admin(ctx, p, do)
	if err != nil {
		return err
	}
	return c.UI.Report(nil, r, nil, func() {
		if r.Receipt != nil {
			c.UI.Out("log entry %d", r.Receipt.Index)
		}
		t := cli.NewTable("registry reports")
		for _, x := range r.Reports {
			t.Add(
				fmt.Sprint(x.Number),
				x.At.Format(time.DateOnly),
				x.ID,
				x.Version,
				x.Text,
			)
		}
		c.UI.Table(t)
		if do.Do == "reports" && len(r.Reports) == 0 {
			c.UI.Out("no reports")
		}
	})
}
