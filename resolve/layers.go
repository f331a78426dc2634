package resolve

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// file is a file that defines an id.
type file struct {
	root *space.Root
	rel  string
}

// locate returns the first root that contains the ref, and the path in it. It
// returns a nil root if there is none. Two files for one id in one root, or in
// two bundles of one space, are an error. A locked bundle that is not installed
// is an error when the search reaches it: it could contain the ref.
//
// The first root is searched alone: a bundle comes before the bundles it needs.
func (r *Resolver) locate(
	ext *extract.Extractor,
	ref item.Ref,
	roots []*space.Root,
) (*space.Root, string, error) {
	paths := ext.Paths(ref.ID)
	wide := len(roots) > 0 && roots[0].Bundled() // a bundle sees all items of the bundles it needs
	for i := 0; i < len(roots); {
		n := 1
		for i > 0 && i+n < len(roots) && layersOfOne(roots[i], roots[i+n]) {
			n++
		}
		at, err := r.among(paths, ref, roots[i:i+n], wide)
		if err == nil && at.root != nil {
			err = unlocked(paths, ref, at, roots[i+n:])
		}
		if err != nil || at.root != nil {
			return at.root, at.rel, err
		}
		i += n
	}
	return nil, "", nil
}

func layersOfOne(a, b *space.Root) bool {
	return a.Bundled() && b.Bundled() && a.Space == b.Space
}

// among returns the file of the ref in roots of one rank, the zero file without
// one. wide includes items that bundles do not offer to the space.
func (r *Resolver) among(
	paths []string,
	ref item.Ref,
	roots []*space.Root,
	wide bool,
) (file, error) {
	var found []file
	for _, root := range roots {
		if !supplies(root, ref) ||
			!wide && !root.Offers(ref) ||
			IsReader(ref) && root.Pending(ref) {
			continue // with readers of the project a stale lock could not be written again
		}
		if err := root.Ready(); err != nil {
			if IsReader(ref) {
				continue // extractors are needed before the first sync
			}
			return file{}, err
		}
		rel, err := inRoot(paths, ref, root)
		if err != nil {
			return file{}, err
		}
		if rel != "" {
			found = append(found, file{root, rel})
		}
	}
	if len(found) > 1 {
		preferred := slices.DeleteFunc(slices.Clone(found), func(p file) bool {
			return !p.root.Offers(ref)
		})
		if len(preferred) == 1 {
			found = preferred
		}
	}
	switch len(found) {
	case 0:
		return file{}, nil
	case 1:
		return found[0], nil
	}
	return file{}, ambiguous(ref, found)
}

// unlocked refuses a reserved item, and one that replaces the item of another space, if
// it is used because of a prefer that the lock does not reflect: no user accepted that.
// Further are the roots after the root of the item.
func unlocked(paths []string, ref item.Ref, at file, further []*space.Root) error {
	if !at.root.Pending(ref) {
		return nil
	}
	shadows := slices.ContainsFunc(further, func(r *space.Root) bool {
		rel, err := inRoot(paths, ref, r)
		return supplies(r, ref) && (err != nil || rel != "")
	})
	if !shadows && !space.Reserved(ref) {
		return nil
	}
	return diag.New(diag.LockStale, "finding %s: prefer of rye.yaml names the bundle %s for it, and rye.lock was written for other settings", ref, at.root.Label()).
		WithReason("prefer").
		WithDetail("ref", ref.String()).
		WithDetail("bundle", at.root.Layer)
}

func ambiguous(ref item.Ref, found []file) *diag.Error {
	names := make([]string, len(found))
	for i, p := range found {
		names[i] = p.root.Label()
	}
	return diag.New(diag.AmbiguousItem, "finding %s: the bundles %s have the same id", ref, strings.Join(names, " and ")).
		WithReason("prefer").
		WithDetail("ref", ref.String()).
		WithDetail("bundle", found[0].root.Layer)
}

// inRoot returns the path of the ref in a root, "" without one.
func inRoot(paths []string, ref item.Ref, root *space.Root) (string, error) {
	if !root.Embedded() && !root.Exists(path.Dir(paths[0])) {
		return "", nil // one check of the directory instead of one for each file
	}
	found := slices.DeleteFunc(slices.Clone(paths), func(rel string) bool {
		return !root.Exists(rel)
	})
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	for i, rel := range found {
		found[i] = root.Display(rel)
	}
	return "", diag.New(diag.AmbiguousItem, "finding %s: %s have the same id", ref, strings.Join(found, " and "))
}

// Collisions returns an AMBIGUOUS_ITEM finding for every id that two bundles of
// one space have and that prefer does not decide, shadowed or not.
func (r *Resolver) Collisions(ctx context.Context) ([]diag.Finding, error) {
	table, err := r.Table(ctx)
	if err != nil {
		return nil, err
	}
	var out []diag.Finding
	for _, ext := range table.All() {
		defined := map[item.Ref]map[space.Name][]file{}
		for _, e := range r.entries(ext, slices.DeleteFunc(slices.Clone(r.roots), func(x *space.Root) bool { return !x.Bundled() })) {
			if defined[e.Ref] == nil {
				defined[e.Ref] = map[space.Name][]file{}
			}
			defined[e.Ref][e.Root.Space] = append(
				defined[e.Ref][e.Root.Space],
				file{e.Root, e.Rel},
			)
		}
		for ref, spaces := range defined {
			for _, files := range spaces {
				if len(files) > 1 && files[0].root != files[len(files)-1].root {
					err := ambiguous(ref, files)
					out = append(out, diag.Errorf(err.Code, 0, 0, "%s", err).
						WithReason(err.Reason, "ref", ref, "bundle", files[0].root.Layer))
				}
			}
		}
	}
	diag.Sort(out)
	return out, ctx.Err()
}
