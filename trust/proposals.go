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
	"github.com/ryeos/rye/trust/doc"
)

// Proposal is a document in a project. By itself it grants nothing.
type Proposal struct {
	Path        string           `json:"path"`
	Kind        string           `json:"kind,omitempty"`
	Fingerprint sign.Fingerprint `json:"fingerprint"`
	Owner       string           `json:"owner,omitempty"` // safe to print
	Sound       bool             `json:"sound"`           // AddDocument would accept the document
	Legacy      bool             `json:"legacy,omitempty"`
	Known       bool             `json:"known"`  // the key is trusted without this document
	Counts      bool             `json:"counts"` // the document is used: it is endorsed or accepted, or a valid revocation or rotation
}

// Proposals returns the documents of the project, by path.
func (s *Store) Proposals() []Proposal {
	return slices.Clone(s.proposals)
}

// folder returns the directory of the document in the project.
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

// propose adds a document of the project to the proposals and to the set.
func (b *builder) propose(d doc.Document, fs []diag.Finding) {
	h := d.Head()
	b.addToSet(d, fs)
	p := Proposal{
		Path:        h.Path,
		Kind:        h.Kind,
		Fingerprint: cmp.Or(d.About(), h.Signer),
		Sound:       !diag.Failed(fs),
	}
	if key, ok := d.(*doc.Key); ok {
		p.Owner = hidden.Visible(key.Owner)
	}
	b.store.proposals = append(b.store.proposals, p)
}

// markUsed records that the document at that path is used, if it is a proposal.
func (b *builder) markUsed(path string) {
	for i := range b.store.proposals {
		if p := &b.store.proposals[i]; p.Path == path {
			p.Counts = true
		}
	}
}

// completeProposals sorts the proposals and adds what the final entries state
// about them.
func (b *builder) completeProposals() {
	for i := range b.store.proposals {
		p := &b.store.proposals[i]
		e := b.store.keys[p.Fingerprint]
		if e == nil || e.weak {
			continue
		}
		p.Counts = p.Counts || e.uses(p.Path)
		p.Known = slices.ContainsFunc(e.bases, func(x *basis) bool {
			return x.doc == nil || x.tier != TierProject || quoted(p.Path) != x.document
		})
	}
	slices.SortFunc(b.store.proposals, func(x, y Proposal) int {
		return cmp.Compare(x.Path, y.Path)
	})
}

// uses reports whether the document at that path has an effect on the key: by
// itself, or because it is the same document as one that has.
func (e *entry) uses(path string) bool {
	for _, x := range e.bases {
		if x.grant != nil && x.grant.Path == path ||
			x.rotation != nil && x.rotation.Path == path ||
			x.doc != nil && x.doc.Path == path {
			return true
		}
		for _, d := range e.documents {
			if d.Path == path && x.doc != nil && x.doc.Digest == d.Digest {
				return true
			}
		}
	}
	return slices.ContainsFunc(e.revocations, func(d *revocation) bool {
		return d.Path == path
	}) ||
		slices.ContainsFunc(e.rotations, func(d *rotation) bool {
			return d.Path == path
		})
}

// proposing returns the proposals that are key documents about this key.
func (s *Store) proposing(fp sign.Fingerprint) []Proposal {
	var out []Proposal
	for _, p := range s.proposals {
		if p.Fingerprint == fp && p.Kind == doc.KindKey {
			out = append(out, p)
		}
	}
	return out
}

// readLegacy reads the keys in an earlier project's trusted_keys. They are only
// proposals. A file that cannot be parsed is skipped.
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
		if err != nil || len(data) > doc.MaxDocument {
			continue
		}
		if p, ok := legacyProposal(path, data); ok {
			b.store.proposals = append(b.store.proposals, p)
		}
	}
}

func legacyProposal(path string, data []byte) (Proposal, bool) {
	parsed, fs := tomlx.Parse(data)
	if parsed == nil || diag.Failed(fs) {
		return Proposal{}, false
	}
	table, _ := parsed.Root["public_key"].(map[string]any)
	text, _ := table["pem"].(string)
	pub := publicFromPEM([]byte(text))
	if pub == nil || sign.CheckKey(pub) != nil {
		return Proposal{}, false
	}
	owner, _ := parsed.Root["owner"].(string)
	return Proposal{
		Path:        path,
		Kind:        doc.KindKey,
		Fingerprint: sign.FingerprintOf(pub),
		Owner:       hidden.Visible(owner),
		Legacy:      true,
	}, true
}

// publicFromPEM returns an Ed25519 key from its only DER form, twelve fixed bytes
// and the key, or nil.
func publicFromPEM(text []byte) []byte {
	block, _ := pem.Decode(text)
	prefix := []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}
	if block == nil ||
		block.Type != "PUBLIC KEY" ||
		len(block.Bytes) != len(prefix)+32 ||
		!bytes.HasPrefix(block.Bytes, prefix) {
		return nil
	}
	return block.Bytes[len(prefix):]
}
