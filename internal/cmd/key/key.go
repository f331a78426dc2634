package key

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/keychain"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func Command() *cli.Command {
	return &cli.Command{
		Name:  "key",
		Group: "Trust",
		Usage: "make and manage your own keys",
		Subs: []*cli.Command{
			keyNewCommand(),
			keyListCommand(),
			keyUseCommand(),
			keyExportCommand(),
			keyRotateCommand(),
			keyRevokeCommand(),
			keyAgentAddCommand(),
			keyLogCommand(),
		},
	}
}

// The kinds of keys that rye key new makes.
const (
	KeyUser      = "user"
	keyPublisher = "publisher"
	keyAgent     = "agent"
)

// KeyOptions describe a key to be made; rye key new, rotate and init fill them.
type KeyOptions struct {
	Owner, Expires, Kind string
	ssh                  string // the public key file, or sshAgent
	may                  []string
	NoPassphrase         bool
	Passphrase           []byte // that the user has typed; nil: it is asked for
	ask                  bool   // at a terminal, for what the flags leave out
}

// DefaultExpiry is the validity of a new key.
const DefaultExpiry = "2y"

func keyNewCommand() *cli.Command {
	o := KeyOptions{Expires: DefaultExpiry, Kind: KeyUser, ask: true}
	return &cli.Command{
		Name:  "new",
		Usage: "make a key pair and trust it as your own",
		Long: `Writes the private key, encrypted with a passphrase, its trust document, a grant
that makes it your own, and a revocation certificate to keep offline. A user key
signs every kind of item; a publisher key signs releases of bundles; an agent
key signs only below drafts/. A user key may sign, release and rotate; --may adds
uses. The owner is user.name of git's configuration, else the login name. At
a terminal rye asks for the owner, and whether the key may endorse keys of colleagues.

With --ssh rye makes no key pair: the documents describe an existing Ed25519 key
of ssh. The ssh-agent signs, or rye reads the private key next to FILE.pub; it writes
no copy of that.`,
		Examples: []string{
			"rye key new --owner leo",
			"rye key new --owner ci --no-passphrase --expires 90d  # for a build machine",
			"rye key new --ssh ~/.ssh/id_ed25519.pub",
		},
		Codes: []diag.Code{diag.AuthRequired, diag.AuthFailed, diag.KeyUnknown, diag.FileSystemError},
		Flags: []cli.Flag{
			cli.String(&o.Owner, "owner", "`NAME` that others see next to the key"),
			cli.String(&o.Expires, "expires", "`LENGTH` of validity, such as 90d, at most 3y"),
			cli.String(&o.Kind, "kind", "`KIND` of key: user, publisher or agent").OneOf(KeyUser, keyPublisher, keyAgent),
			cli.Lists(&o.may, "may", "add `USES` to the uses of the kind: "+strings.Join(doc.Uses(), ",")),
			cli.Bool(&o.NoPassphrase, "no-passphrase", "write the private key unencrypted"),
			cli.String(&o.ssh, "ssh", "use the ssh key of `FILE.pub`, or one of the ssh-agent (agent)"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runKeyNew(ctx, c, &o)
		},
	}
}

func keyScope(kind string) (doc.Scope, error) {
	all := doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}}
	switch kind {
	case KeyUser:
		all.May = []string{"sign", "release", "rotate"}
	case keyPublisher:
		all.May = []string{"release", "rotate"}
	case keyAgent:
		all.Namespaces = []string{"drafts/**"}
		all.May = []string{"sign"}
	default:
		return all, diag.New(diag.Usage, "making a key: kind %q is not user, publisher or agent", kind)
	}
	return all, nil
}

// NewKey is the result of rye key new.
type NewKey struct {
	Fingerprint string    `json:"fingerprint"`
	Owner       string    `json:"owner"`
	Kind        string    `json:"kind"`
	File        string    `json:"file"`
	SSH         string    `json:"ssh,omitempty"` // where the private half of an ssh key is
	Document    string    `json:"document"`
	Revocation  string    `json:"revocation"`
	NotAfter    time.Time `json:"not_after"`
	Encrypted   bool      `json:"encrypted"`
}

