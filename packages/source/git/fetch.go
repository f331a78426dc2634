package git

import (
	"context"
	"errors"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/packages/source"
)

// Fetch implements source.Source.
func (s *Source) Fetch(ctx context.Context, o source.Origin) (*source.Snapshot, error) {
	refs, err := s.bound(ctx, o)
	if s.p.Offline &&
		diag.CodeOf(err) == diag.SourceNotFound &&
		errors.Is(err, source.ErrOffline) {
		// the snapshot may be in the cache without the refs
		refs = nil
		err = nil
	}
	if err != nil {
		return nil, err
	}
	st := newStore(s.p.Cache, o.URL)
	if refs != nil && !s.p.Offline {
		if err := s.checkRefs(ctx, o, refs); err != nil {
			return nil, err
		}
	}
	snap, err := s.cached(st, o)
	if snap != nil || err != nil {
		return snap, err
	}
	if s.p.Offline {
		return nil, source.NotCached(o.ID.String() + " " + o.Version)
	}
	return s.fetch(ctx, st, o, refs)
}

// cached returns the snapshot of an origin that was fetched before.
func (s *Source) cached(st *store, o source.Origin) (*source.Snapshot, error) {
	f, ok := st.loadSum(o)
	if !ok {
		return nil, nil
	}
	snap, err := s.p.Cache.Open(f.Sum)
	if err != nil {
		return nil, nil // missing or damaged: fetch it again
	}
	if o.Tree != "" && o.Tree != f.Tree {
		return nil, otherTree(o, f.Tree)
	}
	o.Tree = f.Tree
	o.Time = time.Unix(f.Time, 0).UTC()
	snap.Origin = o
	snap.Left = f.Left
	return snap, nil
}

func otherTree(o source.Origin, tree string) error {
	return diag.New(
		diag.LockMismatch,
		"fetching %s %s: commit %s holds the tree %s, recorded is %s",
		o.ID,
		o.Version,
		o.Commit,
		tree,
		o.Tree,
	).
		WithDetail("expected", o.Tree).WithDetail("found", tree)
}

// fetch fetches the objects of an origin and stores its files. A damaged store is
// discarded once.
func (s *Source) fetch(
	ctx context.Context,
	st *store,
	o source.Origin,
	refs *Refs,
) (snap *source.Snapshot, err error) {
	err = st.with(ctx, func() error {
		for attempt := range 2 {
			var used string
			snap, used, err = s.fetchOnce(ctx, st, o, refs)
			if attempt > 0 || !storeIsBroken(err) {
				return err
			}
			if err := st.discard(used); err != nil {
				return err
			}
		}
		return err
	})
	return snap, err
}

// storeIsBroken reports whether an error may not occur with a new store.
func storeIsBroken(err error) bool {
	return diag.CodeOf(err) == diag.HashMismatch || errors.Is(err, errMissing)
}

func (s *Source) fetchOnce(
	ctx context.Context,
	st *store,
	o source.Origin,
	refs *Refs,
) (snap *source.Snapshot, used string, err error) {
	r := s.repo(o.URL)
	if o.Subdir != "" && !o.Whole {
		r.subtree(ctx)
	}
	want := Want{OIDs: []string{o.Commit}, SHA256: refs.SHA256}
	if o.TagObject != "" {
		want.OIDs = []string{o.TagObject}
	}
	p := part{
		From:   want.OIDs[0],
		Subdir: o.Subdir,
		Whole:  o.Whole,
	}
	err = r.do(ctx, func(ctx context.Context, remote Remote) error {
		to := &intake{s: s, o: o, from: p.From}
		defer to.close()
		if used, err = s.pass(ctx, st, remote, want, refs, o.Commit, p, to); err != nil {
			return err
		}
		snap, err = to.finish(ctx)
		if err == nil {
			st.saveSum(to.o, fetched{
				Tree: to.o.Tree,
				Sum:  snap.Sum,
				Time: to.o.Time.Unix(),
				Left: snap.Left,
			})
		}
		return err
	})
	return snap, used, err
}

// pass fetches the wanted commit into one of the store's repositories and passes the part
// to the receiver. If the remote offers only the objects of its refs, an older commit needs
// the whole history.
func (s *Source) pass(
	ctx context.Context,
	st *store,
	remote Remote,
	want Want,
	refs *Refs,
	commit string,
	p part,
	to receiver,
) (used string, err error) {
	used = remote.Repository(p)
	dir := ""
	if used != "" {
		if dir, err = st.repository(used, refs.SHA256); err != nil {
			return used, err
		}
	}
	err = remote.Pass(ctx, dir, want, p, to)
	if !errors.Is(err, errNotOffered) || refs.IsTip(commit) || used == "" {
		return used, err
	}
	if dir, err = st.repository(allGit, refs.SHA256); err != nil {
		return allGit, err
	}
	return allGit, remote.Pass(
		ctx,
		dir,
		Want{OIDs: refs.Tips(), Depth: All, SHA256: refs.SHA256},
		p,
		to,
	)
}
