package rules

import (
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/trust/doc"
)

// MayChange returns an error for a key that may not change a namespace at a time.
func (m *State) MayChange(ns, key string, now time.Time) error {
	k := m.Namespaces[ns].Find(key)
	switch {
	case m.Namespaces[ns] == nil:
		return diag.New(diag.AuthFailed, "looking for the key: the namespace %s is not bound to a key", ns)
	case k == nil:
		return diag.New(diag.AuthFailed, "looking for the key: %s is not a key of the namespace %s", key, ns)
	case now.Before(k.From):
		return diag.New(diag.AuthFailed, "looking for the key: %s belongs to the namespace %s from %s on: it was bound while other keys had the namespace", key, ns, wire.TimeText(k.From))
	case m.Revoked[key]:
		return diag.New(diag.AuthFailed, "looking for the key: %s is revoked", key)
	case !k.Active(now):
		return diag.New(diag.AuthFailed, "looking for the key: the binding of %s to the namespace %s ended on %s", key, ns, wire.TimeText(k.Until))
	}
	return nil
}

// ParseKey reads a key document, which must be signed by its key.
func ParseKey(b []byte) (*doc.Key, error) {
	d, found := doc.ParseAnyName(b)
	k, ok := d.(*doc.Key)
	switch {
	case d == nil:
		return nil, diag.FromFindings("reading the key document", found)
	case !ok:
		return nil, diag.New(diag.ValidationFailed, "reading the key document: it is a document of kind %s", d.Head().Kind)
	case k.Invalid != nil:
		return nil, diag.New(diag.AuthFailed, "reading the key document: %w", k.Invalid)
	}
	return k, nil
}

// ReleaseKey returns an error for a key that may not publish: releases need a person's key.
func ReleaseKey(k *doc.Key, now time.Time) error {
	switch {
	case k.KeyKind != doc.KeyPerson && k.KeyKind != "":
		return diag.New(diag.Scope, "reading the key document: a key of kind %s publishes nothing; a person's key is needed", k.KeyKind)
	case !slices.Contains(k.Scope.May, "release"):
		return diag.New(diag.Scope, "reading the key document: the key does not have the use release")
	case !now.Before(k.NotAfter):
		return diag.New(diag.Expired, "reading the key document: the key expired on %s", wire.TimeText(k.NotAfter))
	case now.Before(k.NotBefore):
		return diag.New(diag.NotYetValid, "reading the key document: the key is valid from %s on", wire.TimeText(k.NotBefore))
	}
	return nil
}

// FitsIndex returns an error for a line with which clients would refuse the index, now or
// after every version got a state with the longest reason.
func FitsIndex(b *Bundle, line *wire.Line) error {
	size := len(line.Render()) + StateBytes
	if size > wire.MaxLine {
		return diag.New(diag.TooLarge, "publishing %s %s: its index line is longer than %d bytes: it has too many items", line.ID, line.Version, wire.MaxLine-StateBytes)
	}
	if b != nil {
		size += len(b.Index()) + len(b.Versions)*StateBytes
	}
	if size > wire.MaxIndex {
		return diag.New(diag.TooLarge, "publishing %s %s: the index of its versions would be longer than %d bytes; publish under another name, or a new major version", line.ID, line.Version, wire.MaxIndex)
	}
	return nil
}

// Unused returns an error for a version that was published before, also if it was deleted.
func (m *State) Unused(id wire.ID, version string) error {
	if v := m.Version(id.String(), version); v != nil {
		if v.State == wire.StateDeleted {
			return diag.New(diag.ValidationFailed, "looking for the version: %s %s was published and deleted; its number is never used again", id, version).WithReason("version_used")
		}
		return diag.New(diag.ValidationFailed, "looking for the version: %s %s was published on %s", id, version, v.Published).WithReason("version_used")
	}
	return nil
}

// StateBytes is how many bytes a change of its state adds to a line at most.
const StateBytes = 6*wire.MaxReason + 64

// continues returns an error if clients would refuse the signers of a version: none of them
// signed the version before.
func continues(m *State, id wire.ID, signers []string) error {
	b := m.Bundles[id.String()]
	if b == nil {
		return nil
	}
	last := b.Versions[len(b.Versions)-1]
	if slices.ContainsFunc(signers, func(k string) bool { return slices.Contains(last.Signers, k) }) {
		return nil
	}
	return diag.New(diag.SignerChanged, "comparing the signers with the signers of %s: none of them signed it; sign with one of those keys, too (rye bundle sign)", last.Version)
}

// RevocationOf returns the name of a document that ends a key or a release, "" for one of a
// later version of rye, and the key if it ends one.
func RevocationOf(text []byte) (name, key string) {
	d, _ := doc.ParseAnyName(text)
	if d == nil { // it may be of a later version of rye
		return "", ""
	}
	if k, ok := d.(*doc.Revocation); ok {
		key = wire.KeyText(k.Fingerprint)
	}
	return d.Name(), key
}
