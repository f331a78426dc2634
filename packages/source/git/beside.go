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
func (s *Source) ReadFile(
	ctx context.Context,
	o source.Origin,
	name string,
	limit int64,
) ([]byte, error) {
	refs, err := s.bound(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.checkRefs(ctx, o, refs); err != nil {
		return nil, err
	}
	if s.p.Offline {
		return nil, source.NotCached(name + " of " + o.ID.String())
	}
	st := newStore(s.p.Cache, o.URL)
	want := Want{OIDs: []string{o.Commit}, SHA256: refs.SHA256}
	p := part{
		From:   o.Commit,
		Subdir: o.Subdir,
		File:   name,
		Limit:  limit,
	}
	got := &oneFile{}
	err = st.with(ctx, func() error {
		return s.repo(o.URL).do(ctx, func(ctx context.Context, remote Remote) error {
			got = &oneFile{}
			_, err := s.pass(ctx, st, remote, want, refs, o.Commit, p, got)
			return err
		})
	})
	return got.data, err
}

// blobAt returns a regular file of a commit.
func blobAt(ctx context.Context, objs Objects, p part) (b []byte, err error) {
	_, c, err := peel(ctx, objs, p.From)
	if err != nil {
		return nil, err
	}
	tree, err := descend(ctx, objs, c.tree, path.Join(
		p.Subdir,
		path.Dir(p.File),
	))
	if err != nil {
		return nil, err
	}
	oid := ""
	err = read(ctx, objs, "tree", []string{tree}, maxTree, func(_ int, data []byte) error {
		return eachEntry(tree, data, func(e entry) error {
			if e.name == path.Base(p.File) &&
				(e.mode == 0o100644 || e.mode == modeExecutable) {
				oid = e.oid
			}
			return nil
		})
	})
	if err == nil && oid == "" {
		err = diag.New(diag.SourceNotFound, "looking for %q: the commit does not have it", p.File)
	}
	if err != nil {
		return nil, err
	}
	err = read(ctx, objs, "blob", []string{oid}, p.Limit, func(_ int, data []byte) error {
		b = slices.Clone(data)
		return nil
	})
	return b, err
}
