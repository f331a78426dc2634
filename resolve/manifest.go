package resolve

import (
	"path"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// Manifest is one bundle manifest of a root, as it was read. It is not verified.
type Manifest struct {
	ID     string // from the path
	Rel    string // below .ai
	Bytes  []byte
	Digest item.Digest // of Bytes
	Err    error       // why it cannot be read; Bytes is nil then
}

// Manifests reads the bundle manifests of a root, sorted by path. The error is
// why the directory of manifests cannot be listed.
func Manifests(root *space.Root) ([]Manifest, error) {
	var out []Manifest
	err := root.Walk(space.BundlesFolder, func(e space.Entry) error {
		id, ok := bundle.ManifestID(path.Join(space.Dir, e.Rel))
		if !ok || bundle.CheckID(id) != nil {
			return nil
		}
		m := Manifest{ID: id, Rel: e.Rel, Err: e.Err}
		if m.Err == nil {
			m.Bytes, m.Err = root.Read(e.Rel, bundle.MaxManifest)
		}
		if m.Err == nil {
			m.Digest = item.DigestOf(m.Bytes)
		}
		out = append(out, m)
		return nil
	})
	return out, err
}

// Files returns the digests of the files that the manifest lists, by path below
// .ai. ok is false if it does not parse or names another id than its path.
func (m Manifest) Files() (files map[string]item.Digest, ok bool) {
	parsed, fs := bundle.Parse(m.Bytes)
	if parsed == nil || diag.Failed(fs) || parsed.ID != m.ID {
		return nil, false
	}
	files = make(map[string]item.Digest, len(parsed.Files))
	for _, f := range parsed.Files {
		below, ok := strings.CutPrefix(f.Path, space.Dir+"/")
		if ok {
			files[below] = f.Digest
		}
	}
	return files, true
}

// input returns the input of the verdict on the manifest.
func (m Manifest) input(root *space.Root) trust.Input {
	return trust.ManifestInput(trust.Input{
		Space:    string(root.Space),
		Embedded: root.Embedded(),
		Path:     root.Display(m.Rel),
		Bytes:    m.Bytes,
		Subject:  bundle.Subject(m.ID),
		Locked: func(signer sign.Fingerprint) bool {
			return m.Digest == root.Manifest() && root.LockedSigner(signer)
		},
	})
}

// listing is the entry of one file in a trusted manifest.
type listing struct {
	digest item.Digest
	in     trust.Input // of the manifest
	line   sign.Line   // the manifest's signature
}

// byManifest returns the verdict on a file without a signature of its own: the verdict on
// a trusted manifest that lists these bytes, else the verdict it has.
// Items of the system bundle are listed as signed in its manifest, so its signature covers
// theirs. Line, hash, key, scope and revocation are judged for each item.
func (r *Resolver) byManifest(it *Item) trust.Verdict {
	l, ok := r.listings(it.Root)[it.Rel]
	switch {
	case !ok:
		return it.Verdict
	case l.digest != it.Digest:
		return trust.Verdict{Expected: l.digest.Hex(), Found: it.Digest.Hex()}.
			Refuse(diag.HashMismatch, "the content differs from the bundle manifest")
	}
	// The scope is checked for the file itself: a key with permission for one
	// namespace may name its bundle there and list files of another.
	in := l.in
	_, below, _ := strings.Cut(it.Rel, "/")
	in.Subject.ID = strings.TrimSuffix(below, path.Ext(below))
	// checked with the manifest
	in.Bytes = nil
	in.Text = false
	// A program can load any file below tools/, so the key needs permission for
	// tools, whatever the bundle's kind is.
	if strings.HasPrefix(it.Rel, toolFolder) {
		code := in
		code.Subject.Kind = string(item.Tool)
		verdict := r.p.Trust.Judge(code, l.line)
		if !verdict.OK() {
			return verdict
		}
	}
	return r.p.Trust.Judge(in, l.line)
}

// toolFolder contains programs and the files that they load.
const toolFolder = "tools/"

// listings returns the files that the trusted manifests of a root list, by path
// below .ai. It reads the manifests of each root once.
func (r *Resolver) listings(root *space.Root) map[string]listing {
	r.manifestMu.Lock() // not mu: the caller can hold it while it reads an extractor
	defer r.manifestMu.Unlock()
	if out, ok := r.listed[root]; ok {
		return out
	}
	out := map[string]listing{}
	// verify reports a manifest that cannot be listed, read or trusted. Here it
	// only lists no files.
	manifests, _ := Manifests(root)
	for _, m := range manifests {
		if m.Err != nil {
			continue
		}
		in := m.input(root)
		sp, err := sign.SplitFile(m.Bytes, in.Style)
		files, ok := m.Files()
		if err != nil || !ok || !r.p.Trust.Verify(in).OK() {
			continue
		}
		for rel, digest := range files {
			out[rel] = listing{digest, in, sp.Line}
		}
	}
	r.listed[root] = out
	return out
}
