package verify

import (
	"context"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/resolve/space"
)

// filtered reports the files of the project that git stores with other bytes: their
// signatures are valid here and in no other clone. Git is asked only if the project or a
// directory above it has attributes.
func (w *walk) filtered(ctx context.Context) {
	if w.p.Filtered == nil ||
		w.root.Space != space.Project ||
		!w.root.OnDisk() ||
		w.root.Bundled() ||
		len(w.files) == 0 {
		return
	}
	if !w.attributes && !gitcmd.HasAttributes(w.root.Base) {
		return
	}
	paths := make([]string, len(w.files))
	for i, rel := range w.files {
		paths[i] = w.root.Display(rel)
	}
	attributes, err := w.p.Filtered(ctx, paths)
	if err != nil {
		f := diag.Warnf(codeOf(err), 0, 0, "whether git stores the bytes of these files is not known: %s", err)
		f.Path = w.root.Display(".")
		w.report.Findings = append(w.report.Findings, f)
	}
	for _, path := range paths {
		if attribute := attributes[path]; attribute != "" {
			w.report.Findings = append(w.report.Findings, bundle.ConvertedFile(path, attribute))
		}
	}
}
