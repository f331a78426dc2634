package trust

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// builder turns documents into entries. Every step only narrows what the
// documents ask for.
type builder struct {
	p        Params
	docs     documents
	store    *Store
	findings []diag.Finding

	broken       []string             // files and directories of the project that could not be read or are not valid
	projectBytes int                  // of the project's documents so far
	unanchored   []docFinding         // endorsements by keys that are not anchors
	remembered   map[item.Digest]bool // documents that are in the state directory, or will be
	seen         []doc.Document       // that are in the state directory
	kept         []*publisherCopy     // copies of valid publisher versions
}

func newBuilder(p Params) *builder {
	if p.Now == nil {
		p.Now = time.Now
	}
	return &builder{p: p, remembered: map[item.Digest]bool{}, store: &Store{
		keys:      map[sign.Fingerprint]*entry{},
		now:       p.Now,
		floor:     p.Floor,
		floorFrom: "the program itself",
		runtime:   p.Runtime,
		proofs:    p.Proofs,
	}}
}

// build decides about the documents that were read and returns the store. The
// steps form four groups: what is known of each key, trust from outside the
// project, revocations, and trust from the project. The project comes last, so
// that nothing it permits can influence the groups before.
func (b *builder) build() *Store {
	// Compiled-in keys must be first: documents about a key that is for embedded
	// items only are ignored by every later step.
	for _, a := range b.p.Anchors {
		b.compiledAnchor(a)
	}
	// The strongest tier must be first: the first document of an entry labels the
	// key and gives a successor its validity. All tiers must be read before the
	// first basis is made, because a conflict between two documents refuses both.
	for _, tier := range []Tier{TierSystem, TierUser, TierProject} {
		b.keyDocuments(tier)
	}
	// Revocations of keys by themselves need no other key. They precede those by
	// other keys, so that a refusal names the key's own revocation first.
	b.selfRevocations()

	// Trust from outside the project. Own keys must be known before grants: only
	// an own key can sign a grant.
	b.anchors()
	b.ownKeys()
	b.grants()
	b.pins()
	// Scopes must be known before the first question whether a key may endorse,
	// rotate or revoke. A grant narrows even if its signature is not valid, so
	// narrowing is collected before the bounds are computed.
	b.narrowing()
	for _, e := range b.store.keys {
		e.bound(b.p.Anchors)
	}
	// Chains of rotations start at the bases above. They must be followed before
	// revocations by other keys, because a successor of an anchor is an anchor.
	b.collectRotations()
	b.followRotations()

	// All revocations of keys must be known before publishers and lists: a
	// revoked key does not sign for either.
	b.foreignRevocations()
	// Publishers must precede the endorsements and acceptance of the project:
	// the project must not bring the keys that make its own publisher valid.
	b.publishers()
	// A publisher names keys that may revoke its releases.
	b.releaseRevocations()
	b.revocationLists()

	// Trust from the project. Endorsements need the anchors and their successors.
	b.endorsements()
	b.acceptance()
	if b.store.set.State != SetAccepted { // then the keys are trusted without them
		for _, x := range b.unanchored {
			b.report(x.path, x.finding)
		}
	}
	// The second pass follows rotations of keys that the project made trusted. It
	// skips the bases of the first pass.
	b.followRotations()

	// The rest only reports: it needs the final bases and revocations.
	b.remember()
	b.projectRevocations()
	b.projectRevoked()
	b.completeProposals()
	return b.store
}

// entry returns the entry of a key, a new one if there is none. pub is nil if
// only the fingerprint is known.
func (b *builder) entry(fp sign.Fingerprint, pub ed25519.PublicKey) *entry {
	e := b.store.keys[fp]
	if e == nil {
		e = &entry{key: fp}
		b.store.keys[fp] = e
	}
	if e.public == nil {
		e.public = pub
	}
	return e
}

// sorted returns the entries in the order of fingerprints, so that findings are
// the same in every run.
func (b *builder) sorted() []*entry {
	out := make([]*entry, 0, len(b.store.keys))
	for _, e := range b.store.keys {
		out = append(out, e)
	}
	slices.SortFunc(out, func(x, y *entry) int {
		return bytes.Compare(x.key[:], y.key[:])
	})
	return out
}

// report adds a finding about the document at that path.
func (b *builder) report(path string, f diag.Finding) {
	f.Path = path
	b.findings = append(b.findings, f)
}

// passed raises the time that is known to have passed to the signature of a
// document.
func (b *builder) passed(path string, signed time.Time) {
	if signed.After(b.store.floor) {
		b.store.floor = signed
		b.store.floorFrom = path
	}
}

// passedOwn is passed for a verified document of the user's directory, if an own key signed
// it. A document of another origin does not raise the time: the thief of an own key could
// stop every check with a date in the future.
func (b *builder) passedOwn(signer sign.Fingerprint, path string, signed time.Time) {
	if b.store.keys[signer].own() != nil {
		b.passed(path, signed)
	}
}
