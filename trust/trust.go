// Package trust decides which keys are trusted. It reads the trust documents of
// the system, user and project tiers, and returns for the bytes of one file a
// Verdict: how far they are trusted, and why.
//
// It does not find items, holds no private key and prints nothing. Verify does
// not use the disk or the network. What a trusted item may do is decided by
// package policy, and package trust/doc has the format of the documents.
//
// Trust comes from anchors compiled into the program, from key documents in a
// system directory or named by the caller, and from key documents in the user's
// directory that a grant of one of the user's own keys names by digest. A project
// can only propose, narrow and revoke: its key documents are used if such an
// anchor endorsed them, or if the user accepted the project's set as a whole. All
// scopes of a key intersect. A document that cannot be read, that is not signed,
// or that contradicts another is treated as absent.
package trust

import (
	"crypto/ed25519"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// Tier is the source of a document.
type Tier string

// The tiers, strongest first.
const (
	TierEmbedded Tier = "embedded" // compiled into the program
	TierSystem   Tier = "system"
	TierUser     Tier = "user"
	TierProject  Tier = "project"
)

// Limits of the store, and the tolerances of time.
const (
	MaxDocuments   = 4096                // documents of one directory
	MaxProject     = 1 << 20             // bytes of all documents of a project
	DefaultMaxSize = 1 << 20             // bytes of one item, if Input states no limit
	MaxManifest    = 8 << 20             // bytes of a bundle manifest, as bundle.MaxManifest
	MaxHops        = 16                  // rotations that trust follows
	OwnGrace       = 30 * 24 * time.Hour // how long the user's own keys stay valid after their end
	ClockSkew      = 5 * time.Minute     // how far a time may be in the future
)

// Anchor is a key compiled into the program. It has no end.
type Anchor struct {
	Public       ed25519.PublicKey
	Owner        string
	Sound        bool // sign.CheckKey accepts it, which a test of the program shows
	EmbeddedOnly bool // trusted for items of the embedded space only
	Scope        doc.Scope
}

// Params names the directories of trust documents. The zero value trusts
// nothing.
type Params struct {
	SystemDirs []string // such as /etc/rye/trust; an absent directory has no documents
	System     []File   // documents in memory, with the rights of documents in a system directory
	UserDir    string   // the user's trust directory; "": none
	ProjectDir string   // the project's .ai/trust; "": none. The directory trusted_keys next to it is read as well
	LegacyDir  string   // public keys of the earlier format, the user's own .ai/trusted_keys; "": none
	Anchors    []Anchor

	Roots     []sign.Fingerprint // the project's own document about such a key is an anchor of the user
	RootPaths []string           // documents, or directories of them, that are anchors of the user
	StateDir  string             // what earlier calls accepted and saw; "": nothing is remembered
	Identity  string             // of the account that accepts, such as its number
	MaxAge    time.Duration      // of revocation data; 0: any

	// Runtime returns the document of a runtime key of this account, nil if the key is
	// not one. It is called for keys that no document makes trusted. It may be nil.
	Runtime func(sign.Fingerprint) *doc.Key

	// Proofs know which signatures of files are valid. Nil: each one is computed.
	Proofs sign.Proofs

	Floor time.Time        // a time known to have passed, such as the program's build; zero: none
	Now   func() time.Time // nil: the machine's clock
}

// Input is one file to verify.
type Input struct {
	Space        string       // where it was found; only shown in reasons
	Embedded     bool         // it is part of the program itself
	Path         string       // only shown in findings and reasons
	Bytes        []byte       // the whole file
	Digest       item.Digest  // SHA-256 of Bytes, or zero: Params.Proofs are then asked about the signature alone
	Detached     []byte       // the detached signature; nil: none
	DetachedOnly bool         // this kind of file has no signature line of its own
	Style        sign.Style   // of the signature line
	Subject      sign.Subject // what the file is, according to its path
	Use          string       // what the signer must be permitted to do; "": sign
	About        sign.Subject // of a review: the component that the scope of the key must cover; zero: Subject
	MaxSize      int64        // bytes; 0: DefaultMaxSize
	Text         bool         // must be UTF-8, and is searched for hidden characters

	// Covered is the signer of a trusted manifest that lists exactly these bytes as
	// signed. A signature line of the same key in them is then valid without being
	// computed; every other step applies. Zero: there is no such manifest.
	Covered sign.Fingerprint

	// Locked reports whether the lock records exactly these bytes as signed by a
	// key: they stay usable after the key expired. Nil: the lock does not.
	Locked func(sign.Fingerprint) bool
}

// ManifestInput completes the input for a bundle manifest, whose Bytes and Subject
// the caller sets. Every check of a manifest's signature uses it, so that all
// require the use "release" and apply the same limit.
func ManifestInput(in Input) Input {
	in.Style = sign.Hash()
	in.Use = "release"
	in.MaxSize = MaxManifest
	in.Text = true
	return in
}

// scoped returns the subject that the scope of the key must cover.
func (in *Input) scoped() sign.Subject {
	if in.About != (sign.Subject{}) {
		return in.About
	}
	return in.Subject
}
