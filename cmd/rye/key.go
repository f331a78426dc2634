package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

func keyCommand() *command {
	return &command{
		name: "key", group: "Trust",
		usage: "make and manage your own keys",
		subs:  []*command{keyNewCommand(), keyListCommand(), keyExportCommand(), keyRotateCommand(), keyRevokeCommand(), keyAgentAddCommand(), keyLogCommand()},
	}
}

// The sorts of keys that rye key new makes.
const (
	keyUser      = "user"
	keyPublisher = "publisher"
	keyAgent     = "agent"
)

func keyNewCommand() *command {
	return &command{
		name:  "new",
		usage: "make a key pair and trust it as your own",
		long: `Writes the private key, encrypted with a passphrase, its trust document, a grant
that makes it your own, and a revocation certificate to keep offline. A user key
signs every kind of item; a publisher key signs releases of bundles; an agent
key signs only below drafts/.`,
		examples: []string{
			"rye key new --owner leo",
			"rye key new --owner ci --no-passphrase --expires 90d  # for a machine without a person",
		},
		codes: []diag.Code{diag.AuthRequired, diag.FileSystemError},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "owner", Usage: "`NAME` that others see beside the key"},
			&cli.StringFlag{Name: "expires", Value: "1y", Usage: "`LENGTH` of validity, such as 90d or 1y, at most 3y"},
			&cli.StringFlag{Name: "kind", Value: keyUser, Usage: "user, publisher or agent"},
			&cli.StringSliceFlag{Name: "may", Usage: "`USES` besides signing: sign, release, endorse, rotate, revoke, provider (all it may, separated by commas)"},
			&cli.BoolFlag{Name: "no-passphrase", Usage: "write the private key unencrypted"},
		},
		run: runKeyNew,
	}
}

func keyScope(kind string) (trust.Scope, error) {
	all := trust.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}}
	switch kind {
	case keyUser:
		all.May = []string{"sign", "release"}
	case keyPublisher:
		all.May = []string{"release"}
	case keyAgent:
		all.Namespaces, all.May = []string{"drafts/**"}, []string{"sign"}
	default:
		return all, diag.New(diag.Usage, "making a key: kind %q is not user, publisher or agent", kind)
	}
	return all, nil
}

// newKey is what a finished rye key new shows.
type newKey struct {
	Fingerprint string    `json:"fingerprint"`
	Owner       string    `json:"owner"`
	Kind        string    `json:"kind"`
	File        string    `json:"file"`
	Document    string    `json:"document"`
	Revocation  string    `json:"revocation"`
	NotAfter    time.Time `json:"not_after"`
	Encrypted   bool      `json:"encrypted"`
}

func runKeyNew(ctx context.Context, c *call) error {
	h, err := c.house(ctx, lenient)
	if err != nil {
		return err
	}
	k, err := c.makeKeyOf(ctx, h, c.str("kind"), c.str("expires"))
	if err != nil {
		return err
	}
	return c.ui.Show(k, func() {
		c.ui.Out("key         %s", k.Fingerprint)
		c.ui.Out("owner       %s", k.Owner)
		c.ui.Out("valid until %s", k.NotAfter.Format(time.DateOnly))
		c.ui.Out("private key %s", k.File)
		c.ui.Out("document    %s", k.Document)
		c.ui.Out("revocation  %s", k.Revocation)
		c.ui.Note("Move the revocation certificate to a place offline: whoever has it can end this key.")
	})
}

// makeKeyOf makes a key of that kind and everything that belongs to it.
func (c *call) makeKeyOf(ctx context.Context, h *house, kind, expires string) (*newKey, error) {
	scope, err := keyScope(kind)
	if err != nil {
		return nil, err
	}
	if may := c.listFlag("may"); len(may) > 0 {
		scope.May = may
	}
	made, err := c.prepareKey(ctx, h, newKey{Owner: c.owner(), Kind: kind}, scope, expires)
	if err != nil {
		return nil, err
	}
	defer made.wipe()
	if err := c.recordDocuments(ctx, h, space.User, made.document, made.grant, made.revocation); err != nil {
		return nil, err
	}
	return &made.newKey, made.write(h)
}

// madeKey is a key that was made and not yet written.
type madeKey struct {
	newKey
	keyFiles
	fingerprint sign.Fingerprint
	signer      sign.Signer
	priv, pass  []byte
}

func (m *madeKey) wipe() { clear(m.priv) }

