package project

import (
	"crypto/ed25519"
	"encoding/hex"
	"github.com/ryeos/rye/lock/treehash"
	"io/fs"
	"strings"
	"sync"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// system opens the embedded bundle. It verifies the manifest's signature, and the hash of
// each file before the file is used. It returns nil for a binary
// without a bundle, whose system space is empty.
func (e *Env) system() *bundle.Opening {
	if e.Stdlib == nil {
		return nil
	}
	_, err := fs.Stat(e.Stdlib, space.Dir)
	if err != nil {
		return nil
	}
	known := stdlib.Known()
	manifest, _ := item.ParseDigest("sha256:" + known.Manifest)
	return bundle.Begin(e.Stdlib, stdlib.Bundle, manifest, func(manifest []byte) error {
		anchors, _ := trust.Load(trust.Params{Anchors: CompiledAnchors(), Now: e.Now, Proofs: ownBundle(known)})
		where := bundle.ManifestPath(stdlib.Bundle)
		return anchors.Verify(trust.ManifestInput(trust.Input{
			Space:    string(space.System),
			Embedded: true,
			Path:     where,
			Bytes:    manifest,
			Subject:  bundle.Subject(stdlib.Bundle),
		})).Err(where)
	})
}

// parsedItems returns the metadata of the items of the embedded bundle that each run reads. All
// Resolvers of a process share what they read of it.
var parsedItems = sync.OnceValue(func() *resolve.Parsed {
	return resolve.NewParsed(stdlib.Parsed())
})

// ownBundle are the Proofs of the embedded bundle: the facts about it that the program has.
type ownBundle stdlib.Facts

// Known implements sign.Proofs.
func (b ownBundle) Known(s sign.Signature) bool {
	return !s.File && hex.EncodeToString(s.Digest[:]) == b.Signature
}

// Valid implements sign.Proofs.
func (ownBundle) Valid(sign.Signature) {}

// KnownKey implements sign.Proofs.
func (ownBundle) KnownKey([ed25519.PublicKeySize]byte) bool {
	return false
}

// ValidKey implements sign.Proofs.
func (ownBundle) ValidKey([ed25519.PublicKeySize]byte) {}

// CompiledAnchors returns the key that signs the embedded bundle. It is trusted
// for embedded files only.
func CompiledAnchors() []trust.Anchor {
	pub, err := hex.DecodeString(stdlib.DevPublic)
	if err != nil {
		panic("stdlib.DevPublic is not hexadecimal")
	}
	return []trust.Anchor{{
		Public: pub, Sound: true, Owner: "rye development key", EmbeddedOnly: true,
		Scope: doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "release", "provider"}},
	}}
}

// systemOf returns a function that computes, once, what a lock records of the
// system bundle. Most commands never call it.
func systemOf(system *bundle.Opening) func() lock.System {
	return sync.OnceValue(func() lock.System {
		if system == nil {
			return lock.System{}
		}
		opened, err := system.Wait()
		if err != nil {
			return lock.System{}
		}
		m := opened.Manifest
		version := "v" + strings.TrimPrefix(m.Version, "v")
		known := stdlib.Known()
		if opened.Digest.Hex() == known.Manifest {
			return lock.System{ID: m.ID, Version: version, Sum: known.Tree}
		}
		files := make([]treehash.File, len(m.Files))
		for i, f := range m.Files {
			files[i] = treehash.File{
				Path:   f.Path,
				Mode:   treehash.Regular,
				Size:   f.Size,
				Digest: f.Digest,
			}
		}
		sum, err := treehash.Of(files)
		if err != nil { // the embedded bundle was checked when it was opened
			return lock.System{}
		}
		return lock.System{ID: m.ID, Version: version, Sum: sum}
	})
}
