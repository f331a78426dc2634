package registry

import (
	"context"
	"slices"
	"strconv"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/trust/doc"
)

// Command returns the commands for registries.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "registry",
		Group: env.PackagesGroup,
		Usage: "use and serve registries of bundles, and publish to them",
		Subs: slices.Concat([]*cli.Command{
			registryAddCommand(), registryListCommand(), registryUseCommand(), registryRemoveCommand(), registryForgiveCommand(),
			registrySearchCommand(), registryInfoCommand(), registryPullCommand(), registryMonitorCommand(), registryVerifyCommand(),
			registryLoginCommand(), registryLogoutCommand(), registryWhoamiCommand(), registryPublishCommand(), registryPushCommand(),
		}, registryKeyCommands(), registryStateCommands(), []*cli.Command{registryRevokeCommand()}, cli.Delegated(registryServerRows())),
	}
}

// registryServerRows are the commands of rye-server, as the help lists them.
func registryServerRows() []cli.Row {
	return []cli.Row{
		{Name: "serve", Usage: "serve a registry: static files, the API and web pages"},
		{Name: "export", Usage: "write the static files of a registry into a directory"},
		{Name: "import", Usage: "make a registry from static files and the key of their log"},
		{Name: "witness", Usage: "sign checkpoints of registries that keep their history"},
		{Name: "admin", Usage: "operate a registry on this machine"},
	}
}

// registryAddOptions are the flags of rye registry add.
type registryAddOptions struct {
	logKey    string
	addresses []string
	witnesses []string
	quorum    int
	key       string
}

func registryAddCommand() *cli.Command {
	var o registryAddOptions
	return &cli.Command{
		Name:  "add",
		Usage: "pin the log key of a registry",
		Args:  "HOST",
		Long: `A registry writes everything that it publishes into a log, and signs the state of the log
with its key. rye believes the log only with the key that you pin here, and compares every
later state with those that it saw. Without --log-key rye shows the key that the registry
names and asks: compare it with a second source, for example the operator's site.

--url names another address than https://HOST; given several times, rye tries them in
order, so that a mirror can answer. --witness and --quorum demand that other parties have
signed each state, too.`,
		Examples: []string{
			"rye registry add rye.acme.io",
			"rye registry add rye.acme.io --log-key rye.acme.io+1c8f6a2e+AX…",
			"rye registry add rye.acme.io --url https://rye.acme.io --url https://mirror.example/rye",
		},
		Codes: env.RegistryCodes(diag.AuthRequired, diag.ApprovalDenied),
		Flags: []cli.Flag{
			cli.String(&o.logKey, "log-key", "the `KEY` of the log: NAME+HASH+KEY"),
			cli.Strings(&o.addresses, "url", "`URL` of the registry or of a mirror (default https://HOST)"),
			cli.Strings(&o.witnesses, "witness", "`KEY` of a witness: NAME+HASH+KEY"),
			cli.Int(&o.quorum, "quorum", "witnesses that must have signed, as a `NUMBER` (default 0)"),
			cli.String(&o.key, "key", env.KeyUsage),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runRegistryAdd(ctx, c, &o)
		},
	}
}

func runRegistryAdd(ctx context.Context, c *cli.Call, o *registryAddOptions) error {
	host := c.Arg(0)
	h, err := env.WithKey(c, o.key).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	if o.logKey == "" {
		offer, err := deps.OfferRegistry(ctx, h, host, o.addresses)
		if err != nil {
			return err
		}
		if err := confirmRegistry(c, offer); err != nil {
			return err
		}
		o.logKey = offer.Key
	}
	at, err := deps.PinRegistry(ctx, h, doc.RegistryParams{
		Host:      host,
		LogKey:    o.logKey,
		Addresses: o.addresses,
		Witnesses: o.witnesses,
		Quorum:    o.quorum,
	})
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"host": host, "key": o.logKey, "pin": at}, func() {
		c.UI.Out("registry %s is pinned with log key %s", host, o.logKey)
		c.UI.Out("pin %s", at)
	})
}

