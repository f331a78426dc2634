package trust

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// PublisherText is one text of one version of a publisher document, valid or
// still without enough signatures.
type PublisherText struct {
	*doc.Publisher
	Signed []sign.Fingerprint `json:"signed"`        // the root keys that signed it, also keys of the version before
	Counts bool               `json:"counts"`        // it is the valid version, or an earlier one
	Why    string             `json:"why,omitempty"` // why it is not valid
}

// PublisherTexts returns the known texts of a publisher, or of all if name is "",
// by name and version.
func (s *Store) PublisherTexts(name string) []PublisherText {
	return slices.DeleteFunc(slices.Clone(s.texts), func(x PublisherText) bool {
		return name != "" && x.Name != name
	})
}

// addText records a text and the keys that signed it: of its own root, and of
// the root of the version before.
func (b *builder) addText(x *edition, before []*edition, why string) {
	t := PublisherText{Publisher: x.Publisher, Counts: why == "", Why: why}
	for _, p := range append([]*edition{x}, before...) {
		for i, fp := range p.Root.Fingerprints() {
			one := doc.Role{Keys: p.Root.Keys[i : i+1], Threshold: 1}
			if !slices.Contains(t.Signed, fp) && b.signers(x, one, false) == 1 {
				t.Signed = append(t.Signed, fp)
			}
		}
	}
	b.store.texts = append(b.store.texts, t)
}

// publishers selects the valid version of each publisher document.
func (b *builder) publishers() {
	all := b.editions()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.versions(all[name])
	}
}

// versions follows the versions of one publisher. The first known version is
// valid if it is outside the project, or if enough of its root keys are trusted;
// each later one needs a threshold of the root keys of the version before and of
// its own. A remembered version stays valid, so that an earlier state of the
// project does not restore an earlier version.
func (b *builder) versions(list []*edition) {
	var top []*edition // more than one only if root keys signed two different texts of a version
	var before *edition
	var project *publisherCopy // of the newest version in the project
	for _, x := range list {
		i := slices.IndexFunc(x.docs, func(d *publisherCopy) bool {
			return d.tier == TierProject
		})
		if i >= 0 {
			project = x.docs[i]
		}
		why := b.notNext(x, top, before)
		b.addText(x, top, why.text)
		if why.text != "" {
			b.reportUnfit(x, why)
			continue
		}
		if len(top) > 0 && x.Version == top[0].Version {
			b.report(x.docs[0].Path, diag.Errorf(
				diag.TrustChanged,
				1,
				1,
				"its root keys signed another text of version %d too; both restrict",
				x.Version,
			))
			top = append(top, x)
		} else {
			if len(top) > 0 {
				before = top[0]
			}
			top = []*edition{x}
		}
		b.kept = append(b.kept, x.docs...)
		for _, d := range x.docs {
			b.markUsed(d.Path)
		}
	}
	if len(top) > 0 &&
		project != nil &&
		project.Publisher.Version < top[0].Version {
		b.report(project.Path, diag.Warnf(
			diag.Rollback,
			1,
			1,
			"the project has version %d of it, but version %d is known here and is used",
			project.Publisher.Version,
			top[0].Version,
		))
	}
	b.store.publishers = append(b.store.publishers, top...)
}

// unfit is why a text is not the next valid version.
type unfit struct {
	text     string
	stranger bool // no root key is trusted here: a project's document about another publisher is not reported
	gap      bool // a version is missing, which is an error; missing signatures may still come
}

func (b *builder) reportUnfit(x *edition, why unfit) {
	f := diag.Warnf(diag.Threshold, 1, 1, "it is not valid: %s", why.text)
	if why.gap {
		f.Severity = diag.SeverityError
	}
	if !why.stranger {
		b.report(x.docs[0].Path, f)
	}
}

