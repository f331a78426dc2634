package packages

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/mvs"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// solver computes a lock. It answers mvs.Reqs from sources, directories and the
// cache; a version that is locked keeps its locked origin.
type solver struct {
	e       *Engine
	st      *state
	project *lock.ProjectFile // what to solve; st.project, or that after edits
	pins    map[lock.Module]lock.Bundle
	src     source.Source

	mu       sync.Mutex
	snaps    map[lock.Module]*source.Snapshot
	verified []lock.Module // read from their install directories, as locked
	notes    []string      // warnings about accepted bundles
}

// solution is a computed lock with the files of every bundle in it.
type solution struct {
	lock     *lock.Lock
	snaps    map[lock.Module]*source.Snapshot
	verified []lock.Module // installed exactly as locked
	notes    []string
	changes  []Change // with the items that differ
}

func (e *Engine) solver(st *state, project *lock.ProjectFile) (*solver, error) {
	if err := e.checkRevocations(st); err != nil {
		return nil, err
	}
	if err := st.checkSigned(); err != nil {
		return nil, err
	}
	pins, err := st.pins()
	if err != nil {
		return nil, err
	}
	return &solver{
		e:       e,
		st:      st,
		project: project,
		pins:    pins,
		src:     source.Memo(e.p.Source),
		snaps:   map[lock.Module]*source.Snapshot{},
	}, nil
}

// solve selects versions, fetches the bundles and judges them.
func (s *solver) solve(ctx context.Context) (*solution, error) {
	root, err := s.root(ctx)
	if err != nil {
		return nil, err
	}
	g, err := mvs.BuildList(ctx, root, s)
	if err != nil {
		return nil, selectionError(ctx, err)
	}
	l := lock.Draft(s.project, s.st.members, lock.Selection{Modules: g.Selected, Needs: g.Edges, Via: g.Via})
	if err := s.e.learnRevocations(ctx); err != nil {
		return nil, err
	}
	if err := s.judge(ctx, l); err != nil {
		return nil, err
	}
	if old := s.st.lock; old != nil {
		l.TakeItems(old)
		l.Extra = old.Extra
		l.Minor = old.Minor
	}
	l.Revoked = s.e.p.Revoked
	if l.Adopted, err = lock.KeepAdopted(s.project, s.st.locks()...); err != nil {
		return nil, err
	}
	if err := s.registries(ctx, l); err != nil {
		return nil, err
	}
	l.Sort()
	return &solution{
		lock:     l,
		snaps:    s.snaps,
		verified: s.verified,
		notes:    s.notes,
	}, nil
}

// selectionError returns one typed error for the errors that mvs collected.
func selectionError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return diag.New(diag.Cancelled, "resolving: %w", context.Cause(ctx))
	}
	var all mvs.Errors
	if !errors.As(err, &all) {
		return err
	}
	var errs []error
	for _, x := range all {
		if diag.CodeOf(x.Err) == "" {
			x.Err = diag.New(diag.Unresolvable, "resolving %s: %w", x.Module, x.Err)
		}
		errs = append(errs, x.Err)
	}
	return joinErrors("resolving", errs)
}

func (s *solver) root(ctx context.Context) (mvs.Root, error) {
	root := mvs.Root{Members: map[lock.ID][]lock.Module{}, Excluded: s.project.Excludes, Next: s.next}
	var err error
	required := slices.DeleteFunc(s.project.Requires(), func(m lock.Module) bool {
		return lock.IsAdopted(m.ID, s.st.locks()...)
	})
	if root.Requires, err = s.versions(ctx, required); err != nil {
		return root, err
	}
	for _, x := range s.st.members {
		needs, err := s.versions(ctx, x.Manifest.Requires())
		if err != nil {
			return root, err
		}
		// The key must be the one of lock.Draft, which leaves members out of the
		// bundles by it. Members may share an id: no requirement may be lost.
		root.Members[x.Key()] = append(root.Members[x.Key()], needs...)
	}
	return root, nil
}

