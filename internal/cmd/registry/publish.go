package registry

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/client"
	"github.com/ryeos/rye/registry/publish"
	"github.com/ryeos/rye/registry/wire"
)

// registryPublishOptions are the flags of rye registry publish.
type registryPublishOptions struct {
	as, key  string
	prepared string
	dryRun   bool
}

// writeCodes are the codes of a change that a registry refuses.
func writeCodes(more ...diag.Code) []diag.Code {
	return env.RegistryCodes(append(
		more,
		diag.AuthFailed,
		diag.AuthRequired,
		diag.ValidationFailed,
		diag.LimitExceeded,
		diag.VersionNotFound,
		diag.Scope,
	)...)
}

func registryPublishCommand() *cli.Command {
	var o registryPublishOptions
	return &cli.Command{
		Name:  "publish",
		Usage: "publish the bundle of a directory",
		Args:  "[DIR]",
		Long: `Packs the bundle in DIR, which is the project by default, and sends it with a statement
that your release key signs. The version comes from the signed manifest (rye bundle
create), the name from its signed rye.yaml: name: registry:HOST/NS/NAME. Clients
refuse a bundle under another name; --as only names the one that you expect. The registry verifies every signature,
file and item, writes the release into its log and answers with a proof, which rye
verifies. A version is published once; its number is never used again. --dry-run runs
the checks of the registry here, by what it serves, and sends nothing.

--prepared publishes what an agent packed with rye/core/registry/registry. Everything is
read from the archive and checked again; review it with --dry-run first. At a terminal
rye shows the files and asks you before it signs.`,
		Examples: []string{
			"rye registry publish --dry-run",
			"rye registry publish --prepared 9f2c01ab34cd56ef78900112233445ff --dry-run  # what an agent prepared",
			"rye registry publish ./tools --as registry:rye.acme.io/acme.io/tools",
		},
		Codes: writeCodes(diag.Unsigned, diag.VersionMismatch, diag.TooLarge, diag.ApprovalDenied),
		Flags: []cli.Flag{
			cli.String(&o.as, "as", "refuse a bundle that rye.yaml does not name this `ID`: registry:HOST/NS/NAME"),
			cli.Bool(&o.dryRun, "dry-run", "run the checks of the registry here, show what would be sent and send nothing"),
			cli.String(&o.prepared, "prepared", "publish the bundle that an agent prepared under this `ID`"),
			cli.String(&o.key, "key", env.KeyUsage),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runRegistryPublish(ctx, c, &o)
		},
	}
}

func runRegistryPublish(ctx context.Context, c *cli.Call, o *registryPublishOptions) error {
	e := env.WithKey(c, o.key)
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	dir := h.Spaces.ProjectDir
	if c.Arg(0) != "" || dir == "" {
		dir = c.Path(c.Arg(0))
	}
	as := o.as
	if as != "" {
		if as, err = deps.FullRegistryID(e, as); err != nil {
			return err
		}
	}
	b, err := packedBundle(ctx, c, h, o, dir, as)
	if err != nil {
		return err
	}
	return publishPacked(ctx, c, h, b, o.dryRun)
}

// publishPacked publishes a packed bundle, or shows what the registry would answer.
func publishPacked(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	b *publish.PackedBundle,
	dryRun bool,
) error {
	if dryRun {
		note, err := publish.JudgeBundle(ctx, h, b)
		if note != "" {
			c.UI.Note("%s", note)
		}
		if err != nil {
			return err
		}
		return c.UI.Show(b, func() {
			c.UI.Out(
				"would publish %s %s: %s, %d bytes",
				b.Full(),
				b.Version,
				cli.Plural(len(b.Files), "file"),
				b.Bytes,
			)
			for f := range strings.SplitSeq(shownFiles(b), "\n") {
				c.UI.Out("  %s", f)
			}
			c.UI.Out("archive   %s", b.Archive)
			c.UI.Out("sum       %s", b.Sum)
			c.UI.Out("signed by %s", strings.Join(b.Signers, ", "))
		})
	}
	r, err := publish.PublishBundle(ctx, h, b)
	if err != nil {
		return err
	}
	return c.UI.Show(r, func() {
		c.UI.Out("published %s %s, log entry %d", b.Full(), b.Version, r.Log)
	})
}