// notNext returns why a text is not the next version, or zero if it is. top are
// the valid texts so far, before is the version before them.
func (b *builder) notNext(x *edition, top []*edition, before *edition) unfit {
	if len(top) > 0 && x.Version != top[0].Version {
		before = top[0]
	}
	signers := b.signers(x, x.Root, false)
	if signers < x.Root.Threshold {
		return unfit{text: missing(signers, x.Root, "root keys")}
	}
	if before == nil {
		// A remembered text was valid when it was first seen.
		trusted := b.signers(x, x.Root, true)
		if !x.seen && trusted < x.Root.Threshold {
			return unfit{text: missing(trusted, x.Root, "root keys that are trusted here"), stranger: true}
		}
		return unfit{}
	}
	if x.Version != before.Version+1 {
		return unfit{text: "version " + strconv.Itoa(before.Version+1) + ", which leads to it, is missing", gap: true}
	}
	previous := []*edition{before}
	if len(top) > 0 && x.Version == top[0].Version+1 {
		previous = top
	}
	if !slices.ContainsFunc(previous, func(p *edition) bool { return b.signers(x, p.Root, false) >= p.Root.Threshold }) {
		return unfit{text: missing(b.signers(x, before.Root, false), before.Root, "root keys of the version before")}
	}
	return unfit{}
}

func missing(n int, r doc.Role, of string) string {
	return strconv.Itoa(n) + " of its " + of + " signed it, " + strconv.Itoa(r.Threshold) + " must"
}

// edition is one text of one version, with all its signed copies.
type edition struct {
	*doc.Publisher
	docs []*publisherCopy
	seen bool // a copy is remembered
}

// signers returns how many keys of a role signed this text. A revoked key does
// not. With trusted, the copy of a project needs a key that is trusted without
// the project.
func (b *builder) signers(x *edition, r doc.Role, trusted bool) (n int) {
	for _, pub := range r.Keys {
		fp := sign.FingerprintOf(pub)
		e := b.store.keys[fp]
		if slices.ContainsFunc(x.docs, func(d *publisherCopy) bool {
			if d.Signer != fp ||
				d.SignedBy(pub) != nil ||
				e != nil && (e.weak || e.embeddedOnly || e.revokedAt(d.Signed) != nil) {
				return false
			}
			return !trusted || d.tier != TierProject || e != nil && len(e.bases) > 0
		}) {
			n++
		}
	}
	return n
}

// editions returns the texts of each publisher in the order of versions.
func (b *builder) editions() map[string][]*edition {
	out := map[string][]*edition{}
	for _, d := range b.docs.publishers {
		if !d.Named || d.Invalid != nil {
			continue
		}
		p := &d.Publisher
		i := slices.IndexFunc(out[p.Name], func(x *edition) bool {
			return x.Version == p.Version && x.Content == p.Content
		})
		if i < 0 {
			i = len(out[p.Name])
			out[p.Name] = append(out[p.Name], &edition{Publisher: p})
		}
		x := out[p.Name][i]
		x.docs = append(x.docs, d)
		x.seen = x.seen || d.seen
	}
	for _, list := range out {
		slices.SortFunc(list, func(x, y *edition) int {
			return cmp.Or(
				cmp.Compare(x.Version, y.Version),
				bytes.Compare(x.Content[:], y.Content[:]),
			)
		})
	}
	return out
}

// PublisherRule is the number of keys that must sign the releases of a
// publisher's bundles.
type PublisherRule struct {
	Publisher string             `json:"publisher"`
	Version   int                `json:"version"`
	Document  string             `json:"document"` // a path, safe to print
	Bundles   []string           `json:"bundles"`
	Keys      []sign.Fingerprint `json:"keys"`
	Threshold int                `json:"threshold"`
}

// String names the rule.
func (r PublisherRule) String() string {
	return fmt.Sprintf("the publisher document %s, version %d,", hidden.Visible(r.Publisher), r.Version)
}

// PublisherRules returns the rules of publishers for a bundle with these ids: that
// in its manifest, and that in a project. All rules apply.
func (s *Store) PublisherRules(ids ...string) []PublisherRule {
	var out []PublisherRule
	for _, x := range s.publishers {
		if !x.Names(ids...) {
			continue
		}
		out = append(out, PublisherRule{x.Name, x.Version, quoted(x.docs[0].Path), x.Bundles, x.Release.Fingerprints(), x.Release.Threshold})
	}
	return out
}

// Publishes reports whether any publisher document is valid.
func (s *Store) Publishes() bool {
	return len(s.publishers) > 0
}

// Publisher returns the valid version of a publisher document, or nil.
func (s *Store) Publisher(name string) *doc.Publisher {
	for _, x := range s.publishers {
		if x.Name == name {
			return x.Publisher
		}
	}
	return nil
}

// Have returns how many of the rule's keys are among the signers.
func (r PublisherRule) Have(signers []sign.Fingerprint) int {
	n := 0
	for _, fp := range r.Keys {
		if slices.Contains(signers, fp) {
			n++
		}
	}
	return n
}
