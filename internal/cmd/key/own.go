package key

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/keychain"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func keyListCommand() *cli.Command {
	return &cli.Command{
		Name:     "list",
		Usage:    "list your own keys",
		Examples: []string{"rye key list"},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			keys := []ownKey{}
			chosen := h.Keys.DefaultKey()
			for _, k := range h.Trust.Keys() {
				if k.Own {
					keys = append(keys, ownKey{k, keyPath(h, k.Fingerprint), k.DaysLeft(c.Now()), k.Fingerprint == chosen})
				}
			}
			return c.UI.Show(
				map[string]any{"keys": keys},
				func() { showOwnKeys(c.UI, keys) },
			)
		},
	}
}

type ownKey struct {
	trust.KeyInfo
	File    string `json:"file,omitempty"`
	Days    int    `json:"days_left"`
	Default bool   `json:"default"`
}

func keyUseCommand() *cli.Command {
	return &cli.Command{
		Name:  "use",
		Usage: "make a key the default",
		Args:  "KEY",
		Long: `KEY is a fingerprint, the beginning of one, or an owner. Commands that sign use
--key, else RYE_KEY_FILE, else the default key, else your only key with the needed use.`,
		Examples: []string{"rye key use 4f3a", "rye key use leo"},
		Codes:    []diag.Code{diag.AuthRequired},
		Complete: complete.Keys(true),
		Run: func(ctx context.Context, c *cli.Call) error {
			h, fp, err := namedKey(ctx, c)
			if err != nil {
				return err
			}
			at, err := h.Keys.SetDefaultKey(fp)
			if err != nil {
				return err
			}
			return c.UI.Show(
				map[string]any{"fingerprint": fp, "file": at},
				func() {
					c.UI.Out("default key %s", fp.String())
				},
			)
		},
	}
}

// namedKey returns the own key that the first argument names.
func namedKey(ctx context.Context, c *cli.Call) (*project.Project, sign.Fingerprint, error) {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return nil, sign.Fingerprint{}, err
	}
	fp, err := h.Keys.OwnKey(c.Arg(0))
	return h, fp, err
}

// keyPath returns where a private key is, "" if it is not on this machine.
func keyPath(h *project.Project, fp sign.Fingerprint) string {
	_, err := os.Lstat(h.Keys.KeyFile(fp))
	if err != nil {
		return ""
	}
	return h.Keys.KeyPath(fp)
}

func showOwnKeys(u *cli.UI, keys []ownKey) {
	if len(keys) == 0 {
		u.Note("You have no key of your own; rye key new makes one.")
		return
	}
	t := cli.NewTable("keys")
	for _, k := range keys {
		state := string(k.State)
		if k.Default {
			state += ", default"
		}
		t.Add(
			k.Fingerprint.Short(),
			k.Owner,
			state,
			k.NotAfter.Format(time.DateOnly),
			strconv.Itoa(k.Days),
			k.Scope.String(),
			k.File,
		)
	}
	u.Table(t)
}

func keyExportCommand() *cli.Command {
	return &cli.Command{
		Name:     "export",
		Usage:    "print the trust document of a key, for other people",
		Args:     "[KEY]",
		Long:     "KEY is a fingerprint, the beginning of one, or an owner. The document is not secret.",
		Examples: []string{"rye key export > leo.toml", "rye trust add leo.toml --kinds tool --namespaces 'leo/**'  # what others do with it"},
		Codes:    []diag.Code{diag.AuthRequired},
		Complete: complete.Keys(true),
		Run: func(ctx context.Context, c *cli.Call) error {
			h, fp, err := namedKey(ctx, c)
			if err != nil {
				return err
			}
			documents := h.Trust.Documents(fp)
			if len(documents) == 0 {
				return diag.New(diag.KeyUnknown, "exporting key %s: it has no trust document", fp.Short())
			}
			d := documents[0]
			b, err := openat.ReadRegular(d.Path, doc.MaxDocument)
			if err != nil {
				return diag.New(diag.FileSystemError, "reading the trust document: %w", err)
			}
			return c.UI.Show(
				map[string]any{"name": filepath.Base(d.Path), "document": string(b)},
				func() { c.UI.Text(string(b)) },
			)
		},
	}
}

// agentAddOptions are the flags of rye key agent-add.
type agentAddOptions struct {
	life    string
	confirm bool
}

func keyAgentAddCommand() *cli.Command {
	var o agentAddOptions
	return &cli.Command{
		Name:  "agent-add",
		Usage: "add a key to the ssh-agent",
		Args:  "[KEY]",
		Long: `The agent then signs without asking for the passphrase again. SSH_AUTH_SOCK names
its socket.`,
		Examples: []string{"rye key agent-add", "rye key agent-add --for 8h"},
		Codes:    []diag.Code{diag.AuthRequired, diag.AuthFailed},
		Flags: []cli.Flag{
			cli.String(&o.life, "for", "remove the key after `LENGTH`, such as 8h"),
			cli.Bool(&o.confirm, "confirm", "have the agent ask before each signature"),
		},
		Complete: complete.Keys(true),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runKeyAgentAdd(ctx, c, &o)
		},
	}
}

func runKeyAgentAdd(ctx context.Context, c *cli.Call, o *agentAddOptions) error {
	h, fp, err := namedKey(ctx, c)
	if err != nil {
		return err
	}
	var life time.Duration
	if o.life != "" {
		if life, err = keychain.Span(o.life); err != nil {
			return err
		}
	}
	agent, err := sign.DialAgent(ctx, c.Getenv("SSH_AUTH_SOCK"))
	if err != nil {
		return err
	}
	defer agent.Close()
	priv, err := sign.ReadKey(
		h.Keys.KeyFile(fp),
		h.Keys.Passphrase("Passphrase of key "+fp.Short()+": "),
	)
	if err != nil {
		return err
	}
	defer clear(priv)
	err = agent.Add(ctx, priv, "rye "+fp.Short(), life, o.confirm)
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"fingerprint": fp.String()}, func() {
		c.UI.Out("%s", fmt.Sprintf("the agent holds key %s", fp.Short()))
	})
}