func runKeyNew(ctx context.Context, c *cli.Call, o *KeyOptions) error {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	k, err := MakeKey(ctx, c, h, o)
	if err != nil {
		return err
	}
	return c.UI.Show(k, func() {
		c.UI.Out("key         %s", k.Fingerprint)
		c.UI.Out("owner       %s", k.Owner)
		c.UI.Out("valid until %s", k.NotAfter.Format(time.DateOnly))
		c.UI.Out("private key %s", cmp.Or(k.SSH, k.File))
		c.UI.Out("document    %s", k.Document)
		c.UI.Out("revocation  %s", k.Revocation)
		c.UI.Note("Keep the revocation certificate offline: anybody who has it can revoke this key.")
	})
}

// MakeKey makes a key with its documents and writes them.
func MakeKey(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *KeyOptions,
) (*NewKey, error) {
	scope, err := keyScope(o.Kind)
	if err != nil {
		return nil, err
	}
	if err := ask.CheckUses(o.may); err != nil {
		return nil, err
	}
	owner := KeyOwner(ctx, c, o.Owner)
	may := o.may
	if o.ask && c.Isatty(c.Stdin) && !c.UI.AsJSON {
		answered := *o
		if owner, may, err = askKey(c, &answered, owner); err != nil {
			return nil, err
		}
		o = &answered
	}
	scope.May = union(scope.May, may)
	made, err := prepareKey(
		ctx,
		c,
		h,
		NewKey{Owner: owner, Kind: o.Kind},
		scope,
		o,
	)
	if err != nil {
		return nil, err
	}
	defer made.wipe()
	err = h.Recorder().Documents(
		ctx,
		space.User,
		made.document,
		made.grant,
		made.revocation,
	)
	if err != nil {
		return nil, err
	}
	return &made.NewKey, made.install(ctx, h)
}

// madeKey is a new key that is not yet written.
type madeKey struct {
	NewKey
	keyFiles
	fingerprint sign.Fingerprint
	signer      sign.Signer
	priv, pass  []byte
}

func (m *madeKey) wipe() {
	clear(m.priv)
}

// install writes the key and its documents, and those by which it replaces another
// key.
func (m *madeKey) install(ctx context.Context, h *project.Project, more ...trust.File) error {
	file, err := m.keyFile()
	if err != nil {
		return err
	}
	defer clear(file)
	return h.Keys.InstallKey(ctx, keychain.NewKey{
		Fingerprint: m.fingerprint,
		File:        file,
		Revocation:  m.revocation,
		Document:    m.document,
		Grant:       m.grant,
		More:        more,
	})
}

func (m *madeKey) keyFile() ([]byte, error) {
	if m.SSH != "" {
		return sign.NewSSHKeyFile(m.File, m.signer.Public(), m.SSH)
	}
	return sign.NewKeyFile(m.File, m.priv, m.pass)
}

// pair makes the key pair, or opens the ssh key of the flag.
func (m *madeKey) pair(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *KeyOptions,
) error {
	if o.ssh != "" {
		k, err := sshKey(ctx, c, h, o)
		if err != nil {
			return err
		}
		m.signer = k.Signer
		m.SSH = k.Location
		m.Encrypted = k.Encrypted
		return nil
	}
	var err error
	if m.pass = o.Passphrase; m.pass == nil {
		if m.pass, err = NewPassphrase(c, o.NoPassphrase); err != nil {
			return err
		}
	}
	if m.priv, err = sign.GenerateKey(c.Rand); err != nil {
		return err
	}
	m.signer = sign.NewFileSigner(m.priv, "memory")
	m.Encrypted = m.pass != nil
	return nil
}

// prepareKey makes a key pair, or opens the key of the flag, and its documents in memory.
func prepareKey(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	k NewKey,
	scope doc.Scope,
	o *KeyOptions,
) (*madeKey, error) {
	length, err := keychain.Span(o.Expires)
	if err != nil {
		return nil, err
	}
	if h.Dirs.Keys() == "" || h.Dirs.Trust() == "" {
		return nil, diag.New(diag.FileSystemError, "making a key: the environment names no home directory").WithReason("no_state")
	}
	m := &madeKey{NewKey: k}
	if err := m.pair(ctx, c, h, o); err != nil {
		return nil, err
	}
	now := c.Now().UTC().Truncate(time.Second)
	m.NotAfter = now.Add(length)
	if m.keyFiles, err = keyDocuments(ctx, m.signer, &m.NewKey, scope, now); err != nil {
		return nil, err
	}
	m.fingerprint = sign.FingerprintOf(m.signer.Public())
	m.Fingerprint = m.fingerprint.String()
	m.File = h.Keys.KeyFile(m.fingerprint)
	m.Document = filepath.Join(h.Dirs.Trust(), m.document.Name)
	m.Revocation = filepath.Join(h.Dirs.Keys(), m.revocation.Name)
	return m, nil
}

