package release

import (
	"context"
	"crypto/ed25519"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// PublisherChange changes a publisher document. The zero value changes nothing.
type PublisherChange struct {
	Bundles               []string // nil keeps them
	Root, Release, Revoke RoleChange
}

// RoleChange changes a role of a publisher document.
type RoleChange struct {
	Keys      []ed25519.PublicKey // nil keeps them
	Threshold *int                // nil keeps it, or is the number of Keys if they change
}

func (c RoleChange) isZero() bool {
	return c.Keys == nil && c.Threshold == nil
}

func (c PublisherChange) isZero() bool {
	return c.Bundles == nil &&
		c.Root.isZero() &&
		c.Release.isZero() &&
		c.Revoke.isZero()
}

// NextPublisher returns the newest of the known texts of a publisher, or, if the
// change is not zero, the next version with the change. It returns an ITEM_NOT_FOUND
// error if there is neither.
func NextPublisher(name string, texts []trust.PublisherText, change PublisherChange) (doc.Publisher, error) {
	p := doc.Publisher{Name: name}
	if len(texts) > 0 {
		p = *texts[len(texts)-1].Publisher
	}
	switch {
	case change.isZero() && len(texts) == 0:
		return p, NoPublisher(name)
	case change.isZero():
		return p, nil
	case len(texts) == 0 && (change.Bundles == nil || change.Root.Keys == nil || change.Release.Keys == nil):
		return p, diag.New(diag.Usage, "creating the publisher %q: bundles, root keys and release keys are required", name)
	}
	p.Version++
	if change.Bundles != nil {
		p.Bundles = change.Bundles
	}
	for _, r := range []struct {
		name   string
		role   *doc.Role
		change RoleChange
	}{{"root", &p.Root, change.Root}, {"release", &p.Release, change.Release}, {"revoke", &p.Revoke, change.Revoke}} {
		if r.change.Keys != nil {
			r.role.Keys = r.change.Keys
			r.role.Threshold = len(r.role.Keys)
		}
		if r.change.Threshold != nil {
			r.role.Threshold = *r.change.Threshold
		}
		n := len(r.role.Keys)
		if n > 0 && (r.role.Threshold < 1 || r.role.Threshold > n) {
			return p, diag.New(diag.Usage, "changing the publisher %q: the threshold of the role %s must be a whole number from 1 to %d, the number of its keys", name, r.name, n)
		}
	}
	return p, nil
}

// NoPublisher returns the error for a publisher that is not known.
func NoPublisher(name string) error {
	return diag.New(diag.ItemNotFound, "looking for the publisher: no publisher is named %q", name).
		WithReason("no_publisher").
		WithDetail("name", name)
}

// SignPublisher returns a publisher document with the signature of one root key of
// its version, or of the version before.
func SignPublisher(
	ctx context.Context,
	p doc.Publisher,
	texts []trust.PublisherText,
	signer sign.Signer,
	now time.Time,
) (trust.File, error) {
	roots := p.Root.Fingerprints()
	for _, x := range texts {
		if x.Name == p.Name && x.Version == p.Version-1 {
			roots = append(roots, x.Root.Fingerprints()...)
		}
	}
	fp := sign.FingerprintOf(signer.Public())
	if !slices.Contains(roots, fp) {
		return trust.File{}, diag.New(
			diag.Scope,
			"signing the publisher %s: key %s is not a root key of version %d or of the version before",
			p.Name,
			fp.Short(),
			p.Version,
		).
			WithReason("publisher_root").WithDetail("name", p.Name)
	}
	name, b, err := doc.NewPublisher(ctx, p, signer, now)
	return trust.File{Name: name, Data: b}, err
}
