package verify

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve/space"
)

// held is a refused file whose findings wait for git's answer.
type held struct {
	path     string
	file     *File // nil if no extractor matches the path
	findings []diag.Finding
}

// keep adds a file to the report.
func (w *walk) keep(h held) {
	if h.file != nil {
		w.add(*h.file, h.findings)
		return
	}
	w.report.Findings = append(w.report.Findings, h.findings...)
}

// add adds a judged file and its findings to the report.
func (w *walk) add(file File, findings []diag.Finding) {
	w.report.file(file, !w.p.CountOnly || file.Steps != nil)
	w.report.Findings = append(w.report.Findings, findings...)
}

// release adds the refused files that git does not ignore. Git is asked once, and not
// at all if every file is trusted.
func (w *walk) release(ctx context.Context) {
	var ignored map[string]bool
	if w.p.Ignored != nil &&
		!w.named &&
		len(w.held) > 0 &&
		w.root.Space == space.Project &&
		w.root.OnDisk() &&
		!w.root.Bundled() {
		paths := make([]string, len(w.held))
		for i, h := range w.held {
			paths[i] = h.path
		}
		ignored, _ = w.p.Ignored(ctx, paths) // the findings about a file that git does not judge stay
	}
	for _, h := range w.held {
		if ignored[h.path] {
			w.report.Ignored++
			continue
		}
		w.keep(h)
	}
	w.held = nil
}
