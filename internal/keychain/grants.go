package keychain

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// GrantSigner returns the key that signs a grant with these uses: the one that the
// user named, else a key of a person, else the grant key, which is made if there is
// none. A grant key has no passphrase: a process that could read it could write the
// user's trust directory as well. It cannot give other uses than doc.GrantUses.
func (kc *Keychain) GrantSigner(ctx context.Context, may []string) (sign.Signer, error) {
	var grantKey *trust.KeyInfo
	person := kc.Named != "" || kc.Getenv(sign.EnvKeyFile) != ""
	for _, k := range kc.Trust.Keys() {
		switch {
		case !k.Own:
		case k.GrantOnly && k.State == trust.StateValid:
			grantKey = &k
		case !k.GrantOnly && !k.Agent() && k.State.Usable():
			person = true
		}
	}
	beyond := slices.ContainsFunc(may, func(use string) bool {
		return !slices.Contains(doc.GrantUses(), use)
	})
	switch {
	case person || beyond:
		return kc.SignerFor(ctx, "")
	case grantKey != nil:
		return kc.SignerOf(ctx, grantKey.Fingerprint)
	}
	return kc.newGrantKey(ctx)
}

// newGrantKey makes the grant key of this account.
func (kc *Keychain) newGrantKey(ctx context.Context) (sign.Signer, error) {
	priv, err := sign.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	defer clear(priv)
	signer := sign.NewFileSigner(slices.Clone(priv), "memory")
	now := kc.Now().UTC().Truncate(time.Second)
	k := NewKey{Fingerprint: sign.FingerprintOf(priv.Public().(ed25519.PublicKey))}
	owner := cmp.Or(kc.Getenv("USER"), kc.Getenv("USERNAME"), "this account") + " (grants)"
	scope := doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}}
	end := now.AddDate(doc.MaxYears, 0, 0)
	if k.Document.Name, k.Document.Data, err = doc.NewKey(ctx, doc.KeyParams{
		Owner:     owner,
		KeyKind:   doc.KeyGrant,
		NotBefore: now,
		NotAfter:  end,
		Scope:     scope,
		Now:       now,
	}, signer); err != nil {
		return nil, err
	}
	if k.Grant.Name, k.Grant.Data, err = doc.NewGrant(ctx, doc.PermissionParams{
		Document:  k.Document.Data,
		NotBefore: now,
		NotAfter:  end,
		Scope:     scope,
		Now:       now,
	}, signer); err != nil {
		return nil, err
	}
	if k.Revocation.Name, k.Revocation.Data, err = doc.NewRevocation(ctx, doc.RevocationParams{Reason: doc.ReasonCompromised, CutOff: now, Now: now}, signer); err != nil {
		return nil, err
	}
	if k.File, err = sign.NewKeyFile(kc.KeyFile(k.Fingerprint), priv, nil); err != nil {
		return nil, err
	}
	defer clear(k.File)
	err = kc.Record(ctx, space.User, k.Document, k.Grant, k.Revocation)
	if err != nil {
		return nil, err
	}
	return signer, kc.InstallKey(ctx, k)
}

// Grant is a permission that the user gives a key.
type Grant struct {
	Document []byte            // of the key; nil if Public is set
	Public   ed25519.PublicKey // of a key without a document
	Source   string            // where Public was read
	Scope    doc.Scope
	NotAfter time.Time // zero: the default
}

// AddedGrant is a grant that was written, and what it changed.
type AddedGrant struct {
	Path     string
	NotAfter time.Time
	Replaced *doc.Permission // the grant of the key until now, nil without one that was valid
	Less     bool            // Replaced permitted more in some part
}

// Later reports whether the grant ends on a later day than the one that it replaced.
func (g *AddedGrant) Later() bool {
	day := func(t time.Time) string {
		return t.UTC().Format(time.DateOnly)
	}
	return g.Replaced != nil && day(g.NotAfter) > day(g.Replaced.NotAfter)
}

// AddGrant signs a grant and writes it, with the key document, into the user's trust
// directory. A key has one grant: a new one replaces it.
// A grant is signed, so that a file dropped into the trust directory is not a grant.
func (kc *Keychain) AddGrant(ctx context.Context, g Grant) (*AddedGrant, error) {
	signer, err := kc.GrantSigner(ctx, g.Scope.May)
	if err != nil {
		return nil, err
	}
	params := doc.PermissionParams{
		Document: g.Document,
		Public:   g.Public,
		Source:   g.Source,
		NotAfter: g.NotAfter,
		Scope:    g.Scope,
		Now:      kc.Now(),
	}
	name, grant, err := doc.NewGrant(ctx, params, signer)
	if err != nil {
		return nil, err
	}
	written := doc.As[*doc.Grant](doc.ParseAnyName(grant))
	if written == nil {
		return nil, diag.New(diag.Internal, "writing a grant: it cannot be read")
	}
	out := &AddedGrant{NotAfter: written.NotAfter}
	out.Replaced, out.Less = kc.ReplacedGrant(written.Fingerprint, g.Scope)
	if err := kc.Record(ctx, space.User, trust.File{Name: name, Data: grant}); err != nil {
		return nil, err
	}
	if g.Document != nil {
		key, fs := doc.ParseAnyName(g.Document)
		k := doc.As[*doc.Key](key, fs)
		if k != nil {
			_, err := trust.AddDocument(kc.Dirs.Trust(), k.Name(), g.Document)
			if err != nil {
				return nil, err
			}
		}
	}
	out.Path, err = trust.AddDocument(kc.Dirs.Trust(), name, grant)
	return out, err
}