// packedBundle returns the bundle that is published: the one that an agent prepared, or the
// bundle in a directory.
func packedBundle(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *registryPublishOptions,
	dir, as string,
) (*publish.PackedBundle, error) {
	if o.prepared == "" {
		return publish.PackBundle(ctx, h, dir, as)
	}
	if c.Arg(0) != "" || as != "" {
		return nil, diag.New(diag.Usage, "publishing a prepared bundle: --prepared names it whole, so DIR and --as have no meaning")
	}
	return publish.PreparedBundle(ctx, h, o.prepared, func(b *publish.PackedBundle) error {
		return reviewPrepared(c, b, o.dryRun)
	})
}

// maxShownFiles is the number of files of a bundle in the output for people.
const maxShownFiles = 100

// shownFiles returns the files of a bundle, one a line.
func shownFiles(b *publish.PackedBundle) string {
	list := b.Files
	if more := len(list) - maxShownFiles; more > 0 {
		list = append(list[:maxShownFiles:maxShownFiles], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "\n")
}

// reviewPrepared shows what an agent prepared, before a key signs it. At a terminal the user
// is asked.
func reviewPrepared(c *cli.Call, b *publish.PackedBundle, dryRun bool) error {
	if dryRun {
		return nil // which shows it and sends nothing
	}
	c.UI.Note(
		"An agent prepared %s %s, %s:",
		b.Full(),
		b.Version,
		cli.Plural(len(b.Files), "file"),
	)
	for f := range strings.SplitSeq(shownFiles(b), "\n") {
		c.UI.Note("  %s", f)
	}
	if c.UI.AsJSON || !c.Isatty(c.Stdin) {
		return nil
	}
	yes, err := c.Confirm("Sign and publish it?")
	if err == nil && !yes {
		err = diag.New(diag.ApprovalDenied, "publishing the prepared bundle %s %s: you refused it", b.Full(), b.Version)
	}
	return err
}

// registryPushOptions are the flags of rye registry push.
type registryPushOptions struct {
	as, host, namespace, version, key string
	dryRun                            bool
}

func registryPushCommand() *cli.Command {
	var o registryPushOptions
	return &cli.Command{
		Name:  "push",
		Usage: "publish one item as a bundle",
		Args:  "REF",
		Long: `Packs an item of the project as a bundle with one item and publishes it, as rye registry
publish does. tool:gh/issue becomes NS/tool.gh.issue in the version of the item. The item
must be signed; its bundle also has the signed files in the folder of a tool that are not
items, and requires the bundles that the item needs. An item that needs another item of
the project is refused: publish a bundle of both. Your release key signs the manifest,
which is not written into the project, also with --dry-run.`,
		Examples: []string{
			"rye registry push tool:gh/issue --dry-run",
			"rye registry push tool:gh/issue --registry rye.acme.io --namespace acme.io",
			"rye registry push tool:gh/issue --as registry:rye.acme.io/acme.io/issue --version 1.2.0",
		},
		Codes: writeCodes(diag.Unsigned, diag.VersionMismatch, diag.TooLarge, diag.ToolNotFound, diag.ItemNotFound),
		Flags: []cli.Flag{
			cli.String(&o.as, "as", "publish it as this `ID`: registry:HOST/NS/NAME"),
			cli.String(&o.host, "registry", "`HOST` of the registry (default: the default registry, or the only pinned one)"),
			cli.String(&o.namespace, "namespace", "`NS` of the bundle (default: the only one that you bound there)"),
			cli.String(&o.version, "version", "semantic `VERSION` (default: the version of the item)"),
			cli.Bool(&o.dryRun, "dry-run", "run the checks of the registry here, show what would be sent and send nothing"),
			cli.String(&o.key, "key", env.KeyUsage),
		},
		Complete: complete.Items(item.Tool, item.Directive, item.Knowledge),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runRegistryPush(ctx, c, &o)
		},
	}
}

