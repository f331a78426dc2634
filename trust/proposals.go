package trust

import (
	"bytes"
	"cmp"
	"encoding/pem"
	"path/filepath"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/tomlx"
	"github.com/ryeos/rye/sign"
)

// Proposal is a document that a project brings. By itself it grants nothing.
type Proposal struct {
	Path        string           `json:"path"`
	Kind        string           `json:"kind,omitempty"`
	Fingerprint sign.Fingerprint `json:"fingerprint"`
	Owner       string           `json:"owner,omitempty"` // safe to print
	Sound       bool             `json:"sound"`           // rye trust add would accept the document
	Legacy      bool             `json:"legacy,omitempty"`
	Known       bool             `json:"known"`  // the key counts already, without this document
	Counts      bool             `json:"counts"` // the document itself counts: endorsed, accepted, or a revocation or rotation
}

// Proposals returns what the project proposes, by path.
func (s *Store) Proposals() []Proposal { return slices.Clone(s.proposals) }

// folder names where in the project it lies.
func (p Proposal) folder() string {
	if p.Legacy {
		return ".ai/trusted_keys"
	}
	return ".ai/trust"
}

func ofOwner(name string) string {
	if name == "" {
		return ""
	}
	return " of " + name
}

// take keeps a parsed document and its findings.
func (b *builder) take(d *Document, fs []diag.Finding) {
	b.docs = append(b.docs, d)
	b.findings = append(b.findings, fs...)
	if d.Tier == TierProject {
		d.brought = true
		b.inSet(d, fs)
		if d.Kind == KindKey && d.named && slices.Contains(b.p.Roots, d.Fingerprint) {
			d.Tier, d.root = TierUser, true
		}
		b.store.proposals = append(b.store.proposals, Proposal{
			Path: d.Path, Kind: d.Kind, Fingerprint: cmp.Or(d.Fingerprint, d.Signer),
			Owner: hidden.Visible(d.Owner), Sound: !diag.Failed(fs),
		})
	}
}

func (s *Store) sortProposals() {
	for i := range s.proposals {
		p := &s.proposals[i]
		e := s.keys[p.Fingerprint]
		if e == nil || e.weak {
			continue
		}
		p.Counts = p.Counts || e.counts(p.Path)
		p.Known = slices.ContainsFunc(e.bases, func(x *basis) bool { return x.doc == nil || x.tier != TierProject || quoted(p.Path) != x.document })
	}
	slices.SortFunc(s.proposals, func(a, b Proposal) int { return cmp.Compare(a.Path, b.Path) })
}

// counts reports whether the document at that path has an effect: what counts
// by it, or is the same as what counts elsewhere.
func (e *entry) counts(path string) bool {
	is := func(d *Document) bool { return d != nil && d.Path == path }
	for _, x := range e.bases {
		if is(x.grant) || is(x.rotation) || is(x.doc) {
			return true
		}
		for _, d := range e.documents {
			if is(d) && x.doc != nil && x.doc.Digest == d.Digest {
				return true
			}
		}
	}
	return slices.ContainsFunc(e.revocations, is) || slices.ContainsFunc(e.rotations, is)
}

// proposing returns the proposals that bring this key.
func (s *Store) proposing(fp sign.Fingerprint) []Proposal {
	var out []Proposal
	for _, p := range s.proposals {
		if p.Fingerprint == fp && p.Kind == KindKey {
			out = append(out, p)
		}
	}
	return out
}

// readLegacy reads the keys that an earlier project carries in trusted_keys, as
// proposals and nothing else. A file there that is not understood is none.
func (b *builder) readLegacy(dir string) {
	names, err := documentNames(TierProject, dir)
	if err != nil {
		return
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		data, err := readDocument(TierProject, path)
		if b.projectBytes += len(data); b.projectBytes > MaxProject {
			return
		}
		if err != nil || len(data) > MaxDocument {
			continue
		}
		if p, ok := legacyProposal(path, data); ok {
			b.store.proposals = append(b.store.proposals, p)
		}
	}
}

func legacyProposal(path string, data []byte) (Proposal, bool) {
	doc, fs := tomlx.Parse(data)
	if doc == nil || diag.Failed(fs) {
		return Proposal{}, false
	}
	table, _ := doc.Root["public_key"].(map[string]any)
	text, _ := table["pem"].(string)
	pub := publicFromPEM([]byte(text))
	if pub == nil || sign.CheckKey(pub) != nil {
		return Proposal{}, false
	}
	owner, _ := doc.Root["owner"].(string)
	return Proposal{Path: path, Kind: KindKey, Fingerprint: sign.FingerprintOf(pub), Owner: hidden.Visible(owner), Legacy: true}, true
}

// publicFromPEM reads an Ed25519 key in its one DER form: twelve fixed bytes
// and the key.
func publicFromPEM(text []byte) []byte {
	block, _ := pem.Decode(text)
	prefix := []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}
	if block == nil || block.Type != "PUBLIC KEY" || len(block.Bytes) != len(prefix)+32 || !bytes.HasPrefix(block.Bytes, prefix) {
		return nil
	}
	return block.Bytes[len(prefix):]
}