// KeyOwner returns the name on a new key: the given one, the name in git's configuration, or
// the user's.
func KeyOwner(ctx context.Context, c *cli.Call, given string) string {
	if given != "" {
		return given
	}
	for _, name := range []string{gitcmd.UserName(ctx, c.Dir, c.Environ()), c.Getenv("USER"), c.Getenv("LOGNAME"), c.Getenv("USERNAME")} {
		if name != "" {
			return name
		}
	}
	return "me"
}

// askKey asks at a terminal for what the flags leave out. Enter takes the value that
// is shown.
func askKey(
	c *cli.Call,
	o *KeyOptions,
	owner string,
) (name string, may []string, err error) {
	may = o.may
	if o.Owner == "" {
		answer, err := c.Ask("Owner, the name that others see [" + owner + "]: ")
		if err != nil {
			return "", nil, err
		}
		owner = cmp.Or(answer, owner)
	}
	if o.ssh == "" && o.Passphrase == nil {
		if o.Passphrase, err = NewPassphrase(c, o.NoPassphrase); err != nil {
			return "", nil, err
		}
	}
	if o.Kind == KeyUser && len(o.may) == 0 {
		yes, err := c.Confirm("May this key endorse colleagues' keys?")
		if err != nil {
			return "", nil, err
		}
		if yes {
			may = []string{"endorse"}
		}
	}
	return owner, may, nil
}

// union returns the uses of both lists, in the order of doc.Uses; unknown ones are
// last, for the error about them.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	var out []string
	for _, use := range slices.Concat(doc.Uses(), b) {
		if slices.Contains(all, use) && !slices.Contains(out, use) {
			out = append(out, use)
		}
	}
	return out
}

// NewPassphrase asks twice at a terminal. Without a terminal it needs
// --no-passphrase or RYE_PASSPHRASE_FILE.
func NewPassphrase(c *cli.Call, none bool) ([]byte, error) {
	if none {
		return nil, nil
	}
	if c.Getenv(sign.EnvPassphraseFile) != "" {
		keys := env.Of(c).KeyParams(userdirs.Dirs{})
		return keys.Passphrase("")()
	}
	if !c.Isatty(c.Stdin) {
		return nil, diag.New(diag.AuthRequired, "making a key: this process has no terminal to ask for a passphrase").
			WithReason("new_passphrase").
			WithDetail("variable", sign.EnvPassphraseFile)
	}
	for range passphraseTries {
		first, err := c.AskSecret("New passphrase: ")
		if err != nil {
			return nil, err
		}
		repeated, err := c.AskSecret("Again: ")
		switch {
		case err != nil:
			return nil, err
		case !bytes.Equal(first, repeated):
			c.UI.Note("The two passphrases differ. Type both again.")
		case len(first) == 0:
			return nil, diag.New(diag.Usage, "making a key: the passphrase is empty").WithReason("no_passphrase")
		default:
			return first, nil
		}
	}
	return nil, diag.New(diag.Usage, "making a key: the two passphrases differ; nothing was made")
}

// passphraseTries is how often a new passphrase is asked for.
const passphraseTries = 3

type keyFiles struct{ document, grant, revocation trust.File }

func keyDocuments(
	ctx context.Context,
	s sign.Signer,
	k *NewKey,
	scope doc.Scope,
	now time.Time,
) (f keyFiles, err error) {
	f.document.Name, f.document.Data, err = doc.NewKey(ctx, doc.KeyParams{
		Owner:     k.Owner,
		NotBefore: now,
		NotAfter:  k.NotAfter,
		Scope:     scope,
		Now:       now,
	}, s)
	if err != nil {
		return f, err
	}
	f.grant.Name, f.grant.Data, err = doc.NewGrant(ctx, doc.PermissionParams{
		Document:  f.document.Data,
		NotBefore: now,
		NotAfter:  k.NotAfter,
		Scope:     scope,
		Now:       now,
	}, s)
	if err != nil {
		return f, err
	}
	f.revocation.Name, f.revocation.Data, err = doc.NewRevocation(ctx, doc.RevocationParams{
		Reason: doc.ReasonCompromised, CutOff: now, Now: now}, s)
	return f, err
}