func (m *madeKey) write(h *house) error { return m.keyFiles.write(&m.newKey, h, m.priv, m.pass) }

// prepareKey makes a key pair and its documents in memory.
func (c *call) prepareKey(ctx context.Context, h *house, k newKey, scope trust.Scope, expires string) (*madeKey, error) {
	length, err := span(expires)
	if err != nil {
		return nil, err
	}
	if h.dirs.Keys() == "" || h.dirs.Trust() == "" {
		return nil, diag.New(diag.FileSystemError, "making a key: the environment names no home folder").WithHint("set HOME")
	}
	m := &madeKey{newKey: k}
	if m.pass, err = c.newPassphrase(); err != nil {
		return nil, err
	}
	priv, err := sign.GenerateKey(c.Rand)
	if err != nil {
		return nil, err
	}
	m.priv, m.signer = priv, sign.NewFileSigner(priv, "memory")
	now := c.Now().UTC().Truncate(time.Second)
	m.NotAfter, m.Encrypted = now.Add(length), m.pass != nil
	if m.keyFiles, err = keyDocuments(ctx, m.signer, &m.newKey, scope, now); err != nil {
		return nil, err
	}
	m.fingerprint = sign.FingerprintOf(m.signer.Public())
	m.Fingerprint, m.File = m.fingerprint.String(), h.keyFile(m.fingerprint)
	m.Document = filepath.Join(h.dirs.Trust(), m.document.Name)
	m.Revocation = filepath.Join(h.dirs.Keys(), m.revocation.Name)
	return m, nil
}

func (c *call) owner() string {
	for _, name := range []string{c.str("owner"), c.Getenv("USER"), c.Getenv("USERNAME")} {
		if name != "" {
			return name
		}
	}
	return "me"
}

// newPassphrase asks twice at a terminal. Without one, --no-passphrase must say
// so, or RYE_PASSPHRASE_FILE supply one.
func (c *call) newPassphrase() ([]byte, error) {
	if c.bool("no-passphrase") {
		return nil, nil
	}
	if c.Getenv(sign.EnvPassphraseFile) != "" {
		return c.passphrase("")()
	}
	if !c.Isatty(c.Stdin) {
		return nil, diag.New(diag.AuthRequired, "making a key: there is no terminal to ask for a passphrase at").
			WithHint("set %s, or write --no-passphrase if the key file is safe as it is", sign.EnvPassphraseFile)
	}
	first, err := c.askSecret("New passphrase: ")
	if err != nil {
		return nil, err
	}
	again, err := c.askSecret("Again: ")
	if err == nil && !bytes.Equal(first, again) {
		err = diag.New(diag.Usage, "making a key: the two passphrases differ").WithHint("run the command again: nothing was made")
	}
	if err == nil && len(first) == 0 {
		err = diag.New(diag.Usage, "making a key: the passphrase is empty").WithHint("write --no-passphrase to make an unencrypted key")
	}
	return first, err
}

type keyFiles struct{ document, grant, revocation trust.File }

func keyDocuments(ctx context.Context, s sign.Signer, k *newKey, scope trust.Scope, now time.Time) (f keyFiles, err error) {
	f.document.Name, f.document.Data, err = trust.NewKeyDocument(ctx, trust.KeyDocParams{
		Owner: k.Owner, NotBefore: now, NotAfter: k.NotAfter, Scope: scope, Now: now}, s)
	if err != nil {
		return f, err
	}
	f.grant.Name, f.grant.Data, err = trust.NewGrant(ctx, trust.GrantParams{
		Document: f.document.Data, NotBefore: now, NotAfter: k.NotAfter, Scope: scope, Now: now}, s)
	if err != nil {
		return f, err
	}
	f.revocation.Name, f.revocation.Data, err = trust.NewRevocation(ctx, trust.RevocationParams{
		Reason: trust.ReasonCompromised, CutOff: now, Now: now}, s)
	return f, err
}

// write puts the private key down first: a key that is trusted but lost would
// be worse than a key file that nobody trusts.
func (f *keyFiles) write(k *newKey, h *house, priv []byte, pass []byte) error {
	if err := sign.WriteKey(k.File, priv, pass); err != nil {
		return err
	}
	if err := atomicfile.Write(k.Revocation, f.revocation.Data, 0o600); err != nil {
		return diag.New(diag.FileSystemError, "writing the revocation certificate: %w", err)
	}
	return trust.AddOwnKey(h.dirs.Trust(), f.document, f.grant)
}

