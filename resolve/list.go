package resolve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// Entry is one file that defines an item's id. It is not read.
type Entry struct {
	Ref    item.Ref
	Root   *space.Root
	Rel    string
	Shadow bool // another root defines the ref, so this file is not used
	Alone  bool // the listing saw no detached signature of the file
}

// All lists the items of a kind in every space, by id, then precedence.
func (r *Resolver) All(ctx context.Context, k item.Kind) ([]Entry, error) {
	ext, err := r.Extractor(ctx, k)
	if err != nil {
		return nil, err
	}
	return r.entries(ext, r.roots), nil
}

// Own lists the items of a kind in the spaces that own selects, as All does. Files of
// spaces behind them shadow nothing in these, so they are not listed.
func (r *Resolver) Own(
	ctx context.Context,
	k item.Kind,
	selects func(*space.Root) bool,
) ([]Entry, error) {
	ext, err := r.Extractor(ctx, k)
	if err != nil {
		return nil, err
	}
	n := len(r.roots)
	for n > 0 && !selects(r.roots[n-1]) {
		n--
	}
	return slices.DeleteFunc(
		r.entries(ext, r.roots[:n]),
		func(e Entry) bool { return !selects(e.Root) },
	), nil
}

func (r *Resolver) entries(ext *extract.Extractor, roots []*space.Root) []Entry {
	var out []Entry
	seen := map[item.Ref]bool{}
	var here []item.Ref // of this root and the bundles of the same rank
	signed := map[string]bool{}
	for i, root := range roots {
		if i > 0 && !layersOfOne(roots[i-1], root) {
			for _, ref := range here {
				seen[ref] = true
			}
			here = here[:0]
		}
		clear(signed)
		first := len(out)
		// A directory that cannot be read is an error of reading an item in it.
		_ = root.Walk(ext.Folder, func(e space.Entry) error {
			if of, detached := strings.CutSuffix(e.Rel, extract.DetachedExt); detached {
				signed[of] = true
				return nil
			}
			p, ok := ext.Classify(e.Rel)
			if ok && !p.Ref.IsZero() && root.Offers(p.Ref) {
				out = append(out, Entry{
					Ref:    p.Ref,
					Root:   root,
					Rel:    e.Rel,
					Shadow: seen[p.Ref] || !supplies(root, p.Ref),
				})
				if supplies(root, p.Ref) {
					here = append(here, p.Ref)
				}
			}
			return nil
		})
		for i := range out[first:] { // of the index of git, only files that it has already are listed
			out[first+i].Alone = root.OnDisk() && !signed[out[first+i].Rel]
		}
	}
	slices.SortStableFunc(out, func(a, b Entry) int {
		return cmp.Compare(a.Ref.ID, b.Ref.ID)
	})
	return out
}

// Open loads a listed entry, whatever its verdict.
func (r *Resolver) Open(ctx context.Context, e Entry) (*Item, error) {
	ext, err := r.Extractor(ctx, e.Ref.Kind)
	if err != nil {
		return nil, err
	}
	return r.load(ctx, e.Root, e.Rel, extract.Match{Extractor: ext, Type: typeOf(ext, e.Rel), Ref: e.Ref})
}

// Shadows returns every file that defines the ref: first the one that Find uses,
// then the shadowed ones by precedence, then copies of a sealed item.
func (r *Resolver) Shadows(ctx context.Context, ref item.Ref) ([]Entry, error) {
	ext, err := r.Extractor(ctx, ref.Kind)
	if err != nil {
		return nil, err
	}
	var used, unused []Entry
	for _, root := range r.roots {
		for _, rel := range ext.Paths(ref.ID) {
			switch {
			case !root.Offers(ref) || !root.Exists(rel):
			case supplies(root, ref):
				used = append(used, Entry{
					Ref:    ref,
					Root:   root,
					Rel:    rel,
					Shadow: len(used) > 0,
				})
			default:
				unused = append(unused, Entry{
					Ref:    ref,
					Root:   root,
					Rel:    rel,
					Shadow: true,
				})
			}
		}
	}
	return append(used, unused...), nil
}

// Ref parses "kind:id", or an id alone that exactly one kind has in any space.
func (r *Resolver) Ref(ctx context.Context, word string) (item.Ref, error) {
	if strings.Contains(word, ":") {
		return item.ParseRef(word, "")
	}
	if err := item.CheckID(word); err != nil {
		return item.Ref{}, err
	}
	table, err := r.Readable(ctx)
	if err == nil {
		err = r.refusedID(word)
	}
	if err != nil {
		return item.Ref{}, err
	}
	var found []string
	for _, ext := range table.All() {
		ref := item.Ref{Kind: ext.Kind, ID: word}
		entries, err := r.Shadows(ctx, ref)
		if err != nil {
			return item.Ref{}, err
		}
		if len(entries) > 0 {
			found = append(found, ref.String())
		}
	}
	switch len(found) {
	case 1:
		return item.ParseRef(found[0], "")
	case 0:
		if err := r.refusedKinds()[item.Tool]; err != nil {
			return item.Ref{}, err // the id can name a tool, and no tool can be read
		}
		return item.Ref{}, r.unknown(ctx, word, table)
	}
	return item.Ref{}, diag.New(
		diag.AmbiguousItem,
		"finding %q: it can be %s",
		word,
		strings.Join(found, " or "),
	).
		WithReason("kind").WithDetail("ref", found[0])
}

// maxNamed is the number of items that an error about an unknown id lists.
const maxNamed = 5

// unknown returns the error about an id that no kind has. It lists the items of all kinds whose ids
// end with it.
func (r *Resolver) unknown(ctx context.Context, word string, table *extract.Table) error {
	err := r.missing(
		ctx,
		item.Ref{Kind: item.Tool, ID: word},
		table.Kind(item.Tool),
		r.roots,
		diag.ItemNotFound,
	)
	e := diag.Typed(err)
	if e.Code != diag.ItemNotFound || e.Reason == "reserved" {
		return err
	}
	var named, typed []string
	of := map[string]string{} // refs by their ids and names
	for _, ext := range table.All() {
		for _, entry := range r.entries(ext, r.roots) {
			ref := entry.Ref
			if strings.HasSuffix(ref.ID, "/"+word) {
				named = append(named, ref.String())
			}
			for _, text := range []string{ref.ID, ref.Name()} {
				if of[text] == "" {
					typed, of[text] = append(typed, text), ref.String()
				}
			}
		}
	}
	if len(named) == 0 {
		near := suggest.Nearest(word, typed)
		if near != "" && e.Reason == "" {
			return e.WithReason("nearest").WithDetail("nearest", of[near])
		}
		return err
	}
	text := strings.Join(named[:min(len(named), maxNamed)], ", ")
	if more := len(named) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return diag.New(diag.ItemNotFound, "finding %q: no item has this id; items with this name: %s", word, text).
		WithReason("named").
		WithDetail("ref", named[0]).
		WithDetail("refs", named)
}
