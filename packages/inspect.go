package packages

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// Inspection is what a release contains, read before any of it is trusted.
type Inspection struct {
	ID         string          `json:"id"`
	Version    string          `json:"version"`
	URL        string          `json:"url,omitempty"`
	Commit     string          `json:"commit,omitempty"`
	Name       string          `json:"manifest_id"`
	Manifest   item.Digest     `json:"manifest,omitzero"`
	FirstSeen  time.Time       `json:"first_seen,omitzero"` // by this account; zero: never before
	Signers    []ReleaseSigner `json:"signers"`
	Items      []ReleaseItem   `json:"items"`
	Exec       []string        `json:"exec"`
	Caps       []string        `json:"caps"`
	Hosts      []string        `json:"hosts"`
	Kinds      []string        `json:"kinds"`      // that a key needs to sign the release
	Namespaces []string        `json:"namespaces"` // likewise
	Verified   bool            `json:"verified"`   // always false: no judgement was made

	text []byte // of the manifest
}

// SignedBy returns nil if that key made the signature in the manifest.
func (in *Inspection) SignedBy(pub ed25519.PublicKey) error {
	_, err := sign.Verify(
		in.text,
		sign.Hash(),
		bundle.Subject(in.Name),
		sign.OnlyKey(pub),
	)
	return err
}

// ReleaseSigner is a key that a manifest's signature names.
type ReleaseSigner struct {
	Key      sign.Fingerprint `json:"key"`
	Verdict  string           `json:"verdict"`         // trusted, or the code of the refusal
	Owner    string           `json:"owner,omitempty"` // according to a trusted document
	Document []byte           `json:"-"`               // the file about the key that the repository has, not checked; nil: none
}

// ReleaseItem is one item of a release.
type ReleaseItem struct {
	Ref  string   `json:"ref"`
	Type string   `json:"type,omitempty"`
	Asks []string `json:"asks,omitempty"` // capabilities, and hosts as net:HOST
}

// trustDir is where a repository keeps the documents of its keys.
const trustDir = space.Dir + "/trust"

// maxTrustDocument is the size of a trust document.
const maxTrustDocument = 64 << 10

// Inspect lists the contents of a release. It fetches the release into the cache and
// judges nothing: an unknown signer is not an error. The rules about sources apply.
func (e *Engine) Inspect(ctx context.Context, q Query) (*Inspection, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	rs := e.rules(st.project)
	err = rs.Source(lock.Module{ID: q.ID, Version: q.Version})
	if err != nil {
		return nil, err
	}
	o, err := e.p.Source.Resolve(ctx, q.ID, q.Version)
	if err != nil {
		return nil, err
	}
	mod := lock.Module{ID: q.ID, Version: o.Version}
	e.report(Fetching, mod)
	snap, err := e.p.Source.Fetch(ctx, o)
	if err != nil {
		return nil, err
	}
	snap.Keep()
	defer snap.Release()
	in := &Inspection{
		ID:      mod.ID.String(),
		Version: mod.Version,
		URL:     snap.Origin.URL,
		Commit:  snap.Origin.Commit,
		Signers: []ReleaseSigner{},
		Items:   []ReleaseItem{},
		Exec:    []string{},
		Caps:    []string{},
		Hosts:   []string{},
	}
	sights, err := e.readSights()
	if err != nil {
		return nil, err
	}
	in.FirstSeen = sights[sightKey(lock.Bundle{ID: mod.ID, Version: mod.Version, Commit: in.Commit})]
	if err := e.inspectContents(ctx, in, snap); err != nil {
		return nil, err
	}
	if in.Name, err = manifestID(mod, snap); err != nil {
		return in, diag.Doing("inspecting "+mod.String(), err)
	}
	in.Kinds, in.Namespaces = e.releaseScope(ctx, rs, mod.ID, in.Name, snap)
	return in, e.inspectSigners(ctx, in, snap)
}

// inspectContents fills in the items and what they ask for.
func (e *Engine) inspectContents(ctx context.Context, in *Inspection, snap *source.Snapshot) error {
	for _, f := range snap.Files {
		if f.Executable {
			in.Exec = append(in.Exec, f.Path)
		}
	}
	if e.p.Contents == nil {
		return nil
	}
	list, err := e.p.Contents(ctx, snap)
	if err != nil {
		return err
	}
	for _, c := range list {
		for _, x := range c.Asks {
			if host, ok := strings.CutPrefix(x, "net:"); ok {
				in.Hosts = append(in.Hosts, host)
			} else {
				in.Caps = append(in.Caps, x)
			}
		}
		if !c.Ref.IsZero() {
			in.Items = append(in.Items, ReleaseItem{Ref: c.Ref.String(), Type: c.Type, Asks: c.Asks})
		}
	}
	for _, l := range []*[]string{&in.Hosts, &in.Caps} {
		slices.Sort(*l)
		*l = slices.Compact(*l)
	}
	slices.SortFunc(in.Items, func(a, b ReleaseItem) int {
		return cmp.Compare(a.Ref, b.Ref)
	})
	return nil
}

// inspectSigners fills in the keys that the signatures name, and the documents about
// them in the repository.
func (e *Engine) inspectSigners(ctx context.Context, in *Inspection, snap *source.Snapshot) error {
	where := bundle.ManifestPath(in.Name)
	r, err := bundle.Verify(ctx, bundle.VerifyParams{
		Tree: snap.Tree(),
		ID:   in.Name,
		Judge: func(text []byte, sub sign.Subject) bundle.Verdict {
			in.text, in.Manifest = slices.Clone(text), item.DigestOf(text)
			return e.verdict(where, text, nil, sub, nil)
		},
		JudgeCosignature: func(at string, body, sig []byte, sub sign.Subject) bundle.Verdict {
			return e.verdict(at, body, sig, sub, nil)
		},
	})
	if err != nil {
		return err
	}
	for _, s := range r.Signatures {
		if s.Key == (sign.Fingerprint{}) {
			continue
		}
		x := ReleaseSigner{Key: s.Key}
		if v, ok := s.Verdict.(trust.Verdict); ok {
			x.Verdict = v.Word()
			x.Owner = v.Owner
		}
		// An unreadable document is the same as none: the user gets it elsewhere.
		name := path.Join(trustDir, "key-"+s.Key.String()+".toml")
		b, err := source.ReadFile(ctx, e.p.Source, snap.Origin, name, maxTrustDocument)
		if err == nil {
			x.Document = b
		} else if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		in.Signers = append(in.Signers, x)
	}
	return nil
}