// checkReplacement refuses a version of asked that m, which replaces it, cannot
// have.
func checkReplacement(m, asked lock.Module) error {
	if lock.IsCommit(m.Version) {
		return nil
	}
	if err := m.ID.CheckVersion(m.Version); err != nil {
		return diag.New(diag.Unresolvable, "resolving %s: %s replaces it: %w", asked, m.ID, err).
			WithReason("replacement_version").WithDetail("replacement", m.ID.String())
	}
	return nil
}

// versions applies replacements to requirements, and turns commits among them
// into pseudo-versions.
func (s *solver) versions(ctx context.Context, required []lock.Module) ([]lock.Module, error) {
	var errs []error
	out := slices.Clone(required)
	for i, asked := range required {
		m := s.project.Replacing(asked)
		out[i] = m
		if m != asked {
			if err := checkReplacement(m, asked); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		if !lock.IsCommit(m.Version) {
			continue
		}
		// A locked commit keeps its pseudo-version, which needs no network.
		b := s.st.previous(m.ID)
		if b != nil && b.Require == m.Version {
			out[i].Version = b.Version
			continue
		}
		o, err := s.src.Resolve(ctx, m.ID, m.Version)
		if err != nil {
			errs = append(errs, err)
		}
		out[i].Version = o.Version
	}
	return out, joinErrors("resolving", errs)
}

// next returns the version that is taken for an excluded one.
func (s *solver) next(ctx context.Context, m lock.Module) (string, error) {
	l, err := s.src.Versions(ctx, m.ID)
	if err != nil {
		return "", err
	}
	v := lock.NextVersion(
		m.ID,
		m.Version,
		l.Names(),
		s.project.Exclude[m.ID],
	)
	if v != "" {
		return v, nil
	}
	return "", diag.New(diag.Unresolvable, "resolving %s: the version is excluded, and there is no newer one", m).WithReason("excluded")
}

// Max implements mvs.Reqs.
func (s *solver) Max(a, b string) string {
	return lock.MaxVersion(a, b)
}

// Required implements mvs.Reqs.
func (s *solver) Required(
	ctx context.Context,
	id lock.ID,
	version string,
) ([]lock.Module, error) {
	m := lock.Module{ID: id, Version: version}
	s.e.report(Resolving, m)
	project, err := s.projectOf(ctx, m)
	if err != nil {
		return nil, err
	}
	for need := range project.Require {
		if need.Kind == lock.PathID && !s.isDirectory(id) {
			return nil, diag.New(diag.Unresolvable, "resolving %s: it requires the folder %s, which exists for its author only", m, need)
		}
	}
	return s.versions(ctx, project.Requires())
}

// isDirectory reports whether a bundle is used from a directory of this machine.
func (s *solver) isDirectory(id lock.ID) bool {
	r, ok := s.project.Replace[id]
	if ok && r.Path != "" {
		return true
	}
	return id.Kind == lock.PathID
}

// projectOf returns the project file of a version, empty if it has none.
func (s *solver) projectOf(ctx context.Context, m lock.Module) (*lock.ProjectFile, error) {
	if s.isDirectory(m.ID) {
		dir := m.ID.String()
		if r, ok := s.project.Replace[m.ID]; ok {
			dir = r.Path
		}
		if err := s.rules().Folder(m, dir); err != nil {
			return nil, err
		}
		return s.e.projectOfDirectory(m, dir)
	}
	snap, err := s.fetch(ctx, m)
	if err != nil {
		return nil, err
	}
	b, err := snap.Read(lock.ProjectFileName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return parseProject(lock.ProjectFileName+" of "+m.String(), b)
}

func (e *Engine) projectOfDirectory(m lock.Module, dir string) (*lock.ProjectFile, error) {
	at := dir
	if !path.IsAbs(dir) {
		at = path.Join(e.p.Files, dir)
	}
	if !exists(at) {
		return nil, diag.New(diag.SourceNotFound, "resolving %s: there is no folder %s", m, dir)
	}
	f, _, err := lock.ReadProjectFile(lock.Dir(at), dir+"/")
	if f == nil && err == nil {
		f = &lock.ProjectFile{}
	}
	return f, err
}

// fetch returns the files of one version and compares them with rye.lock and
// with rye.sum, which has the hash of every version that was ever locked here.
func (s *solver) fetch(ctx context.Context, m lock.Module) (*source.Snapshot, error) {
	// The rules come first: a source that they refuse is not contacted.
	if err := s.rules().Source(m); err != nil {
		return nil, err
	}
	snap, err := s.snapshot(ctx, m)
	if err != nil {
		return nil, err
	}
	err = s.st.sum.Check(m, snap.Sum)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.snaps[m] = snap
	s.mu.Unlock()
	s.e.report(Fetched, m)
	return snap, nil
}

// snapshot returns the files of a version: a locked one from its install
// directory, the cache or its recorded origin, any other from its source.
func (s *solver) snapshot(ctx context.Context, m lock.Module) (*source.Snapshot, error) {
	if pin, ok := s.pins[m]; ok && pin.Sum != "" {
		if err := checkEntry(pin); err != nil {
			return nil, err
		}
		if snap := s.e.installedSnapshot(pin); snap != nil {
			s.mu.Lock()
			s.verified = append(s.verified, m)
			s.mu.Unlock()
			return snap, nil
		}
		return s.e.fetchLocked(ctx, s.src, pin)
	}
	o, err := s.src.Resolve(ctx, m.ID, m.Version)
	if err != nil {
		return nil, err
	}
	if o.Version != m.Version {
		return nil, diag.New(diag.VersionMismatch, "resolving %s: the source calls it %s", m, o.Version)
	}
	s.e.report(Fetching, m)
	return s.src.Fetch(ctx, o)
}

// fetchLocked returns the files of a locked bundle: from the cache, by their sum,
// else from the origin that the lock records.
func (e *Engine) fetchLocked(
	ctx context.Context,
	src source.Source,
	b lock.Bundle,
) (*source.Snapshot, error) {
	if err := checkEntry(b); err != nil {
		return nil, err
	}
	o := originOf(b)
	snap, err := e.p.Cache.Open(b.Sum)
	if err == nil {
		snap.Origin = o
		return snap, nil
	}
	e.report(Fetching, b.Module())
	snap, err = src.Fetch(ctx, o)
	if err != nil {
		return nil, err
	}
	if snap.Sum != b.Sum {
		return nil, diag.New(diag.LockMismatch, "fetching %s: the fetched files differ from %s", b.Module(), lock.LockFile).
			WithReason("lock_edited").
			WithDetail("expected", b.Sum).
			WithDetail("found", snap.Sum).
			WithDetail("commit", b.Commit).
			WithDetail("url", b.URL)
	}
	return snap, nil
}

func originOf(b lock.Bundle) source.Origin {
	return source.Origin{
		ID:        b.ID,
		Version:   b.Version,
		URL:       b.URL,
		Ref:       b.Ref,
		TagObject: b.Tag,
		Commit:    b.Commit,
		Tree:      b.Tree,
		Subdir:    b.ID.Subdir,
		Archive:   b.Archive,
		Log:       b.Log,
	}
}

// checkEntry refuses a lock entry whose version does not belong to its tag or
// commit. An edited entry could otherwise present any commit of the repository as
// a release.
func checkEntry(b lock.Bundle) error {
	want := "commit " + lock.PseudoCommit(b.Version) + "…"
	switch {
	case b.ID.Kind == lock.RegistryID:
		return nil
	case lock.IsPseudo(b.Version):
		if b.Ref == "" && strings.HasPrefix(b.Commit, lock.PseudoCommit(b.Version)) {
			return nil
		}
	default:
		tags := b.ID.Tags(b.Version)
		if slices.ContainsFunc(tags, func(tag string) bool { return b.Ref == "refs/tags/"+tag }) {
			return nil
		}
		want = "refs/tags/" + tags[0]
	}
	return diag.New(
		diag.LockRepointed,
		"reading %s: the entry of %s has %q and commit %s, which is not that version",
		lock.LockFile,
		b.Module(),
		b.Ref,
		b.Commit,
	).
		WithDetail("expected", want).
		WithDetail("found", strings.TrimSpace(b.Ref+" "+b.Commit)).
		WithDetail("bundle", b.ID.String())
}
