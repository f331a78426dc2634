package resolve

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// pins is what the pinned manifest of one bundle lists, by path below .ai.
type pins struct {
	files   map[string]item.Digest
	refused *trust.Verdict // why nothing of the bundle counts, nil when it may
}

// pinned holds a file that counts by its own signature against the manifest
// that the lock pins: a good signature over other bytes than were locked is no
// excuse.
func (r *Resolver) pinned(it *Item) trust.Verdict {
	if !it.Verdict.OK() {
		return it.Verdict
	}
	if err := it.Root.Allowed(); err != nil {
		return forbidden(it.Verdict, err)
	}
	if it.Root.Manifest() == (item.Digest{}) {
		return it.Verdict
	}
	p := r.pinsOf(it.Root)
	if p.refused != nil {
		return *p.refused
	}
	want, listed := p.files[it.Rel]
	switch {
	case !listed:
		return differs(it.Verdict, diag.BundleFileExtra, "", it.Digest.Hex(), "the manifest of "+it.Root.Label()+" does not list it")
	case want != it.Digest:
		return differs(it.Verdict, diag.HashMismatch, want.Hex(), it.Digest.Hex(), "the content is not what the locked manifest of "+it.Root.Label()+" lists")
	}
	return it.Verdict
}

// forbidden turns a verdict into the refusal of a bundle by a rule.
func forbidden(v trust.Verdict, err error) trust.Verdict {
	v.Status, v.Code = trust.Untrusted, diag.CodeOf(err)
	v.Reasons = append([]string{err.Error()}, v.Reasons...)
	return v
}

// differs turns a verdict into a refusal that still tells who signed.
func differs(v trust.Verdict, code diag.Code, want, got, reason string) trust.Verdict {
	if v.Owner != "" {
		reason += "; what is there is signed by " + v.Owner + " (" + v.Signer.Short() + ")"
	}
	v.Status, v.Code, v.Expected, v.Found = trust.Invalid, code, want, got
	f := diag.Errorf(code, 0, 0, "%s", reason)
	f.Fix = "rye sync installs what is locked; rye update accepts another version"
	v.Reasons, v.Findings = append([]string{reason}, v.Reasons...), append([]diag.Finding{f}, v.Findings...)
	return v
}

// pinsOf reads the pinned manifest of a bundle, once.
func (r *Resolver) pinsOf(root *space.Root) *pins {
	r.vouchMu.Lock()
	once, ok := r.pinLists[root]
	if !ok {
		once = sync.OnceValue(func() *pins { return r.readPins(root) })
		r.pinLists[root] = once
	}
	r.vouchMu.Unlock()
	return once()
}

func (r *Resolver) readPins(root *space.Root) *pins {
	want := root.Manifest()
	var found item.Digest
	var who trust.Verdict
	var p *pins
	err := root.Walk(space.BundlesFolder, func(e space.Entry) error {
		id, ok := manifestID(e.Rel)
		if !ok || p != nil {
			return nil
		}
		b, err := root.Read(e.Rel, bundle.MaxManifest)
		if err != nil {
			return err
		}
		if found = item.DigestOf(b); found == want {
			p = listOf(b)
			if why := r.p.Trust.ManifestRevoked(bundle.Subject(id), b); why != "" {
				p.refused = &trust.Verdict{Status: trust.Untrusted, Code: diag.Revoked, Reasons: []string{why}}
			}
		} else {
			who = r.p.Trust.Verify(manifestInput(root, e.Rel, id, b))
		}
		return nil
	})
	if p != nil {
		return p
	}
	why, hex := "the manifest of "+root.Label()+" is not the one that the lock names (expected "+want.Hex()+", found "+found.Hex()+")", found.Hex()
	switch {
	case err != nil:
		why, hex = "the manifest of "+root.Label()+" cannot be read: "+err.Error(), ""
	case found == (item.Digest{}):
		why, hex = "the bundle "+root.Label()+" has no manifest, and the lock names one", ""
	}
	v := differs(who, diag.LockMismatch, want.Hex(), hex, why)
	return &pins{refused: &v}
}

// listOf reads a manifest whose bytes are the pinned ones.
func listOf(b []byte) *pins {
	m, fs := bundle.Parse(b)
	if m == nil || diag.Failed(fs) {
		v := differs(trust.Verdict{}, diag.LockMismatch, "", "", "the locked manifest cannot be read")
		return &pins{refused: &v}
	}
	p := &pins{files: make(map[string]item.Digest, len(m.Files))}
	for _, f := range m.Files {
		if below, ok := strings.CutPrefix(f.Path, space.Dir+"/"); ok {
			p.files[below] = f.Digest
		}
	}
	return p
}

// manifestInput is what the verdict about a manifest is made from.
func manifestInput(root *space.Root, rel, id string, b []byte) trust.Input {
	style, _ := sign.StyleByName("#")
	return trust.Input{
		Space: string(root.Space), Embedded: root.Embedded(), Path: root.Display(rel), Bytes: b, Style: style,
		Subject: bundle.Subject(id), Use: "release", MaxSize: bundle.MaxManifest, Text: true,
	}
}

// Manifests returns the paths of the bundle manifests of a root, below .ai.
func Manifests(root *space.Root) []string {
	var out []string
	// A folder that cannot be listed holds no manifest that counts.
	_ = root.Walk(space.BundlesFolder, func(e space.Entry) error {
		if _, ok := manifestID(e.Rel); ok && e.Type == 0 && path.Base(e.Rel) == "manifest.yaml" {
			out = append(out, e.Rel)
		}
		return nil
	})
	slices.Sort(out)
	return out
}