func runRegistryPush(ctx context.Context, c *cli.Call, o *registryPushOptions) error {
	h, err := env.WithKey(c, o.key).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	ref, err := h.Resolver.Ref(ctx, c.Arg(0))
	if err != nil {
		return err
	}
	b, err := publish.PackItem(ctx, h, publish.ItemBundle{
		Ref:       ref,
		As:        o.as,
		Host:      o.host,
		Namespace: o.namespace,
		Version:   o.version,
	})
	if err != nil {
		return err
	}
	return publishPacked(ctx, c, h, b, o.dryRun)
}

// registryStateCommands are the commands that change the state of a published version.
func registryStateCommands() []*cli.Command {
	return []*cli.Command{
		registryStateCommand(wire.ActionYank, "keep a version from being selected by new projects", `Projects that locked the version keep it. rye registry unyank undoes it.`),
		registryStateCommand(wire.ActionUnyank, "permit a yanked version again", ""),
		registryStateCommand(wire.ActionUnlist, "hide a version from searches and from latest", `The version is selected only by its exact number. rye registry relist undoes it.`),
		registryStateCommand(wire.ActionRelist, "list an unlisted version again", ""),
		registryStateCommand(wire.ActionDelete, "delete a version for good", `The archive is removed; the log entry and the index line stay, and the number is never
used again. Copies that are installed, vendored or in a cache stay usable. You can
delete within 72 hours of publishing, while no listed version requires it; after that
only the operator can.`),
	}
}

func registryStateCommand(action, usage, long string) *cli.Command {
	var reason, key string
	return &cli.Command{
		Name:     action,
		Usage:    usage,
		Args:     "ID VERSION",
		Long:     long,
		Examples: []string{"rye registry " + action + " registry:rye.acme.io/acme.io/tools v1.2.0 --reason 'loses data'"},
		Codes:    writeCodes(),
		Flags: []cli.Flag{
			cli.String(&reason, "reason", "one line of `TEXT`, which the log and the index state"),
			cli.String(&key, "key", env.KeyUsage),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.WithKey(c, key).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			r, err := publish.SetReleaseState(
				ctx,
				h,
				action,
				c.Arg(0),
				c.Arg(1),
				reason,
			)
			if err != nil {
				return err
			}
			return c.UI.Show(r, func() {
				c.UI.Out("%s: registry:%s/%s %s, log entry %d", action, r.Host, r.ID, r.Version, r.Log)
			})
		},
	}
}

func registryRevokeCommand() *cli.Command {
	var namespace, key string
	return &cli.Command{
		Name:  "revoke",
		Usage: "send a revocation to a registry",
		Args:  "HOST FILE",
		Long: `FILE is the trust document that rye bundle revoke or rye key revoke wrote. A key of the
namespace must have signed it. The registry serves it, and every user who resolves a
bundle of the namespace reads it, verifies it and remembers it.`,
		Examples: []string{"rye registry revoke rye.acme.io release-revocation.toml --namespace acme.io"},
		Codes:    writeCodes(diag.FileSystemError),
		Flags: []cli.Flag{
			cli.String(&namespace, "namespace", "`NS` of the key or release"),
			cli.String(&key, "key", env.KeyUsage),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.WithKey(c, key).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			r, err := publish.SendRevocation(
				ctx,
				h,
				c.Arg(0),
				namespace,
				c.Arg(1),
			)
			if err != nil {
				return err
			}
			return c.UI.Show(r, func() {
				c.UI.Out("revoked in %s at %s, log entry %d", namespace, r.Host, r.Log)
			})
		},
	}
}

// registryLoginOptions are the flags of rye registry login.
type registryLoginOptions struct{ namespace, method, token, key string }

