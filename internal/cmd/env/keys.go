package env

import (
	"crypto/ed25519"
	"encoding/base64"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/tomlx"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// ProposedKey reads a key document. Its file may have any name.
func ProposedKey(path string, b []byte) (*doc.Key, error) {
	if kind := documentKind(b); kind != "" && kind != doc.KindKey {
		return nil, diag.New(diag.Usage, "reading trust document %q: it is not a key document but a %s", path, kind).WithReason("key_export")
	}
	document, fs := doc.Parse(keyFileName(path, b), b)
	err := diag.FromFindings("reading trust document", diag.WithPath(fs, path))
	if err != nil {
		return nil, err
	}
	key, ok := document.(*doc.Key)
	if !ok {
		return nil, diag.New(diag.Usage, "reading trust document %q: it is not a key document", path).WithReason("key_export")
	}
	return key, nil
}

// documentKind returns the kind in a document, "" if the document cannot be read.
func documentKind(b []byte) string {
	document, _ := tomlx.Parse(b)
	if document == nil {
		return ""
	}
	kind, _ := document.Root["kind"].(string)
	return kind
}

// keyFileName returns the file name that belongs to the key in a document, or the
// name of the file if the document has no key.
func keyFileName(path string, b []byte) string {
	document, _ := tomlx.Parse(b)
	if document == nil {
		return filepath.Base(path)
	}
	text, _ := document.Root["public-key"].(string)
	pub, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(pub) != ed25519.PublicKeySize {
		return filepath.Base(path)
	}
	return doc.FileName(doc.KindKey, sign.FingerprintOf(pub))
}

// MustAnchor returns an error if the key lacks a use: its document would have no
// effect.
func MustAnchor(h *project.Project, signer sign.Signer, use string) error {
	fp := sign.FingerprintOf(signer.Public())
	if h.Trust.Anchors(fp, use) {
		return nil
	}
	return diag.New(diag.Scope, "using key %s: it may not %s", fp.Short(), use).
		WithReason("missing_use").
		WithDetail("use", use)
}

// AnyKey returns the key with a fingerprint prefix or owner among all keys that
// documents name, the project's included.
func AnyKey(h *project.Project, word string) (sign.Fingerprint, error) {
	var found []sign.Fingerprint
	match := func(fp sign.Fingerprint, owner string) {
		if (strings.HasPrefix(fp.String(), strings.ToLower(word)) || owner == word) &&
			!slices.Contains(found, fp) {
			found = append(found, fp)
		}
	}
	for _, k := range h.Trust.Keys() {
		if k.Tier != trust.TierEmbedded {
			match(k.Fingerprint, k.Owner)
		}
	}
	for _, p := range h.Trust.Proposals() {
		if p.Kind == doc.KindKey {
			match(p.Fingerprint, p.Owner)
		}
	}
	return TheKey("finding", word, found)
}

// TheKey returns the only key of those that a word can mean.
func TheKey(doing, word string, found []sign.Fingerprint) (sign.Fingerprint, error) {
	switch len(found) {
	case 0:
		return sign.Fingerprint{}, diag.New(diag.ItemNotFound, "%s key %q: no key has this fingerprint or owner", doing, word).WithReason("trust_list")
	case 1:
		return found[0], nil
	}
	short := make([]string, len(found))
	for i, fp := range found {
		short[i] = fp.Short()
	}
	return sign.Fingerprint{}, diag.New(
		diag.ItemNotFound,
		"%s key %q: it can be %s",
		doing,
		word,
		strings.Join(short, ", "),
	).
		WithReason("trust_list")
}