// confirmRegistry shows the log key that a registry names, and asks.
func confirmRegistry(c *cli.Call, offer deps.OfferedRegistry) error {
	if c.UI.AsJSON || !c.Isatty(c.Stdin) {
		return diag.New(diag.ConsentRequired, "adding registry %s: a person confirms its log key, and this process has no terminal", offer.Host).
			WithReason("registry_log_key").
			WithDetail("host", offer.Host).
			WithDetail("found", offer.Key)
	}
	c.UI.Note("registry  %s", offer.Host)
	c.UI.Note("log key   %s", offer.Key)
	c.UI.Note("Compare the key with a second source, for example the operator's site.")
	return ask.Confirm(c, "Believe what this key signs about "+offer.Host+"?")
}

func registryListCommand() *cli.Command {
	return &cli.Command{
		Name:     "list",
		Usage:    "list the registries that you pinned",
		Examples: []string{"rye registry list"},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			list, err := deps.PinnedRegistries(h)
			if err != nil {
				return err
			}
			return c.UI.Show(
				map[string]any{"registries": list},
				func() { showRegistries(c.UI, list) },
			)
		},
	}
}

func showRegistries(u *cli.UI, list []deps.PinnedRegistry) {
	if len(list) == 0 {
		u.Out("no registry is pinned; rye registry add HOST pins one")
		return
	}
	t := cli.NewTable("registries")
	for _, r := range list {
		state := "in use"
		switch {
		case len(r.Evidence) > 0:
			state = "refused: it signed two histories"
		case r.Default:
			state = "default"
		}
		t.Add(
			r.Host,
			r.Key,
			strconv.Itoa(r.Quorum)+" of "+strconv.Itoa(r.Witnesses),
			state,
		)
	}
	u.Table(t)
	for _, r := range list {
		for _, dir := range r.Evidence {
			u.Out("evidence  %s", dir)
		}
	}
}

func registryUseCommand() *cli.Command {
	return &cli.Command{
		Name:  "use",
		Usage: "make a registry the default",
		Args:  "HOST",
		Long: `With a default registry, registry:NS/NAME on the command line means registry:HOST/NS/NAME.
Files always have the whole id, so that no default changes what a project uses.`,
		Examples: []string{"rye registry use rye.acme.io"},
		Codes:    []diag.Code{diag.KeyUnknown, diag.FileSystemError},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			at, err := deps.UseRegistry(h, c.Arg(0))
			if err != nil {
				return err
			}
			return c.UI.Show(
				map[string]any{"host": c.Arg(0), "file": at},
				func() {
					c.UI.Out("registry:NS/NAME means registry:%s/NS/NAME", c.Arg(0))
				},
			)
		},
	}
}

func registryRemoveCommand() *cli.Command {
	return &cli.Command{
		Name:  "remove",
		Usage: "remove the pin of a registry",
		Args:  "HOST",
		Long: `Removes the pinned log key and what this account knows of the log. The next rye registry
add is a first contact again. Bundles that are installed, locked and in the cache stay
usable. Evidence against the registry stays.`,
		Examples: []string{"rye registry remove rye.acme.io"},
		Codes:    []diag.Code{diag.KeyUnknown, diag.FileSystemError},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			if err := deps.UnpinRegistry(h, c.Arg(0)); err != nil {
				return err
			}
			return c.UI.Show(
				map[string]any{"host": c.Arg(0)},
				func() {
					c.UI.Out("registry %s is not pinned any more", c.Arg(0))
				},
			)
		},
	}
}

func registryForgiveCommand() *cli.Command {
	var evidence string
	return &cli.Command{
		Name:  "forgive",
		Usage: "use a registry that signed two histories again",
		Args:  "HOST",
		Long: `rye stops using a registry whose key signed two histories of the log, and keeps the
evidence. After you have found out why, name the directory of the evidence. rye moves it
away and forgets the states of the log that this account saw; locks keep theirs, and the
log must still contain those.`,
		Examples: []string{"rye registry forgive rye.acme.io --evidence ~/.local/state/rye/registry/rye.acme.io/equivocation/20261122T100000Z"},
		Codes:    []diag.Code{diag.FileSystemError},
		Flags:    []cli.Flag{cli.String(&evidence, "evidence", "`DIR` of the evidence that you have read")},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			at, err := deps.ForgiveRegistry(h, c.Arg(0), c.Path(evidence))
			if err != nil {
				return err
			}
			return c.UI.Show(map[string]any{"host": c.Arg(0), "evidence": at}, func() {
				c.UI.Out("registry %s is used again; the evidence is in %s", c.Arg(0), at)
			})
		},
	}
}
