package verify

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// manifests verifies every bundle manifest of the walk; what a trusted one
// lists is vouched for. A loose file that none lists is unsigned.
func (w *walk) manifests(ctx context.Context) error {
	vouched := map[string]string{}
	for _, rel := range w.files {
		if !manifest(rel) {
			continue
		}
		if err := w.manifest(ctx, rel, vouched); err != nil {
			return err
		}
	}
	w.files = slices.DeleteFunc(w.files, manifest)
	for _, rel := range w.loose {
		if id, ok := vouched[path.Join(".ai", rel)]; ok {
			w.report.Files = append(w.report.Files, File{Space: w.root.Label(), Path: w.root.Display(rel), Bundle: id, Verdict: trust.Verdict{Status: trust.Trusted}})
			continue
		}
		f := diag.Errorf(diag.Unsigned, 0, 0, "%s is neither an item nor listed in a bundle manifest", path.Base(rel))
		f.Fix = "rename it into the grammar of ids and sign it, list it with rye bundle create, or move it out of .ai"
		w.finding(f, rel)
	}
	return nil
}

func (w *walk) manifest(ctx context.Context, rel string, vouched map[string]string) error {
	id := strings.TrimPrefix(path.Dir(rel), "bundles/")
	tree, err := bundle.Folder(w.root.Base)
	if err != nil {
		return err
	}
	defer tree.Close()
	r, err := bundle.Verify(ctx, bundle.VerifyParams{Tree: tree, ID: id, Judge: JudgeManifest(w.p.Trust, string(w.root.Space), rel)})
	if err != nil {
		f := diag.Errorf(codeOf(err), 0, 0, "%s", err)
		w.finding(f, rel)
		return nil
	}
	file := File{Space: w.root.Label(), Path: w.root.Display(rel), Bundle: id, Digest: r.Digest}
	file.Verdict, _ = r.Verdict.(trust.Verdict)
	w.report.Files = append(w.report.Files, file)
	w.report.Findings = append(w.report.Findings, r.Findings...)
	if r.Manifest == nil || !file.Verdict.OK() {
		return nil
	}
	for _, f := range r.Manifest.Files {
		if !slices.Contains(r.Changed, f.Path) && !slices.Contains(r.Missing, f.Path) {
			vouched[f.Path] = id
		}
	}
	return nil
}

// JudgeManifest returns the judge of a bundle manifest's signature.
func JudgeManifest(store *trust.Store, space, where string) func([]byte, sign.Subject) bundle.Verdict {
	style, _ := sign.StyleByName("#")
	return func(b []byte, sub sign.Subject) bundle.Verdict {
		return store.Verify(trust.Input{
			Space: space, Path: where, Bytes: b, Style: style, Subject: sub, Use: "release",
			MaxSize: bundle.MaxManifest, Text: true,
		})
	}
}
