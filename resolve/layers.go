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

// place is a file that gives an id.
type place struct {
	root *space.Root
	rel  string
}

// locate returns the first root that holds the ref, and the path there. Two
// files for one id in one root have no answer, nor have two bundles of one
// space; a bundle that is locked and not there is an error when the search
// reaches it, for what it holds is not known. The first root stands alone: a
// bundle comes before what it needs.
func (r *Resolver) locate(ext *extract.Extractor, ref item.Ref, roots []*space.Root) (*space.Root, string, error) {
	paths := ext.Paths(ref.ID)
	wide := len(roots) > 0 && roots[0].Bundled() // a bundle sees all of what it needs
	for i := 0; i < len(roots); {
		n := 1
		for i > 0 && i+n < len(roots) && layersOfOne(roots[i], roots[i+n]) {
			n++
		}
		at, err := r.among(paths, ref, roots[i:i+n], wide)
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

// among returns the place of the ref in roots of one rank.
func (r *Resolver) among(paths []string, ref item.Ref, roots []*space.Root, wide bool) (place, error) {
	var found []place
	for _, root := range roots {
		if !supplies(root, ref) || !wide && !root.Offers(ref) {
			continue
		}
		if err := root.Ready(); err != nil {
			if IsReader(ref) {
				continue // or nothing could be read before rye sync
			}
			return place{}, err
		}
		rel, err := inRoot(paths, ref, root)
		if err != nil {
			return place{}, err
		}
		if rel != "" {
			found = append(found, place{root, rel})
		}
	}
	if len(found) > 1 {
		if preferred := slices.DeleteFunc(slices.Clone(found), func(p place) bool { return !p.root.Offers(ref) }); len(preferred) == 1 {
			found = preferred
		}
	}
	switch len(found) {
	case 0:
		return place{}, nil
	case 1:
		return found[0], nil
	}
	return place{}, ambiguous(ref, found)
}

func ambiguous(ref item.Ref, found []place) error {
	names := make([]string, len(found))
	for i, p := range found {
		names[i] = p.root.Label()
	}
	return diag.New(diag.AmbiguousItem, "finding %s: the bundles %s give the same id", ref, strings.Join(names, " and ")).
		WithHint("write under prefer in rye.yaml which one provides it, for example %q: %s, then rye lock", ref, found[0].root.Layer)
}

// inRoot returns the path of the ref in a root, "" when it holds none.
func inRoot(paths []string, ref item.Ref, root *space.Root) (string, error) {
	if !root.Embedded() && !root.Exists(path.Dir(paths[0])) {
		return "", nil // without the folder there is none of its files
	}
	found := slices.DeleteFunc(slices.Clone(paths), func(rel string) bool { return !root.Exists(rel) })
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	for i, rel := range found {
		found[i] = root.Display(rel)
	}
	return "", diag.New(diag.AmbiguousItem, "finding %s: %s give the same id", ref, strings.Join(found, " and ")).
		WithHint("remove or rename one of them")
}

// Collisions returns an AMBIGUOUS_ITEM finding for every id that two bundles of
// one space give and that prefer does not settle, shadowed or not.
func (r *Resolver) Collisions(ctx context.Context) ([]diag.Finding, error) {
	table, err := r.Table(ctx)
	if err != nil {
		return nil, err
	}
	var out []diag.Finding
	for _, ext := range table.All() {
		given := map[item.Ref]map[space.Name][]place{}
		for _, e := range r.entries(ext, slices.DeleteFunc(slices.Clone(r.roots), func(x *space.Root) bool { return !x.Bundled() })) {
			if given[e.Ref] == nil {
				given[e.Ref] = map[space.Name][]place{}
			}
			given[e.Ref][e.Root.Space] = append(given[e.Ref][e.Root.Space], place{e.Root, e.Rel})
		}
		for ref, spaces := range given {
			for _, places := range spaces {
				if len(places) > 1 && places[0].root != places[len(places)-1].root {
					err := ambiguous(ref, places)
					f := diag.Errorf(diag.AmbiguousItem, 0, 0, "%s", err)
					f.Fix = "prefer in rye.yaml names the one that provides it"
					out = append(out, f)
				}
			}
		}
	}
	diag.Sort(out)
	return out, ctx.Err()
}
