package trust

import (
	"crypto/ed25519"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/legacy"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Store answers which keys count. It does not change after Load and may be
// used by many goroutines at once. The zero Store trusts nothing.
type Store struct {
	keys      map[sign.Fingerprint]*entry
	proposals []Proposal
	legacy    legacy.Keys // of the earlier format: they check, they never count
	set       ProjectSet
	fresh     freshness
	revoked   Revoked
	withdrawn withdrawn // releases of bundles

	publishers []*edition // that count
	texts      []PublisherText
	unseen     []File // revocations and rotations of the project that are to be remembered
	known      func(item.Digest) (Moment, bool)
	blind      string    // a folder or file that could not be read
	floor      time.Time // an instant known to have passed
	floorFrom  string    // where that is known from
	now        func() time.Time
}

// entry is everything known about one key.
type entry struct {
	key          sign.Fingerprint
	public       ed25519.PublicKey
	weak         bool // it may never be used
	embeddedOnly bool // its private half is public: documents about it say nothing
	conflict     bool // one tier holds two different documents about it
	bases        []*basis
	bounds       Bounds      // of every tier
	above        Bounds      // without the project's
	agent        bool        // bounds allow nothing but drafts
	documents    []*Document // valid key documents, strongest tier first
	grants       []*Document // grants that an own key signed
	narrowing    []*Document // every legible grant about it
	revocations  []*Document
	rotations    []*Document // to successors; more than one different is none
	notes        []string    // why something that names the key does not count
	ignored      []string    // revocations and rotations that do not count
}

// basis is one reason to trust a key: a document that is an anchor by its
// place, or with it what vouches for it: a grant of the user, an endorsement of
// an anchor, the user's acceptance of the project's set, or the rotation of a
// key that counts.
type basis struct {
	tier                Tier
	document            string // path or compiledIn, safe to print
	owner               string // safe to print
	own                 bool
	accepted            bool
	notBefore, notAfter time.Time // no notAfter: no end
	doc, grant          *Document // nil where compiled in, or not granted but anchored

	granter  *entry // of a grant: the own key that signed it
	endorser *entry // of an endorsement, which then is grant

	rotation *Document // from the key before
	from     *entry
	prev     *basis // why the key before counts, or the endorser
	hops     int
	followed bool
}

const compiledIn = "compiled in"

func (e *entry) own() *basis {
	if e == nil {
		return nil
	}
	for _, x := range e.bases {
		if x.own {
			return x
		}
	}
	return nil
}

// beyond returns the scope outside the key's own documents that does not cover
// this kind, id and use: nobody hands out what he does not hold, so a key for
// drafts can vouch for keys of drafts only.
func (b *basis) beyond(kind, id, use string) (Bound, string) {
	switch {
	case b.rotation != nil:
		if x, part := b.from.bounds.denier(kind, id, use); part != "" {
			return x, part
		}
		return b.prev.beyond(kind, id, use)
	case b.endorser != nil:
		if part := b.grant.Scope.denies(kind, id, use); part != "" {
			return Bound{Scope: b.grant.Scope, Source: b.grant.Path}, part
		}
		return b.handsOn(kind, id, use)
	case b.granter != nil: // what the granter himself may do is another matter
		return b.granter.bounds.covers(kind, id)
	}
	return Bound{}, ""
}

// note adds why something about the key does not count.
func (e *entry) note(reason string) { e.notes = append(e.notes, reason) }

// builder turns documents into entries. Every step only takes away from what
// the documents wish.
type builder struct {
	p        Params
	docs     []*Document
	store    *Store
	findings []diag.Finding
	blind    string
	broken   []string             // what of the project could not be read
	seen     map[item.Digest]bool // what is remembered already

	kept         []*Document // of publishers that count
	projectBytes int         // of the project's documents so far
}

func newBuilder(p Params) *builder {
	if p.Now == nil {
		p.Now = time.Now
	}
	return &builder{p: p, seen: map[item.Digest]bool{}, store: &Store{
		keys: map[sign.Fingerprint]*entry{}, now: p.Now, floor: p.Floor, floorFrom: "the program itself", known: p.Known,
	}}
}

func (b *builder) build() *Store {
	b.store.blind = b.blind
	for _, a := range b.p.Anchors {
		b.anchor(a)
	}
	for _, tier := range []Tier{TierSystem, TierUser, TierProject} {
		b.keyDocuments(tier)
	}
	b.revocations()
	b.anchors()
	b.ownKeys()
	b.grants()
	b.narrowing()
	for _, e := range b.store.keys {
		e.bound(b.p.Anchors)
	}
	b.collectRotations()
	b.follow()
	b.foreignRevocations()
	b.publishers()
	b.releaseRevocations()
	b.revocationLists()
	b.endorsements()
	b.acceptance()
	b.follow()
	b.remember()
	b.projectRevocations()
	b.projectRevoked()
	b.store.sortProposals()
	return b.store
}

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

// report adds a finding about a document.
func (b *builder) report(d *Document, f diag.Finding) {
	f.Path = d.Path
	b.findings = append(b.findings, f)
}

// passed raises the instant that is known to have passed.
func (b *builder) passed(d *Document) {
	if d.Signed.After(b.store.floor) {
		b.store.floor, b.store.floorFrom = d.Signed, d.Path
	}
}
