package registry

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/registry/server"
)

func exportCommand() *cli.Command {
	var o adminOptions
	return &cli.Command{
		Name:  "export",
		Usage: "write the static files of a registry into a directory",
		Args:  "DIR",
		Long: `Any web server can serve DIR: clients read everything from it, and verify it in the same
way. The registry may be in use. Repeated calls copy what is new, so DIR can be a mirror.`,
		Examples: []string{"rye registry export /srv/www/rye --data /srv/rye"},
		Codes:    []diag.Code{diag.ConfigError, diag.FileSystemError},
		Flags:    []cli.Flag{cli.String(&o.dir, "data", dataUsage)},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := params(c, o.dir, "")
			if err != nil {
				return err
			}
			t, err := server.PublicTree(p.Dir)
			if err != nil {
				return err
			}
			n, err := t.Export(ctx, c.Path(c.Arg(0)))
			if err != nil {
				return err
			}
			return c.UI.Report(
				nil,
				map[string]int{"copied": n},
				nil,
				func() {
					c.UI.Out("copied %s", cli.Plural(n, "file"))
				},
			)
		},
	}
}

// importOptions are the flags of rye registry import.
type importOptions struct{ dir, key string }

func importCommand() *cli.Command {
	var o importOptions
	return &cli.Command{
		Name:  "import",
		Usage: "make a registry from static files and the key of their log",
		Args:  "DIR",
		Long: `Verifies every file of DIR, an export or a mirror, and copies it into the new registry.
--log-key names the file keys/log of the registry that made it: only its owner can continue
the log.`,
		Examples: []string{"rye registry import /srv/www/rye --log-key old-key --data /srv/rye"},
		Codes:    []diag.Code{diag.LogProof, diag.HashMismatch, diag.Conflict, diag.SourceNotFound},
		Flags:    []cli.Flag{cli.String(&o.dir, "data", dataUsage), cli.String(&o.key, "log-key", "the `FILE` with the secret key of the log")},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := params(c, o.dir, "")
			if err != nil {
				return err
			}
			if o.key == "" {
				return diag.New(diag.Usage, "reading flag --log-key: the file with the secret key of the log is needed")
			}
			// It is read first: without the key nothing is copied.
			secret, err := openat.ReadBounded(c.Path(o.key), openat.MaxText)
			if err != nil {
				return diag.New(diag.FileSystemError, "reading the key of the log: %w", err)
			}
			r, err := server.Import(
				ctx,
				c.Path(c.Arg(0)),
				p.Dir,
				secret,
			)
			if err != nil {
				return err
			}
			return showTree(c, r)
		},
	}
}

// showTree reports on a verified tree.
func showTree(c *cli.Call, r *server.TreeReport) error {
	return c.UI.Report(diag.FromFindings("verifying the registry "+r.Host, r.Findings), r, r.Findings, func() {
		for _, f := range r.Findings {
			c.UI.Finding(f)
		}
		c.UI.Out(
			"%s: %d log entries, %s, %s",
			r.Host,
			r.Entries,
			cli.Plural(r.Bundles, "bundle"),
			cli.Plural(r.Versions, "version"),
		)
	})
}

func adminDoctorCommand() *cli.Command {
	var o adminOptions
	return &cli.Command{
		Name:     "doctor",
		Usage:    "verify the log, the index, every archive and the free space",
		Long:     `The registry may be in use. Everything is read, so it takes as long as the disk needs.`,
		Examples: []string{"rye registry admin doctor --data /srv/rye"},
		Codes:    []diag.Code{diag.LogProof, diag.HashMismatch, diag.BundleFileMissing, diag.ConfigError},
		Flags:    []cli.Flag{cli.String(&o.dir, "data", dataUsage)},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := params(c, o.dir, "")
			if err != nil {
				return err
			}
			r, err := server.Doctor(ctx, p.Dir)
			if err != nil {
				return err
			}
			return showTree(c, r)
		},
	}
}