func registryLoginCommand() *cli.Command {
	var o registryLoginOptions
	return &cli.Command{
		Name:  "login",
		Usage: "bind your release key to a namespace",
		Args:  "HOST",
		Long: `There are no accounts: a namespace belongs to keys. A namespace with a dot is a DNS name;
its owner proves it by a TXT record (--method dns) or a file on its host (--method
well-known). Without --method rye prints both, for you to publish one. ALIAS~OWNER is
proven by an ID token of the issuer ALIAS (--method oidc): rye shows a code that you enter
at the issuer (RFC 8628), or reads the token of a CI job from --token-file. Others are
granted by the operator. A binding is an entry of the log and lasts one year; repeating
the proof renews it.`,
		Examples: []string{
			"rye registry login rye.acme.io --namespace acme.io",
			"rye registry login rye.acme.io --namespace acme.io --method dns",
			"rye registry login rye.acme.io --namespace github~acme --method oidc",
			"rye registry login rye.acme.io --namespace github~acme --method oidc --token-file token",
		},
		Codes: writeCodes(diag.FileSystemError),
		Flags: []cli.Flag{
			cli.String(&o.namespace, "namespace", "`NS` that the key is bound to"),
			cli.String(&o.method, "method", "what proves it: `METHOD` dns, well-known or oidc").OneOf("dns", "well-known", "oidc"),
			cli.String(&o.token, "token-file", "`FILE` with the ID token of oidc (default: ask the issuer)"),
			cli.String(&o.key, "key", env.KeyUsage),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runRegistryLogin(ctx, c, &o)
		},
	}
}

func runRegistryLogin(ctx context.Context, c *cli.Call, o *registryLoginOptions) error {
	h, err := env.WithKey(c, o.key).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	if err := wire.CheckNamespace(o.namespace); err != nil {
		return err
	}
	if o.method == "" {
		return showProofs(ctx, c, h, o.namespace)
	}
	proof := publish.RegistryProof{Method: o.method}
	if o.token != "" {
		b, err := openat.ReadBounded(c.Path(o.token), openat.MaxText)
		if err != nil {
			return diag.New(diag.FileSystemError, "reading the token: %w", err)
		}
		proof.Token = strings.TrimSpace(string(b))
	} else if o.method == wire.MethodOIDC {
		proof.Token, err = publish.DeviceToken(ctx, h, c.Arg(0), o.namespace, func(d client.DeviceCode) {
			c.UI.Note("Registry %s asks its issuer %s who you are.", c.Arg(0), d.Issuer)
			c.UI.Note(
				"Open %s and enter the code %s until %s.",
				d.URI,
				d.Code,
				d.Expires.Local().Format(time.TimeOnly),
			)
			// Another registry, or an attacker in its name, could pass on the code of an application.
			c.UI.Note("Refuse if the page names another application than %s.", c.Arg(0))
		})
		if err != nil {
			return err
		}
	}
	b, err := publish.BindNamespace(ctx, h, c.Arg(0), o.namespace, proof)
	if err != nil {
		return err
	}
	return c.UI.Show(b, func() {
		c.UI.Out("%s is a key of %s at %s, log entry %d", b.Key, b.Namespace, b.Host, b.Log)
	})
}

// showProofs prints what the owner of a namespace publishes.
func showProofs(ctx context.Context, c *cli.Call, h *project.Project, ns string) error {
	key, txt, file, err := publish.BindingKey(ctx, h)
	if err != nil {
		return err
	}
	return c.UI.Show(
		map[string]any{
			"key":        key,
			"dns":        txt,
			"well_known": file,
			"form":       wire.NamespaceForm(ns),
		},
		func() {
			switch wire.NamespaceForm(ns) {
			case wire.FormDNS:
				c.UI.Out("Publish one of these, then repeat the command with --method:")
				c.UI.Out("dns         TXT record %s%s = %q", wire.DNSPrefix, ns, txt)
				c.UI.Out("well-known  https://%s%s = %s", ns, wire.WellKnownPath, file)
			case wire.FormOIDC:
				c.UI.Out("Repeat the command with --method oidc, in a job of CI with --token-file FILE.")
			default:
				c.UI.Out("Only the operator of the registry grants %s. Send your key document (rye key export); your key is %s.", ns, key)
			}
		},
	)
}

// registryKeyCommands are the commands by which a key of a namespace changes its keys.
func registryKeyCommands() []*cli.Command {
	return []*cli.Command{
		registryKeyCommand("key-add", "add a key to a namespace", "FILE",
			`FILE is the key document, which rye key export writes; the key needs the use release. Your
key signs, and the new one is bound as long as yours: only a proof of the namespace makes
a binding longer.`, func(ctx context.Context, p *project.Project, host, ns, file string) (*publish.RegistryChange, error) {
				return publish.AddNamespaceKey(ctx, p, host, ns, file)
			}),
		registryKeyCommand("key-remove", "remove a key from a namespace", "KEY",
			`KEY is a fingerprint. What the key published stays. The last key that may publish cannot
be removed.`, func(ctx context.Context, p *project.Project, host, ns, file string) (*publish.RegistryChange, error) {
				return publish.RemoveNamespaceKey(ctx, p, host, ns, file)
			}),
	}
}

