// Package trust decides which keys count: it reads trust documents of the
// system, user and project tiers, and answers for the bytes of one file with a
// Verdict value that says how far they are trusted and why.
//
// It does not find items, holds no private key, prints nothing, and Verify
// touches neither disk nor network. It is not the permission code: what a
// trusted item may do is decided elsewhere.
//
// What grants trust: anchors compiled into the program, key documents in a
// system folder or named by the call, and key documents in the user's folder
// that a grant of one of the user's own keys names by digest. A project only
// ever proposes, narrows and revokes; its key documents count where such an
// anchor endorsed them, or where the user accepted the project's set as a whole. All scopes that speak of a key intersect; everything unreadable,
// unsigned or doubtful counts as absent.
package trust

import (
	"crypto/ed25519"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Tier says where a document came from.
type Tier string

// The tiers, strongest first.
const (
	TierEmbedded Tier = "embedded" // compiled into the program
	TierSystem   Tier = "system"
	TierUser     Tier = "user"
	TierProject  Tier = "project"
)

// Limits of trust documents, and the rules of time.
const (
	MaxDocument    = 64 << 10            // bytes of one document
	MaxDocuments   = 4096                // documents of one folder
	MaxProject     = 1 << 20             // bytes of all documents of a project
	DefaultMaxSize = 1 << 20             // bytes of one item, where Input says nothing
	MaxListed      = 800                 // revocations in one list
	MaxHops        = 16                  // rotations that trust follows
	MaxYears       = 3                   // a document's validity
	OwnGrace       = 30 * 24 * time.Hour // own keys count this long after their end
	ClockSkew      = 5 * time.Minute     // how far a time may lie in the future
)

// Anchor is a key compiled into the program. Its scope counts as it stands; it
// has no end.
type Anchor struct {
	Public       ed25519.PublicKey
	Owner        string
	EmbeddedOnly bool // counts for items of the embedded space and for nothing else
	Scope        Scope
}

// Params says where trust documents live. The zero value trusts nothing.
type Params struct {
	SystemDirs []string // such as /etc/rye/trust; absent folders hold nothing
	UserDir    string   // the user's trust folder; "" none
	ProjectDir string   // the project's .ai/trust; "" none. The folder trusted_keys beside it is read as well
	LegacyDir  string   // public keys of the earlier format, the user's own .ai/trusted_keys; "" none
	Anchors    []Anchor

	Roots     []sign.Fingerprint               // the project's own document about such a key is an anchor of the user
	RootPaths []string                         // documents, or folders of them, that are anchors of the user
	StateDir  string                           // what earlier calls accepted and saw; "" nothing is remembered
	Identity  string                           // who accepts, such as the account's number
	MaxAge    time.Duration                    // of revocation data; 0: any
	Known     func(item.Digest) (Moment, bool) // when a file with that digest is known to have existed; nil: only its own claim is known

	Floor time.Time        // an instant known to have passed, such as the program's build; zero none
	Now   func() time.Time // nil: the machine's clock
}

// Input is one file to judge.
type Input struct {
	Space        string       // where it was found, for reasons only
	Embedded     bool         // it is part of the program itself
	Path         string       // for findings and reasons only
	Bytes        []byte       // the whole file
	Detached     []byte       // the detached signature beside it, nil none
	DetachedOnly bool         // this sort of file carries no signature line of its own
	Style        sign.Style   // of the signature line
	Subject      sign.Subject // what the path says the file is
	Use          string       // what the signer must be allowed to do, "" is "sign"
	MaxSize      int64        // bytes; 0 is DefaultMaxSize
	Text         bool         // must be UTF-8 and is searched for hidden characters
}
