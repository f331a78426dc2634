package verify

import (
	"context"
	"path"
	"slices"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// manifests verifies every bundle manifest of the walk with the files it lists, and
// removes the manifests from the files to judge.
func (w *walk) manifests(ctx context.Context) error {
	for _, rel := range w.files {
		if !manifest(rel) {
			continue
		}
		if err := w.manifest(ctx, rel); err != nil {
			return err
		}
	}
	w.files = slices.DeleteFunc(w.files, manifest)
	return nil
}

func (w *walk) manifest(ctx context.Context, rel string) error {
	id, _ := bundle.ManifestID(path.Join(space.Dir, rel))
	tree, done, err := BundleTree(w.root)
	if err != nil {
		return err
	}
	defer done()
	in := trust.Input{Space: string(w.root.Space), Embedded: w.root.Embedded(), Path: rel}
	in = lockedManifest(w.root, rel, in)
	params := bundle.VerifyParams{
		Tree:             tree,
		ID:               id,
		Judge:            judge(w.p.Trust, in),
		JudgeCosignature: judgeBeside(w.p.Trust, in),
	}
	if w.root.Space == space.Project &&
		!w.root.Bundled() &&
		(w.root.OnDisk() || w.p.Ignored != nil) {
		params.LeftOut = LeftOut(w.p.Ignored)
	}
	params.Shared = w.root.Space == space.Project && !w.root.Bundled() // its author is about to publish it
	r, err := bundle.Verify(ctx, params)
	if err != nil {
		f := diag.Errorf(codeOf(err), 0, 0, "%s", err)
		w.finding(f, rel)
		return ctx.Err()
	}
	file := File{
		Space:  w.root.Label(),
		Path:   w.root.Display(rel),
		Bundle: id,
		Digest: r.Digest,
	}
	file.Verdict, _ = r.Verdict.(trust.Verdict)
	w.report.file(file, !w.p.CountOnly)
	for _, f := range r.Findings {
		if w.root.Bundled() {
			f.Path = path.Join(path.Dir(w.root.Display(".")), f.Path)
		}
		w.report.Findings = append(w.report.Findings, f)
	}
	return nil
}

// JudgeManifest returns a function that judges the signature of a bundle manifest.
func JudgeManifest(store *trust.Store, space, where string) func([]byte, sign.Subject) bundle.Verdict {
	return judge(store, trust.Input{Space: space, Path: where})
}

// JudgeCosignature returns a function that judges a co-signature of a bundle manifest.
func JudgeCosignature(store *trust.Store, space string) func(string, []byte, []byte, sign.Subject) bundle.Verdict {
	return judgeBeside(store, trust.Input{Space: space})
}

// lockedManifest returns in with the lock's record of the manifest at rel of a root.
// It is valid for co-signatures of that manifest too, which sign the same text.
func lockedManifest(root *space.Root, rel string, in trust.Input) trust.Input {
	if want := root.Manifest(); want != (item.Digest{}) {
		b, err := root.Read(rel, bundle.MaxManifest)
		if err == nil && item.DigestOf(b) == want {
			in.Locked = root.LockedSigner
		}
	}
	return in
}

func judgeBeside(store *trust.Store, in trust.Input) func(string, []byte, []byte, sign.Subject) bundle.Verdict {
	return func(at string, body, sig []byte, sub sign.Subject) bundle.Verdict {
		in := in
		in.Path = at
		in.Detached = sig
		in.DetachedOnly = true
		return judge(store, in)(body, sub)
	}
}

func judge(store *trust.Store, in trust.Input) func([]byte, sign.Subject) bundle.Verdict {
	in = trust.ManifestInput(in)
	return func(b []byte, sub sign.Subject) bundle.Verdict {
		in := in
		in.Bytes = b
		in.Subject = sub
		return store.Verify(in)
	}
}
