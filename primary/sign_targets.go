package primary

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

// targets returns the files that the targets of a call name, each once, by path.
// A path has no wildcards, because the shell expands them.
func (v *Verbs) targets(ctx context.Context, call SignCall) ([]signTarget, error) {
	seen := map[string]bool{}
	var out []signTarget
	for _, word := range call.Targets {
		found, err := v.target(ctx, word, call.Dir)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if key := f.root.Path(f.rel); !seen[key] {
				seen[key] = true
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(a, b signTarget) int {
		return strings.Compare(a.root.Path(a.rel), b.root.Path(b.rel))
	})
	return out, nil
}

func (v *Verbs) target(ctx context.Context, word, dir string) ([]signTarget, error) {
	if root, rel, ok, err := v.inSpace(word, dir); ok ||
		err != nil && !v.isProject(word, dir) {
		return v.withoutIgnored(ctx, v.below(root, rel)), err
	}
	if v.isProject(word, dir) {
		word = "*"
	}
	if strings.ContainsAny(word, "*?[") {
		entries, err := v.Match(ctx, word)
		var out []signTarget
		for _, e := range entries {
			out = append(out, signTarget{root: e.Root, rel: e.Rel, walked: true})
		}
		return v.withoutIgnored(ctx, out), err
	}
	ref, err := v.p.Resolver.Ref(ctx, word)
	if err != nil {
		return nil, err
	}
	it, err := v.p.Resolver.Inspect(ctx, ref)
	if err != nil {
		return nil, err
	}
	if it.Root.Space == space.System {
		return nil, diag.New(diag.PermissionDenied, "signing %s: it belongs to the system space, which is read-only", ref).WithReason("system_read_only")
	}
	return []signTarget{{root: it.Root, rel: it.Rel}}, nil
}

// isProject reports whether a path is the project's directory, or one above it, as "."
// usually is: all items of the project are meant.
func (v *Verbs) isProject(word, dir string) bool {
	project := v.p.Resolver.Spaces().ProjectDir
	if project == "" || item.CheckID(word) == nil {
		return false
	}
	p := word
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	rel, err := filepath.Rel(p, project)
	return err == nil && filepath.IsLocal(rel)
}

// inSpace returns the space that contains an existing path. A path outside every
// space is an error unless it is also a valid id.
func (v *Verbs) inSpace(word, dir string) (*space.Root, string, bool, error) {
	p := word
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	if _, err := os.Lstat(p); err != nil {
		return nil, "", false, nil
	}
	root, rel, ok := v.p.Resolver.Spaces().Locate(p)
	switch {
	case ok && root.Space == space.System:
		return nil, "", false, diag.New(diag.PermissionDenied, "signing %q: it belongs to the system space, which is read-only", word).WithReason("system_read_only")
	case !ok && item.CheckID(word) != nil:
		return nil, "", false, diag.New(diag.Usage, "signing %q: the path is outside every space", word).
			WithReason("outside_spaces").
			WithDetail("directory", space.Dir)
	}
	return root, rel, ok, nil
}

// below lists the files at or below rel that can have a signature. If listing
// fails, rel itself is the target, and signing it reports the error.
func (v *Verbs) below(root *space.Root, rel string) []signTarget {
	if root == nil {
		return nil
	}
	fi, err := os.Lstat(root.Path(rel))
	if err == nil && !fi.IsDir() {
		return []signTarget{{root: root, rel: strings.TrimSuffix(rel, extract.DetachedExt)}}
	}
	var out []signTarget
	err = root.Walk(rel, func(e space.Entry) error {
		if path.Ext(e.Rel) != extract.DetachedExt &&
			!atomicfile.Temporary(path.Base(e.Rel)) {
			out = append(out, signTarget{root, e.Rel, true})
		}
		return nil
	})
	if err != nil {
		out = append(out, signTarget{root: root, rel: rel})
	}
	return out
}

// withoutIgnored leaves out files that a pattern or a directory selected and that are
// not the project's: those that git ignores, and incidental ones without a signature.
func (v *Verbs) withoutIgnored(ctx context.Context, targets []signTarget) []signTarget {
	var paths []string
	for _, t := range targets {
		if t.walked && t.root.Space == space.Project && t.root.OnDisk() {
			paths = append(paths, t.root.Display(t.rel))
		}
	}
	var ignored map[string]bool
	if v.p.Ignored != nil && len(paths) > 0 {
		ignored, _ = v.p.Ignored(ctx, paths) // a file that git does not judge is one of the project
	}
	return slices.DeleteFunc(targets, func(t signTarget) bool {
		if !t.walked {
			return false
		}
		if extract.Incidental(t.rel) && !v.signed(ctx, t) ||
			v.record(ctx, t) {
			return true
		}
		return ignored[t.root.Display(t.rel)]
	})
}

// record reports whether a file is a record of a run: rye signs it itself.
func (v *Verbs) record(ctx context.Context, t signTarget) bool {
	folder, rest, _ := strings.Cut(t.rel, "/")
	if folder != "knowledge" || !trust.IsRecord(item.Ref{Kind: item.Knowledge, ID: rest}) {
		return false
	}
	it, err := v.p.Resolver.File(ctx, t.root, t.rel)
	return err == nil && it.Verdict.Runtime
}

// signed reports whether a file has a signature, or cannot be read.
func (v *Verbs) signed(ctx context.Context, t signTarget) bool {
	it, err := v.p.Resolver.File(ctx, t.root, t.rel)
	return err != nil || it.Verdict.Code != diag.Unsigned
}
