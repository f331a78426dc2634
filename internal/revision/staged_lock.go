package revision

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/githook"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

// aheadLock is what is read of the index while items are signed.
type aheadLock struct {
	blobs   map[string][]byte   // of rye.yaml and rye.lock, by name, as far as the work tree has them
	missing func() missingItems // of the lock of the work tree, if the index has the same one; else nil
}

// missingItems are the entries of a lock whose items have no file in the index, by the
// extractors that the index was compared with.
type missingItems struct {
	refs []item.Ref
	exts []*extract.Extractor
	err  error
}

// goneItems returns the entries whose items have no file in the index, which may have been
// compared while items were signed. A signature adds files and removes none.
func goneItems(
	ctx context.Context,
	x *project.Project,
	a *aheadLock,
	before *lock.Lock,
) ([]item.Ref, error) {
	index := x.Spaces.Of(space.Project)
	if a == nil || a.missing == nil {
		return relock.WithoutFile(ctx, x, before.Refs(), index)
	}
	known := a.missing()
	if known.err != nil {
		return relock.WithoutFile(ctx, x, before.Refs(), index)
	}
	for _, ext := range known.exts {
		const id = "a/b" // any
		now, err := x.Resolver.Extractor(ctx, ext.Kind)
		if err != nil ||
			!slices.Equal(slices.Collect(now.EachPath(id)), slices.Collect(ext.EachPath(id))) {
			return relock.WithoutFile(ctx, x, before.Refs(), index)
		}
	}
	return relock.WithoutFile(ctx, x, slices.Values(known.refs), index)
}

// readAhead begins to read the lock of the index.
func (s *stagedIn) readAhead(ctx context.Context, index *verify.GitFiles) {
	s.ahead = sync.OnceValue(func() *aheadLock {
		return s.readLock(ctx, index)
	})
	go s.ahead()
}

// readLock reads the lock of the index, nil if that cannot be done ahead. Files of the work
// tree are taken if the index has the same blobs: git would have to inflate them.
func (s *stagedIn) readLock(ctx context.Context, index *verify.GitFiles) *aheadLock {
	h, err := s.open()
	if err != nil || !lockable(h) || ctx.Err() != nil {
		return nil
	}
	a := &aheadLock{blobs: map[string][]byte{}}
	same := func(name string, limit int64) []byte {
		e := index.ProjectFile(name)
		if e.OID == "" || !e.IsFile() {
			return nil
		}
		text, err := h.Files.ReadFile(name, limit)
		if err != nil || s.repo.BlobName(text) != e.OID {
			return nil
		}
		a.blobs[e.OID] = text
		return text
	}
	same(lock.ProjectFileName, lock.MaxProjectFile)
	if h.Lock == nil {
		return a
	}
	text := same(lock.LockFile, lock.MaxLock)
	if text != nil && bytes.Equal(text, h.Lock.Text) {
		a.missing = s.missing(ctx, h, index)
	}
	return a
}

// missing begins to compare the entries of the lock with the files of the index.
func (s *stagedIn) missing(ctx context.Context, h *project.Project, index *verify.GitFiles) func() missingItems {
	refs := h.Lock.Lock.Refs()
	find := sync.OnceValue(func() (m missingItems) {
		root := index.Root()
		m.refs, m.exts, m.err = relock.MissingIn(
			ctx,
			h.Verifier(h.With(root)),
			refs,
			root,
		)
		return m
	})
	go find()
	return find
}

// relockStaged brings the lock of the index up to date with items that are
// being signed or deleted. One that cannot be read stays as it is.
func relockStaged(
	ctx context.Context,
	h *project.Project,
	p *Folder,
	signed space.Files,
	refs []item.Ref,
) (*githook.LockChange, error) {
	if err := p.readFiles(); err != nil {
		return nil, err
	}
	e, err := p.entry(p.prefix + lock.LockFile)
	if err != nil || e.OID == "" {
		return nil, err
	}
	defer p.closeOpened()
	x, err := inGit(ctx, h, p, space.NewFiles(space.Project, signed), "the index")
	if err != nil {
		return nil, err
	}
	for _, err := range x.LockErrs {
		h.Env.Person.Warnf("%s was not brought up to date: %s", lock.LockFile, err)
	}
	if x.Lock == nil {
		return nil, nil
	}
	now := x.Lock.Lock.Clone()
	var gone []item.Ref
	var goneErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		gone, goneErr = goneItems(ctx, x, p.lockAhead(), x.Lock.Lock)
	}) // an item that is signed has a file
	changed, notes, err := x.Verbs.RefreshLock(ctx, now, refs)
	wg.Wait()
	relock.Warn(h.Env, notes)
	if err = cmp.Or(err, goneErr); err != nil {
		return nil, err
	}
	if removed := relock.RemoveItems(now, gone); !changed && !removed {
		return nil, nil
	}
	return &githook.LockChange{Entry: e, Was: x.Lock.Text, Now: now.Render()}, nil
}
