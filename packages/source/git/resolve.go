package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// Resolve implements source.Source.
func (s *Source) Resolve(
	ctx context.Context,
	id lock.ID,
	query string,
) (source.Origin, error) {
	l, err := s.Versions(ctx, id)
	if err != nil {
		return source.Origin{}, err
	}
	refs, err := s.listRefs(ctx, l.URL)
	if err != nil {
		return source.Origin{}, err
	}
	switch {
	case query == "" || query == source.Latest:
		if v, ok := newest(l); ok {
			return l.OriginOf(v), nil
		}
		if l.Head == "" {
			return source.Origin{}, diag.New(diag.VersionNotFound, "resolving %s: %s has no version and no commit", id, l.URL)
		}
		return s.pseudo(ctx, l, refs, l.Head, "")
	case lock.IsCommit(query):
		return s.pseudo(ctx, l, refs, query, "")
	case lock.IsPseudo(query):
		if err := id.CheckVersion(query); err != nil {
			return source.Origin{}, err
		}
		return s.pseudo(ctx, l, refs, lock.PseudoCommit(query), query)
	}
	if v, ok := l.Find(query); ok {
		return l.OriginOf(v), nil
	}
	if err := id.CheckVersion(query); err != nil {
		return source.Origin{}, err
	}
	misnamed := ""
	tag := prefixOf(id) + strings.TrimPrefix(query, "v")
	if slices.Contains(l.Misnamed, tag) {
		misnamed = fmt.Sprintf("; its tag %s is not a release, because releases begin with v", tag)
	}
	e := diag.New(diag.VersionNotFound, "resolving %s: %s has no version %s%s", id, l.URL, query, misnamed)
	near := suggest.List(query, l.Names(), 3)
	if len(near) > 0 {
		return source.Origin{}, e.WithReason("nearest").WithDetail("nearest", near)
	}
	return source.Origin{}, e
}

// pseudo resolves a commit or its prefix. Want is the required pseudo-version, which
// the commit must be able to have, or "".
func (s *Source) pseudo(
	ctx context.Context,
	l *source.Listing,
	refs *Refs,
	prefix, want string,
) (source.Origin, error) {
	o := source.Origin{
		ID:      l.ID,
		URL:     l.URL,
		Commit:  prefix,
		Subdir:  l.ID.Subdir,
		TagSum:  l.TagSum,
		Version: want,
	}
	if o.Version == "" {
		o.Version = prefix
	}
	h, err := s.history(ctx, l.URL, refs)
	if err != nil {
		return source.Origin{}, err
	}
	switch found := h.find(prefix); len(found) {
	case 0:
		return source.Origin{}, impostor(o)
	case 1:
		o.Commit = found[0]
	default:
		return source.Origin{}, diag.New(
			diag.AmbiguousItem,
			"resolving %s: %d commits of %s begin with %s",
			l.ID,
			len(found),
			l.URL,
			prefix,
		)
	}
	return versionOf(h, l, o, want)
}

// versionOf sets the version of o by its commit: the version of its tag, or a pseudo-version
// after the newest version among its ancestors.
func versionOf(
	h *history,
	l *source.Listing,
	o source.Origin,
	want string,
) (source.Origin, error) {
	o.Time = h.time(o.Commit)
	before := h.ancestors(o.Commit)
	older := []string{""}
	for _, v := range l.Versions {
		if v.Commit == o.Commit && want == "" {
			tagged := l.OriginOf(v)
			tagged.Time = o.Time
			return tagged, nil
		}
		if before(v.Commit) && v.Commit != o.Commit {
			older = append(older, v.Version)
		}
	}
	o.Version = lock.PseudoVersion(
		l.ID,
		older[len(older)-1],
		o.Time,
		o.Commit,
	)
	if want == "" || want == o.Version {
		return o, nil
	}
	for _, v := range older { // tags were added after want was written
		if lock.PseudoVersion(l.ID, v, o.Time, o.Commit) == want {
			o.Version = want
			return o, nil
		}
	}
	return source.Origin{}, diag.New(
		diag.VersionMismatch,
		"resolving %s at %s: commit %s has the version %s",
		l.ID,
		want,
		o.Commit,
		o.Version,
	)
}

// reachable refuses a commit that no branch or tag contains.
func (s *Source) reachable(ctx context.Context, o source.Origin, refs *Refs) error {
	if refs.IsTip(o.Commit) {
		return nil
	}
	h, err := s.history(ctx, o.URL, refs)
	if err == nil && len(h.find(o.Commit)) == 0 {
		err = impostor(o)
	}
	return err
}

// history fetches all commits of a remote, once, without files if the remote can omit
// them. A damaged store is discarded once.
func (s *Source) history(ctx context.Context, url string, refs *Refs) (*history, error) {
	return s.hist.Get(ctx, url, func() (h *history, err error) {
		st := newStore(s.p.Cache, url)
		err = st.with(ctx, func() error {
			h, err = s.loadHistory(ctx, st, refs)
			if s.p.Offline || !storeIsBroken(err) {
				return err
			}
			if err := st.discard(historyGit); err != nil {
				return err
			}
			h, err = s.loadHistory(ctx, st, refs)
			return err
		})
		return h, err
	})
}

func (s *Source) loadHistory(
	ctx context.Context,
	st *store,
	refs *Refs,
) (h *history, err error) {
	want := Want{OIDs: refs.Tips(), Depth: Commits, SHA256: refs.SHA256}
	err = s.repo(st.url).do(ctx, func(ctx context.Context, r Remote) error {
		dir := ""
		if r.Repository(part{}) != "" {
			if dir, err = st.repository(historyGit, refs.SHA256); err != nil {
				return err
			}
		}
		h, err = r.History(ctx, dir, want, s.p.Offline)
		return err
	})
	if s.p.Offline && errors.Is(err, errMissing) {
		return nil, source.NotCached("the history of " + st.url)
	}
	return h, err
}