func keyListCommand() *command {
	return &command{
		name: "list", usage: "list your own keys",
		examples: []string{"rye key list"},
		run: func(ctx context.Context, c *call) error {
			h, err := c.house(ctx, lenient)
			if err != nil {
				return err
			}
			keys := []ownKey{}
			for _, k := range h.trust.Keys() {
				if k.Own {
					keys = append(keys, ownKey{k, h.keyPlace(k.Fingerprint)})
				}
			}
			return c.ui.Show(map[string]any{"keys": keys}, func() { c.ui.ownKeys(keys) })
		},
	}
}

type ownKey struct {
	trust.KeyInfo
	File string `json:"file,omitempty"`
}

func (h *house) keyPlace(fp sign.Fingerprint) string {
	if _, err := os.Lstat(h.keyFile(fp)); err != nil {
		return ""
	}
	return h.keyFile(fp)
}

func (u *ui) ownKeys(keys []ownKey) {
	if len(keys) == 0 {
		u.Note("You have no key of your own; rye key new makes one.")
		return
	}
	t := &table{header: []string{"KEY", "OWNER", "STATE", "UNTIL", "SCOPE", "FILE"}}
	for _, k := range keys {
		t.add(k.Fingerprint.Short(), k.Owner, string(k.State), k.NotAfter.Format(time.DateOnly), k.Scope.String(), k.File)
	}
	u.Table(t)
}

func keyExportCommand() *command {
	return &command{
		name: "export", usage: "print the trust document of a key, to give to others", args: "[KEY]",
		long:     "KEY is a fingerprint, the beginning of one, or an owner. The document holds no secret.",
		examples: []string{"rye key export > leo.toml", "rye trust add leo.toml --kinds tool --namespaces 'leo/**'  # what others do with it"},
		codes:    []diag.Code{diag.AuthRequired},
		complete: completeKeys(true),
		run: func(ctx context.Context, c *call) error {
			h, err := c.house(ctx, lenient)
			if err != nil {
				return err
			}
			fp, err := h.ownKey(c.arg(0))
			if err != nil {
				return err
			}
			for _, d := range h.trust.Documents(fp) {
				b, err := os.ReadFile(d.Path)
				if err != nil {
					return diag.New(diag.FileSystemError, "reading the trust document: %w", err)
				}
				return c.ui.Show(map[string]any{"name": filepath.Base(d.Path), "document": string(b)}, func() { c.ui.Text(string(b)) })
			}
			return diag.New(diag.KeyUnknown, "exporting key %s: it has no trust document", fp.Short())
		},
	}
}

func keyAgentAddCommand() *command {
	return &command{
		name: "agent-add", usage: "hand a key to the ssh-agent", args: "[KEY]",
		long: `The agent then signs without asking for the passphrase again. SSH_AUTH_SOCK says
where it listens.`,
		examples: []string{"rye key agent-add", "rye key agent-add --for 8h"},
		codes:    []diag.Code{diag.AuthRequired, diag.AuthFailed},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "for", Usage: "forget the key after `LENGTH`"},
			&cli.BoolFlag{Name: "confirm", Usage: "let the agent ask before each signature"},
		},
		complete: completeKeys(true),
		run:      runKeyAgentAdd,
	}
}

func runKeyAgentAdd(ctx context.Context, c *call) error {
	h, err := c.house(ctx, lenient)
	if err != nil {
		return err
	}
	fp, err := h.ownKey(c.arg(0))
	if err != nil {
		return err
	}
	var life time.Duration
	if text := c.str("for"); text != "" {
		if life, err = span(text); err != nil {
			return err
		}
	}
	agent, err := sign.DialAgent(ctx, c.Getenv("SSH_AUTH_SOCK"))
	if err != nil {
		return err
	}
	defer agent.Close()
	priv, err := sign.ReadKey(h.keyFile(fp), c.passphrase("Passphrase of key "+fp.Short()+": "))
	if err != nil {
		return err
	}
	defer clear(priv)
	if err := agent.Add(ctx, priv, "rye "+fp.Short(), life, c.bool("confirm")); err != nil {
		return err
	}
	return c.ui.Show(map[string]any{"fingerprint": fp.String()}, func() {
		c.ui.Out("%s", fmt.Sprintf("the agent holds key %s", fp.Short()))
	})
}