func adminBackupCommand() *cli.Command {
	var o adminOptions
	return &cli.Command{
		Name:  "backup",
		Usage: "copy a registry, with the key of its log, into a directory",
		Args:  "DIR",
		Long: `The registry may be in use. Repeated calls copy what is new. Keep DIR as private as the
registry: it contains the key of the log.`,
		Examples: []string{"rye registry admin backup /backup/rye --data /srv/rye"},
		Codes:    []diag.Code{diag.ConfigError, diag.FileSystemError},
		Flags:    []cli.Flag{cli.String(&o.dir, "data", dataUsage)},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := params(c, o.dir, "")
			if err != nil {
				return err
			}
			err = server.Backup(ctx, p.Dir, c.Path(c.Arg(0)))
			if err != nil {
				return err
			}
			return c.UI.Report(
				nil,
				map[string]string{"backup": c.Path(c.Arg(0))},
				nil,
				func() {
					c.UI.Out("wrote %s", c.Path(c.Arg(0)))
				},
			)
		},
	}
}

// restoreOptions are the flags of rye registry admin restore.
type restoreOptions struct {
	dir, from string
	notes     []string
}

func adminRestoreCommand() *cli.Command {
	var o restoreOptions
	return &cli.Command{
		Name:  "restore",
		Usage: "make a registry from a backup, never with a shorter log than others know",
		Args:  "BACKUP",
		Long: `A log that becomes shorter looks like a lie to every client. --from names a mirror or an
export with what was published after the backup. --checkpoint names a file with a
checkpoint that a witness, a mirror or a client has: restore refuses if the result would
be shorter or would not continue it.`,
		Examples: []string{"rye registry admin restore /backup/rye --from /srv/mirror --checkpoint seen.note --data /srv/rye"},
		Codes:    []diag.Code{diag.Rollback, diag.LogEquivocation, diag.LogProof, diag.HashMismatch, diag.Conflict},
		Flags: []cli.Flag{
			cli.String(&o.dir, "data", dataUsage),
			cli.String(&o.from, "from", "complete the backup from the static files in `DIR`"),
			cli.Strings(&o.notes, "checkpoint", "`FILE` with a checkpoint that others have"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runAdminRestore(ctx, c, &o)
		},
	}
}

func runAdminRestore(ctx context.Context, c *cli.Call, o *restoreOptions) error {
	p, err := params(c, o.dir, "")
	if err != nil {
		return err
	}
	r := server.RestoreParams{Backup: c.Path(c.Arg(0)), Dir: p.Dir}
	if o.from != "" {
		r.From = c.Path(o.from)
	}
	for _, name := range o.notes {
		b, err := openat.ReadBounded(c.Path(name), openat.MaxText)
		if err != nil {
			return diag.New(diag.FileSystemError, "reading a checkpoint: %w", err)
		}
		r.Notes = append(r.Notes, b)
	}
	report, err := server.Restore(ctx, r)
	if err != nil {
		return err
	}
	return showTree(c, report)
}

func adminRotateCommand() *cli.Command {
	var o adminOptions
	return &cli.Command{
		Name:  "rotate-key",
		Usage: "replace the key of the log; clients follow by a document that the old key signs",
		Long: `Stop the process that serves the registry first. A key that was stolen cannot be replaced
like this, because the thief can sign such a document, too: give users the new key by
another channel, and they pin it again.`,
		Examples: []string{"rye registry admin rotate-key --data /srv/rye"},
		Codes:    []diag.Code{diag.Conflict, diag.LogProof},
		Flags:    []cli.Flag{cli.String(&o.dir, "data", dataUsage)},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := params(c, o.dir, "")
			if err != nil {
				return err
			}
			key, err := server.RotateKey(ctx, p)
			if err != nil {
				return err
			}
			return c.UI.Report(
				nil,
				map[string]string{"key": key},
				nil,
				func() { c.UI.Out("key of the log: %s", key) },
			)
		},
	}
}
