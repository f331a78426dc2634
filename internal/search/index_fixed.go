package search

import (
	"context"
	"maps"
	"path"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// fixedDigest returns the digest that determines all files of a root: for an installed bundle
// the manifest's digest in the lock, without reading the manifest, or the digest of the
// embedded bundle. It is zero for a root whose files may change.
func fixedDigest(root *space.Root) item.Digest {
	switch {
	case root.Embedded():
		manifests, _ := resolve.Manifests(root)
		var all []byte
		for _, m := range manifests {
			all = append(all, m.Bytes...)
		}
		return item.DigestOf(all)
	case root.ReadOnly():
		return root.Manifest()
	}
	return item.Digest{}
}

// listed returns the files in the manifests of a root. Of an installed bundle only
// the locked manifest is used.
func listed(root *space.Root) map[string]item.Digest {
	out := map[string]item.Digest{}
	manifests, _ := resolve.Manifests(root)
	for _, m := range manifests {
		if root.ReadOnly() && m.Digest != root.Manifest() {
			continue
		}
		files, _ := m.Files()
		maps.Copy(out, files)
	}
	return out
}

// readFixed reads all items of a root as one segment. sound is true if every file
// matches its manifest. Only then may the segment be kept under the manifest's
// digest: otherwise a changed copy of a bundle could put other words into the
// index of the original.
func (f *fields) readFixed(ctx context.Context, root *space.Root) (s *segment, sound bool, err error) {
	files, walkErr := f.files(ctx, root)
	b := newBuilder(f)
	list := listed(root)
	sound = walkErr == nil && len(files) == f.count(list)
	err = f.documents(ctx, root, files, nil, func(_ int, c *content, d *document) {
		sound = sound && c.isListed(list)
		if d != nil {
			b.add(d)
		}
	})
	if err != nil {
		return nil, false, err
	}
	s, ok := openSegment(string(b.bytes()), f)
	if !ok {
		panic("search: a segment that was just written cannot be read")
	}
	return s, sound, walkErr
}

// isListed reports whether the bytes match the manifest.
func (c *content) isListed(list map[string]item.Digest) bool {
	want, ok := list[c.rel]
	if c.err != nil || !ok || want != item.DigestOf(c.bytes) {
		return false
	}
	return c.sig == nil || list[c.rel+extract.DetachedExt] == item.DigestOf(c.sig)
}

// count returns the number of files in a manifest that may be items.
func (f *fields) count(list map[string]item.Digest) (n int) {
	for rel := range list {
		for _, ext := range f.exts {
			p, ok := ext.Classify(rel)
			if ok && !p.Ref.IsZero() && path.Ext(rel) != extract.DetachedExt {
				n++
			}
		}
	}
	return n
}