func registryKeyCommand(
	name, usage, arg, long string,
	change func(ctx context.Context, p *project.Project, host, ns, arg string) (*publish.RegistryChange, error),
) *cli.Command {
	var namespace, key string
	example := map[string]string{"FILE": "leo.toml", "KEY": "b600306c…"}[arg]
	return &cli.Command{
		Name:     name,
		Usage:    usage,
		Args:     "HOST " + arg,
		Long:     long,
		Examples: []string{"rye registry " + name + " rye.acme.io " + example + " --namespace acme.io"},
		Codes:    writeCodes(diag.FileSystemError),
		Flags: []cli.Flag{
			cli.String(&namespace, "namespace", "`NS` whose keys change"),
			cli.String(&key, "key", env.KeyUsage),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.WithKey(c, key).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			r, err := change(ctx, h, c.Arg(0), namespace, c.Arg(1))
			if err != nil {
				return err
			}
			return c.UI.Show(r, func() {
				c.UI.Out("%s: %s at %s, log entry %d", name, namespace, r.Host, r.Log)
			})
		},
	}
}

func registryLogoutCommand() *cli.Command {
	return &cli.Command{
		Name:     "logout",
		Usage:    "forget the namespaces that this account bound",
		Args:     "HOST",
		Long:     `Nothing at the registry changes: a key is removed from a namespace by another key of it.`,
		Examples: []string{"rye registry logout rye.acme.io"},
		Codes:    []diag.Code{diag.KeyUnknown, diag.FileSystemError},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			err = publish.ForgetBindings(h, c.Arg(0))
			if err != nil {
				return err
			}
			return c.UI.Show(
				map[string]any{"host": c.Arg(0)},
				func() {
					c.UI.Out("forgot the namespaces at %s", c.Arg(0))
				},
			)
		},
	}
}

func registryWhoamiCommand() *cli.Command {
	var namespaces []string
	return &cli.Command{
		Name:  "whoami",
		Usage: "show the keys of your namespaces",
		Args:  "HOST",
		Long: `Shows the keys of the namespaces that this account bound, or of those that --namespace
names, each with the log entry that bound it, which rye verifies.`,
		Examples: []string{"rye registry whoami rye.acme.io", "rye registry whoami rye.acme.io --namespace acme.io"},
		Codes:    env.RegistryCodes(),
		Flags:    []cli.Flag{cli.Strings(&namespaces, "namespace", "`NS` to show")},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			host := c.Arg(0)
			if len(namespaces) == 0 {
				for _, b := range publish.RegistryBindings(h, host) {
					namespaces = append(namespaces, b.Namespace)
				}
			}
			list := []*publish.RegistryKeys{}
			for _, ns := range namespaces {
				k, err := publish.NamespaceKeys(ctx, h, host, ns)
				if err != nil {
					return err
				}
				list = append(list, k)
			}
			return c.UI.Show(
				map[string]any{"host": host, "namespaces": list},
				func() {
					showNamespaces(c.UI, host, list, h.Env.Now())
				},
			)
		},
	}
}

func showNamespaces(u *cli.UI, host string, list []*publish.RegistryKeys, now time.Time) {
	if len(list) == 0 {
		u.Out("this account bound no namespace at %s; --namespace NS shows any other", host)
		return
	}
	for _, n := range list {
		u.Out("%s", n.Namespace)
		for _, k := range n.Keys {
			state := "until " + k.Until
			switch from, err := wire.ParseTime(k.From); {
			case k.Removed != nil:
				state = "removed"
			case err == nil && now.Before(from):
				state = "from " + k.From + " " + state
			}
			u.Out("  %s  by %s, log entry %d, %s", k.Key, k.Method, k.Log, state)
		}
	}
}
