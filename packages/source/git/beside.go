package git

import (
	"context"
	"path"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/packages/source"
)

// ReadFile implements source.FileReader. It reads the whole commit: a partial store
// does not have the files outside the bundle.
func (s *Source) ReadFile(ctx context.Context, o source.Origin, name string, limit int64) (b []byte, err error) {
	refs, err := s.bound(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.checkRefs(ctx, o, refs); err != nil {
		return nil, err
	}
	st := newStore(s.p.Cache, o.URL)
	want := Want{OIDs: []string{o.Commit}, SHA256: refs.SHA256}
	whole := o
	whole.Subdir = ""
	err = st.with(ctx, func() error {
		return s.repo(o.URL).do(ctx, func(ctx context.Context, remote Remote) error {
			if s.p.Offline {
				return source.NotCached(name + " of " + o.ID.String())
			}
			objs, _, err := s.objects(ctx, st, remote, whole, want, refs)
			if err != nil {
				return err
			}
			defer objs.Close()
			b, err = blobAt(ctx, objs, o, name, limit)
			return err
		})
	})
	return b, err
}

// blobAt returns a copy of a regular file below the directory of an origin.
func blobAt(ctx context.Context, objs Objects, o source.Origin, name string, limit int64) (b []byte, err error) {
	_, c, err := peel(ctx, objs, o.Commit)
	if err != nil {
		return nil, err
	}
	tree, err := descend(ctx, objs, c.tree, path.Join(o.Subdir, path.Dir(name)))
	if err != nil {
		return nil, err
	}
	oid := ""
	err = read(ctx, objs, "tree", []string{tree}, maxTree, func(_ int, data []byte) error {
		return eachEntry(tree, data, func(e entry) error {
			if e.name == path.Base(name) && (e.mode == 0o100644 || e.mode == 0o100755) {
				oid = e.oid
			}
			return nil
		})
	})
	if err == nil && oid == "" {
		err = diag.New(diag.SourceNotFound, "looking for %q: the commit does not have it", name)
	}
	if err != nil {
		return nil, err
	}
	err = read(ctx, objs, "blob", []string{oid}, limit, func(_ int, data []byte) error {
		b = slices.Clone(data)
		return nil
	})
	return b, err
}
