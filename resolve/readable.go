package resolve

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
)

// Readable is Table without the kinds whose extractor is refused, so that one bad
// extractor does not keep the items of other kinds from being read. Notes has the reason
// of each kind that is left out, and Refused the error of a path. What writes a lock or a
// bundle uses Table: it must not leave out items. If every extractor is refused, so does
// Readable: there is nothing to list.
func (r *Resolver) Readable(ctx context.Context) (*extract.Table, error) {
	t, unread := r.Table(ctx)
	if unread == nil || ctx.Err() != nil {
		return t, unread
	}
	r.readers.mu.Lock()
	t = r.readers.readable
	r.readers.mu.Unlock()
	if t != nil {
		return t, nil
	}
	kinds, err := r.readers.all()
	if err != nil {
		return nil, err
	}
	t = &extract.Table{}
	refused := map[item.Kind]error{}
	for _, k := range kinds {
		ext, err := r.Extractor(ctx, k)
		if err == nil {
			err = t.Add(ext)
		}
		if err != nil {
			refused[k] = err
			r.note("", "the items of kind %s are left out: %s", k, err)
		}
	}
	if len(t.All()) == 0 {
		return nil, unread
	}
	if ctx.Err() == nil {
		r.readers.mu.Lock()
		r.readers.readable = t
		r.readers.refused = refused
		r.readers.mu.Unlock()
	}
	return t, ctx.Err()
}

// Refused returns the error of the extractor that would read the path rel, if Readable
// has left its kind out. The directory of a kind that rye has not compiled in is not
// known without its extractor: nil.
func (r *Resolver) Refused(rel string) error {
	folder, _, _ := strings.Cut(rel, "/")
	for k, err := range r.refusedKinds() {
		b := extract.Boot().Kind(k)
		if b != nil && b.Folder == folder {
			return err
		}
	}
	return nil
}

// refusedID returns the error of an extractor that Readable has left out, if a file has
// the path of an item of this kind and id: the id alone could mean that item.
func (r *Resolver) refusedID(id string) error {
	kinds := r.refusedKinds()
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		b := extract.Boot().Kind(k)
		if b == nil {
			continue
		}
		for _, root := range r.roots {
			if slices.ContainsFunc(b.Paths(id), root.Exists) {
				return kinds[k]
			}
		}
	}
	return nil
}

// RefusedKind is a kind that Readable has left out.
type RefusedKind struct {
	Kind item.Kind
	Err  error
}

// RefusedKinds returns the kinds that Readable has left out, by name.
func (r *Resolver) RefusedKinds() []RefusedKind {
	kinds := r.refusedKinds()
	var out []RefusedKind
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		out = append(out, RefusedKind{k, kinds[k]})
	}
	return out
}

func (r *Resolver) refusedKinds() map[item.Kind]error {
	r.readers.mu.Lock()
	defer r.readers.mu.Unlock()
	return r.readers.refused
}
