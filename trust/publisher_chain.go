package trust

import (
	"maps"
	"slices"
	"strconv"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
)

// PublisherText is one text of one version of a publisher document, whether it
// counts or still lacks signatures.
type PublisherText struct {
	*Publisher
	Signed []sign.Fingerprint `json:"signed"` // the keys of all roles, and of the root before, that signed it
	Counts bool               `json:"counts"`
	Why    string             `json:"why,omitempty"` // it does not
}

// PublisherTexts returns what is known of publisher documents, by name and
// version; "" asks for all.
func (s *Store) PublisherTexts(name string) []PublisherText {
	return slices.DeleteFunc(slices.Clone(s.texts), func(x PublisherText) bool { return name != "" && x.Name != name })
}

// text notes a text and who signed it: keys of its own root, and of the root
// before.
func (b *builder) text(x *edition, before []*edition, why string) {
	t := PublisherText{Publisher: x.Publisher, Counts: why == "", Why: why}
	for _, p := range append([]*edition{x}, before...) {
		for i, fp := range p.Root.Fingerprints() {
			one := Role{Keys: p.Root.Keys[i : i+1], Threshold: 1}
			if !slices.Contains(t.Signed, fp) && b.signed(x, one, false) {
				t.Signed = append(t.Signed, fp)
			}
		}
	}
	b.store.texts = append(b.store.texts, t)
}

// publishers decides which version of each publisher document counts.
func (b *builder) publishers() {
	all := b.editions()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.versions(all[name])
	}
}

// versions follows the versions of one publisher. The first one known counts by
// standing outside the project, or by root keys that count here; each later one
// by a threshold of the root keys before and one of its own. What is remembered
// goes on counting, so an older state brings nothing back.
func (b *builder) versions(list []*edition) {
	var top []*edition // more than one only when root keys signed two different texts
	var before *edition
	var project *Document // of the newest version that the project holds
	for _, x := range list {
		if d := x.inProject(); d != nil {
			project = d
		}
		why := b.follows(x, top, before)
		b.text(x, top, why.text)
		switch {
		case why.text != "":
			b.refuse(x, why)
			continue
		case len(top) > 0 && x.Version == top[0].Version:
			b.report(x.docs[0], diag.Errorf(diag.TrustChanged, 1, 1, "its root keys signed another text of version %d too; both restrict", x.Version))
			top = append(top, x)
		default:
			if len(top) > 0 {
				before = top[0]
			}
			top = []*edition{x}
		}
		b.kept = append(b.kept, x.docs...)
		b.counts(x)
	}
	if len(top) > 0 && project != nil && project.Publisher.Version < top[0].Version {
		b.report(project, diag.Warnf(diag.Rollback, 1, 1, "the project holds version %d of it, and version %d is known here: that one counts", project.Publisher.Version, top[0].Version))
	}
	b.store.publishers = append(b.store.publishers, top...)
}

// inProject returns a copy that the project holds, or nil.
func (x *edition) inProject() *Document {
	if i := slices.IndexFunc(x.docs, func(d *Document) bool { return d.Tier == TierProject }); i >= 0 {
		return x.docs[i]
	}
	return nil
}

// unfit is why a text does not count, and how bad that is: strangers' documents
// in a project are none of the reader's business, signatures may be yet to come.
type unfit struct {
	text     string
	stranger bool
	gap      bool // a version is missing
}

func (b *builder) refuse(x *edition, why unfit) {
	f := diag.Warnf(diag.Threshold, 1, 1, "it does not count: %s", why.text)
	switch {
	case why.stranger:
		return
	case why.gap:
		f.Severity = diag.SeverityError
	}
	b.report(x.docs[0], f)
}

// follows says why a text is not the next version, nothing when it is.
func (b *builder) follows(x *edition, top []*edition, before *edition) unfit {
	if len(top) > 0 && x.Version != top[0].Version {
		before = top[0]
	}
	switch {
	case !b.signed(x, x.Root, false):
		return unfit{text: missing(b.signers(x, x.Root, false), x.Root, "root keys")}
	case before == nil && x.seen:
		return unfit{} // it counted when it was remembered
	case before == nil && !b.signed(x, x.Root, true):
		return unfit{text: missing(b.signers(x, x.Root, true), x.Root, "root keys that count here"), stranger: true}
	case before != nil && x.Version != before.Version+1:
		return unfit{text: "version " + strconv.Itoa(before.Version+1) + ", which leads to it, is missing", gap: true}
	case before != nil && !slices.ContainsFunc(orOne(top, before, x), func(p *edition) bool { return b.signed(x, p.Root, false) }):
		return unfit{text: missing(b.signers(x, before.Root, false), before.Root, "root keys of the version before")}
	}
	return unfit{}
}

// orOne returns the texts that a new version may follow.
func orOne(top []*edition, before, x *edition) []*edition {
	if len(top) > 0 && x.Version == top[0].Version+1 {
		return top
	}
	return []*edition{before}
}

func missing(n int, r Role, of string) string {
	return strconv.Itoa(n) + " of its " + of + " signed it, " + strconv.Itoa(r.Threshold) + " must"
}

// counts marks what the project proposes and what has an effect.
func (b *builder) counts(x *edition) {
	for i := range b.store.proposals {
		p := &b.store.proposals[i]
		if slices.ContainsFunc(x.docs, func(d *Document) bool { return d.Path == p.Path }) {
			p.Counts = true
		}
	}
}
