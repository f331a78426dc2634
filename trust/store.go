package trust

import (
	"crypto/ed25519"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
)

// Store answers which keys count. It does not change after Load and may be
// used by many goroutines at once. The zero Store trusts nothing.
type Store struct {
	keys      map[sign.Fingerprint]*entry
	proposals []Proposal
	blind     string    // a folder or file that could not be read
	floor     time.Time // an instant known to have passed
	floorFrom string    // where that is known from
	now       func() time.Time
}

// entry is everything known about one key.
type entry struct {
	key          sign.Fingerprint
	public       ed25519.PublicKey
	weak         bool // it may never be used
	embeddedOnly bool // its private half is public: documents about it say nothing
	conflict     bool // one tier holds two different documents about it
	bases        []basis
	bounds       Bounds
	documents    []*Document // valid key documents, strongest tier first
	grants       []*Document // grants that an own key signed
	narrowing    []*Document // every legible grant about it
	revocations  []*Document
	notes        []string // why something that names the key does not count
}

// basis is one reason to trust a key: a document and, in the user's folder, the
// grant that names it.
type basis struct {
	tier                Tier
	document            string // path or compiledIn, safe to print
	owner               string // safe to print
	own                 bool
	notBefore, notAfter time.Time // no notAfter: no end
	doc, grant          *Document // nil where compiled in, or not granted but anchored
	granter             *entry    // whose grant it is, nil for anchors and own keys
}

const compiledIn = "compiled in"

func (e *entry) own() *basis {
	if e == nil {
		return nil
	}
	for i := range e.bases {
		if e.bases[i].own {
			return &e.bases[i]
		}
	}
	return nil
}

// beyond returns the scope of the granter that does not cover this kind and
// id: nobody hands out what he does not hold, so a key for drafts can vouch for
// keys of drafts only. What the granter may do is another matter.
func (b *basis) beyond(kind, id string) (Bound, string) {
	if b.granter == nil {
		return Bound{}, ""
	}
	for _, x := range b.granter.bounds {
		switch {
		case !hasKind(x.Scope.Kinds, kind):
			return x, "kinds"
		case !inNamespace(x.Scope.Namespaces, id):
			return x, "namespaces"
		}
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
}

func newBuilder(p Params) *builder {
	if p.Now == nil {
		p.Now = time.Now
	}
	return &builder{p: p, store: &Store{
		keys: map[sign.Fingerprint]*entry{}, now: p.Now, floor: p.Floor, floorFrom: "the program itself",
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
