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

// voucher is what the trusted manifests of one root say of its files.
type voucher map[string]vouched // by path below .ai

type vouched struct {
	digest item.Digest
	in     trust.Input // what the manifest was verified as
	line   sign.Line   // its signature
}

// vouch returns the verdict of a file that carries no signature of its own:
// that of a manifest which lists these very bytes, or the one it had.
func (r *Resolver) vouch(it *Item) trust.Verdict {
	v, ok := r.voucher(it.Root)[it.Rel]
	switch {
	case !ok:
		return it.Verdict
	case v.digest != it.Digest:
		return trust.Verdict{Status: trust.Invalid, Code: diag.HashMismatch,
			Expected: v.digest.Hex(), Found: it.Digest.Hex(),
			Reasons: []string{"the content is not what the bundle manifest lists"}}
	}
	in := v.about(it.Rel)
	if strings.HasPrefix(it.Rel, toolFolder) { // a program may load it, whatever it is
		code := in
		code.Subject.Kind = string(item.Tool)
		if verdict := r.p.Trust.Judge(code, v.line); !verdict.OK() {
			return verdict
		}
	}
	return r.p.Trust.Judge(in, v.line)
}

// toolFolder holds what runs and what that loads.
const toolFolder = "tools/"

// about asks for the scope over the file itself: a key that counts for one
// namespace may name its bundle there and list files of another.
func (v vouched) about(rel string) trust.Input {
	in := v.in
	_, below, _ := strings.Cut(rel, "/")
	in.Subject.ID = strings.TrimSuffix(below, path.Ext(below))
	in.Bytes, in.Text = nil, false // looked at when the manifest was verified
	return in
}

// voucher reads the manifests of a root, once. One that is not trusted, or
// cannot be read, vouches for nothing; verify says why.
func (r *Resolver) voucher(root *space.Root) voucher {
	r.vouchMu.Lock() // not mu, which is held while an extractor is read
	defer r.vouchMu.Unlock()
	if v, ok := r.vouchers[root]; ok {
		return v
	}
	out := voucher{}
	// A folder that cannot be listed holds no manifest that counts.
	_ = root.Walk("bundles", func(e space.Entry) error {
		if id, ok := manifestID(e.Rel); ok && e.Type == 0 {
			r.addManifest(out, root, e.Rel, id)
		}
		return nil
	})
	r.vouchers[root] = out
	return out
}

func manifestID(rel string) (string, bool) {
	dir, file := path.Split(rel)
	id := strings.TrimSuffix(strings.TrimPrefix(dir, "bundles/"), "/")
	return id, file == "manifest.yaml" && bundle.CheckID(id) == nil
}

func (r *Resolver) addManifest(out voucher, root *space.Root, rel, id string) {
	b, err := root.Read(rel, bundle.MaxManifest)
	if err != nil {
		return
	}
	in := manifestInput(root, rel, id, b)
	sp, err := sign.SplitFile(b, in.Style)
	m, fs := bundle.Parse(b)
	if err != nil || !r.p.Trust.Verify(in).OK() || m == nil || diag.Failed(fs) || m.ID != id {
		return
	}
	for _, f := range m.Files {
		if below, ok := strings.CutPrefix(f.Path, space.Dir+"/"); ok {
			out[below] = vouched{f.Digest, in, sp.Line}
		}
	}
}
