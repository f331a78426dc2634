package trust

import (
	"crypto/ed25519"
	"time"

	"github.com/ryeos/rye/internal/legacy"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// Store answers which keys are trusted. It does not change after Load, and many
// goroutines may use it at once. The zero Store trusts nothing.
type Store struct {
	keys      map[sign.Fingerprint]*entry
	proposals []Proposal
	legacy    legacy.Keys // of the earlier format: they verify earlier signatures and are never trusted
	set       ProjectSet
	fresh     freshness
	revoked   Revoked
	withdrawn withdrawn

	publishers []*edition                 // the valid versions
	registries map[string][]*doc.Registry // pins by host: of the machine, then of the user
	texts      []PublisherText
	unseen     []File    // revocations and rotations of the project that Remember writes
	seen       seenCount // documents in the state directory
	blind      string    // a directory or file that could not be read
	floor      time.Time // a time known to have passed
	floorFrom  string    // the source of floor
	now        func() time.Time
	runtime    func(sign.Fingerprint) *doc.Key // see Params.Runtime
	proofs     sign.Proofs                     // see Params.Proofs
}

// entry is everything known about one key.
type entry struct {
	key          sign.Fingerprint
	public       ed25519.PublicKey
	weak         bool // it may never be used
	embeddedOnly bool // its private key is public, so documents about it prove nothing
	conflict     bool // one tier has two different documents about it
	bases        []*basis
	bounds       Bounds         // of every tier
	above        Bounds         // without the project's
	agent        bool           // bounds permit nothing but drafts
	grantOnly    bool           // a document makes it a grant key, which signs grants only
	documents    []*keyDocument // valid ones, strongest tier first
	grants       []*permission  // that an own key signed
	narrowing    []*permission  // every grant about it that can be read
	revocations  []*revocation  // that are valid
	rotations    []*rotation    // to successors; two different successors cancel each other out
	notes        []string       // why a document that names the key is not used
	ignored      []string       // revocations and rotations that are not valid, and why
}

// basis is one reason to trust a key. It is a document that is an anchor by its
// location, or a document with what permits it: a grant of the user, an
// endorsement of an anchor, the user's acceptance of the project's set, or the
// rotation of a trusted key.
type basis struct {
	tier                Tier
	document            string       // path or compiledIn, safe to print
	owner               string       // safe to print
	owned               bool         // the key is the user's own
	accepted            bool         // with the project's set
	notBefore, notAfter time.Time    // zero notAfter: no end
	until               time.Time    // the end of the grant or endorsement; zero: none
	doc                 *keyDocument // nil: compiled in
	grant               *permission  // the grant or endorsement that permits the key; nil: neither

	granter  *entry // the own key that signed the grant; nil: it is not a grant
	endorser *entry // the anchor that signed the endorsement; nil: it is not an endorsement

	rotation *rotation // from the key before
	from     *entry    // the key before
	prev     *basis    // why the key before, or the endorser, is trusted
	hops     int       // rotations from the first key of the chain
	followed bool      // follow has extended the chain
}

const compiledIn = "compiled in"

// own returns the basis that makes the key the user's own, or nil.
func (e *entry) own() *basis {
	if e == nil {
		return nil
	}
	for _, x := range e.bases {
		if x.owned {
			return x
		}
	}
	return nil
}

// note adds why a document about the key is not used.
func (e *entry) note(reason string) {
	e.notes = append(e.notes, reason)
}
