package git

import (
	"context"
	"errors"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/packages/source"
)

// Fetch implements source.Source.
func (s *Source) Fetch(ctx context.Context, o source.Origin) (*source.Snapshot, error) {
	refs, err := s.bound(ctx, o)
	if s.p.Offline && diag.CodeOf(err) == diag.SourceNotFound && errors.Is(err, source.ErrOffline) {
		refs, err = nil, nil // the snapshot may be in the cache without the refs
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
	if snap, err := s.cached(st, o); snap != nil || err != nil {
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
	return snap, nil
}

func otherTree(o source.Origin, tree string) error {
	return diag.New(diag.LockMismatch, "fetching %s %s: commit %s holds the tree %s, recorded is %s", o.ID, o.Version, o.Commit, tree, o.Tree).
		WithDetail("expected", o.Tree).WithDetail("found", tree)
}

// fetch fetches the objects of an origin and stores its files. A damaged store is
// discarded once.
func (s *Source) fetch(ctx context.Context, st *store, o source.Origin, refs *Refs) (snap *source.Snapshot, err error) {
	err = st.with(ctx, func() error {
		for again := range 2 {
			var used string
			snap, used, err = s.fetchOnce(ctx, st, o, refs)
			if again > 0 || !storeIsBroken(err) {
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

func (s *Source) fetchOnce(ctx context.Context, st *store, o source.Origin, refs *Refs) (snap *source.Snapshot, used string, err error) {
	r := s.repo(o.URL)
	if o.Subdir != "" {
		r.subtree(ctx)
	}
	want := Want{OIDs: []string{o.Commit}, SHA256: refs.SHA256}
	if o.TagObject != "" {
		want.OIDs = []string{o.TagObject}
	}
	err = r.do(ctx, func(ctx context.Context, remote Remote) error {
		var objs Objects
		if objs, used, err = s.objects(ctx, st, remote, o, want, refs); err != nil {
			return err
		}
		defer objs.Close()
		s.heavy.Lock() // a file can have 64 MiB
		defer s.heavy.Unlock()
		snap, err = s.extract(ctx, st, objs, o, want.OIDs[0])
		return err
	})
	return snap, used, err
}

// objects fetches the commit into one of the store's repositories and opens it. If
// the remote offers only the objects of its refs, an older commit needs the whole
// history.
func (s *Source) objects(ctx context.Context, st *store, remote Remote, o source.Origin, want Want, refs *Refs) (Objects, string, error) {
	used := filesGit
	_, byCommand := remote.(*cli)
	if o.Subdir != "" && byCommand {
		used = partialGit
	}
	if _, inPlace := remote.(*goFile); inPlace {
		if err := remote.FetchRef(ctx, "", want); err != nil {
			return nil, used, err
		}
		objs, err := remote.Open(ctx, "")
		return objs, used, err
	}
	dir, err := st.repository(used, refs.SHA256)
	if err != nil {
		return nil, used, err
	}
	if used == partialGit {
		err = remote.FetchSubtree(ctx, dir, want, o.Subdir)
	} else {
		err = remote.FetchRef(ctx, dir, want)
	}
	if errors.Is(err, errNotOffered) && !refs.IsTip(o.Commit) {
		used = allGit
		if dir, err = st.repository(used, refs.SHA256); err == nil {
			err = remote.FetchRef(ctx, dir, Want{OIDs: refs.Tips(), Depth: All, SHA256: refs.SHA256})
		}
	}
	if err != nil {
		return nil, used, err
	}
	objs, err := remote.Open(ctx, dir)
	return objs, used, err
}

// extract stores the files of one commit. It reads the commit of the tag from the
// objects: the list of refs may be wrong.
func (s *Source) extract(ctx context.Context, st *store, objs Objects, o source.Origin, from string) (*source.Snapshot, error) {
	id, c, err := peel(ctx, objs, from)
	if err != nil {
		return nil, err
	}
	if id != o.Commit {
		return nil, diag.New(diag.ImpostorCommit, "fetching %s %s: the tag %s has commit %s, the remote listed %s", o.ID, o.Version, from, id, o.Commit).
			WithDetail("expected", o.Commit).WithDetail("found", id)
	}
	tree, err := descend(ctx, objs, c.tree, o.Subdir)
	if err != nil {
		return nil, err
	}
	if o.Tree != "" && o.Tree != tree {
		return nil, otherTree(o, tree)
	}
	files, err := list(ctx, objs, tree)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, source.NoBundle(location(o.URL, o.Subdir) + " at " + o.Version)
	}
	o.Tree = tree
	o.Time = c.time
	snap, err := s.write(ctx, objs, o, files)
	if err == nil {
		st.saveSum(o, fetched{Tree: tree, Sum: snap.Sum, Time: c.time.Unix()})
	}
	return snap, err
}

// write copies blobs into the cache.
func (s *Source) write(ctx context.Context, objs Objects, o source.Origin, files []file) (*source.Snapshot, error) {
	w, err := s.p.Cache.Write()
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	oids := make([]string, len(files))
	for i, f := range files {
		oids[i] = f.oid
	}
	err = read(ctx, objs, "blob", oids, bundle.MaxFile, func(i int, data []byte) error {
		return w.Add(files[i].path, files[i].mode == 0o100755, data)
	})
	if err != nil {
		return nil, err
	}
	return w.Commit(ctx, o)
}
