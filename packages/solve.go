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

// solver answers what versions require: it is mvs.Reqs over sources, folders
// and the cache. What was locked is taken as locked.
type solver struct {
	e    *Engine
	st   *state
	m    *lock.Manifest
	pins map[lock.Module]lock.Bundle
	src  source.Source

	mu    sync.Mutex
	got   map[lock.Module]*source.Snapshot
	read  []lock.Module // pinned, as they are installed
	notes []string      // what is odd about bundles that are taken all the same
}

// solution is a lock that was computed, with the files of every bundle in it.
type solution struct {
	lock  *lock.Lock
	snaps map[lock.Module]*source.Snapshot
	read  []lock.Module // as they are installed
	notes []string
}

func (e *Engine) solver(st *state, m *lock.Manifest) (*solver, error) {
	if err := e.rolledBack(st); err != nil {
		return nil, err
	}
	pins, err := st.pins()
	if err != nil {
		return nil, err
	}
	return &solver{e: e, st: st, m: m, pins: pins, src: source.Memo(e.p.Source), got: map[lock.Module]*source.Snapshot{}}, nil
}

// solve selects versions, brings and judges them.
func (s *solver) solve(ctx context.Context) (*solution, error) {
	root, err := s.root(ctx)
	if err != nil {
		return nil, err
	}
	g, err := mvs.BuildList(ctx, root, s)
	if err != nil {
		return nil, flatten(ctx, err)
	}
	l := lock.Draft(s.m, s.st.members, g)
	if err := s.fill(ctx, l); err != nil {
		return nil, err
	}
	if old := s.st.lock; old != nil {
		l.Items, l.Extra, l.Minor = old.Items, old.Extra, old.Minor
		l.System = old.System
	}
	l.Revoked = s.e.p.Revoked
	if len(l.Items) == 0 {
		l.System = s.e.p.System
	}
	l.Sort()
	slices.Sort(s.notes)
	return &solution{lock: l, snaps: s.got, read: s.read, notes: s.notes}, nil
}

// flatten makes one error of those that mvs gathered.
func flatten(ctx context.Context, err error) error {
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
	return together("resolving", errs)
}

func (s *solver) root(ctx context.Context) (mvs.Root, error) {
	root := mvs.Root{Members: map[string][]mvs.Module{}, Excluded: s.m.Excludes, Next: s.next}
	var err error
	if root.Requires, err = s.versions(ctx, s.m.Requires()); err != nil {
		return root, err
	}
	for _, x := range s.st.members {
		needs, err := s.versions(ctx, x.Manifest.Requires())
		if err != nil {
			return root, err
		}
		// lock.Draft leaves members out of the bundles by the same key. Two
		// members with one id must not lose the needs of one.
		root.Members[x.Key()] = append(root.Members[x.Key()], needs...)
	}
	return root, nil
}

// standsIn refuses a version that the bundle which replaces another cannot have.
func standsIn(m, asked lock.Module) error {
	id, err := lock.ParseID(m.ID)
	if err != nil || lock.IsCommit(m.Version) {
		return err
	}
	if err := id.CheckVersion(m.Version); err != nil {
		return diag.New(diag.Unresolvable, "resolving %s: %s replaces it: %w", asked, m.ID, err).
			WithHint("name a version behind the id in replace of %s: %s@VERSION", lock.ManifestFile, m.ID)
	}
	return nil
}

// versions puts bundles that replace others in their place, and turns commits
// among the requirements into their pseudo-versions.
func (s *solver) versions(ctx context.Context, mods []lock.Module) ([]lock.Module, error) {
	var errs []error
	out := slices.Clone(mods)
	for i, m := range mods {
		if m = s.m.Instead(m); m != mods[i] {
			out[i] = m
			if err := standsIn(m, mods[i]); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		if !lock.IsCommit(m.Version) {
			continue
		}
		if b := s.st.previous(m.ID); b != nil && b.Require == m.Version {
			out[i].Version = b.Version
			continue
		}
		id, err := lock.ParseID(m.ID)
		if err == nil {
			var o source.Origin
			o, err = s.src.Resolve(ctx, id, m.Version)
			out[i].Version = o.Version
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return out, together("resolving", errs)
}

func (s *solver) next(ctx context.Context, m mvs.Module) (string, error) {
	id, err := lock.ParseID(m.ID)
	if err != nil {
		return "", err
	}
	l, err := s.src.Versions(ctx, id)
	if err != nil {
		return "", err
	}
	if v := lock.NextVersion(id, m.Version, l.Names(), s.m.Exclude[m.ID]); v != "" {
		return v, nil
	}
	return "", diag.New(diag.Unresolvable, "resolving %s: the version is excluded, and there is no newer one", m).
		WithHint("remove the version from exclude in %s, or require another one", lock.ManifestFile)
}

// Max implements mvs.Reqs.
func (s *solver) Max(a, b string) string { return lock.MaxVersion(a, b) }

// Required implements mvs.Reqs.
func (s *solver) Required(ctx context.Context, id, version string) ([]mvs.Module, error) {
	m := lock.Module{ID: id, Version: version}
	s.e.tell(Resolving, m)
	mm, err := s.manifestOf(ctx, m)
	if err != nil {
		return nil, err
	}
	for need := range mm.Require {
		if nid, _ := lock.ParseID(need); nid.Kind == lock.PathID && !s.local(id) {
			return nil, diag.New(diag.Unresolvable, "resolving %s: it requires the folder %s, which exists for its author only", m, need)
		}
	}
	return s.versions(ctx, mm.Requires())
}

// local reports whether a bundle is a folder of this machine.
func (s *solver) local(id string) bool {
	if r, ok := s.m.Replace[id]; ok && r.Path != "" {
		return true
	}
	x, _ := lock.ParseID(id)
	return x.Kind == lock.PathID
}

// manifestOf returns the project file of a version, empty if it has none.
func (s *solver) manifestOf(ctx context.Context, m lock.Module) (*lock.Manifest, error) {
	if s.local(m.ID) {
		dir := m.ID
		if r, ok := s.m.Replace[m.ID]; ok {
			dir = r.Path
		}
		if err := s.rules().Folder(m, dir); err != nil {
			return nil, err
		}
		return s.e.folderManifest(m, dir)
	}
	snap, err := s.fetch(ctx, m)
	if err != nil {
		return nil, err
	}
	b, err := snap.Read(lock.ManifestFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return parseManifest(lock.ManifestFile+" of "+m.String(), b)
}

func (e *Engine) folderManifest(m lock.Module, dir string) (*lock.Manifest, error) {
	at := dir
	if !path.IsAbs(dir) {
		at = path.Join(e.p.Files, dir)
	}
	if !exists(at) {
		return nil, diag.New(diag.SourceNotFound, "resolving %s: there is no folder %s", m, dir)
	}
	f, _, err := lock.ReadManifest(lock.Dir(at), dir+"/")
	if f == nil && err == nil {
		f = &lock.Manifest{}
	}
	return f, err
}

// fetch brings one version, held against what was locked and what was ever
// trusted here.
func (s *solver) fetch(ctx context.Context, m lock.Module) (*source.Snapshot, error) {
	id, err := lock.ParseID(m.ID)
	if err != nil {
		return nil, err
	}
	if err := s.rules().Source(m, id); err != nil {
		return nil, err
	}
	snap, err := s.bring(ctx, id, m)
	if err != nil {
		return nil, err
	}
	if err := s.st.sum.Check(m, snap.Sum); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.got[m] = snap
	s.mu.Unlock()
	s.e.tell(Fetched, m)
	return snap, nil
}

func (s *solver) bring(ctx context.Context, id lock.ID, m lock.Module) (*source.Snapshot, error) {
	if pin, ok := s.pins[m]; ok && pin.Sum != "" {
		if snap := s.standing(id, pin); snap != nil {
			return snap, nil
		}
		return s.e.locked(ctx, s.src, id, pin)
	}
	o, err := s.src.Resolve(ctx, id, m.Version)
	if err != nil {
		return nil, err
	}
	if o.Version != m.Version {
		return nil, diag.New(diag.VersionMismatch, "resolving %s: the source calls it %s", m, o.Version)
	}
	s.e.tell(Fetching, m)
	return s.src.Fetch(ctx, o)
}

// standing is Engine.standing, and remembers what it found.
func (s *solver) standing(id lock.ID, b lock.Bundle) *source.Snapshot {
	if consistent(id, b) != nil {
		return nil
	}
	snap := s.e.standing(id, b)
	if snap != nil {
		s.mu.Lock()
		s.read = append(s.read, b.Module())
		s.mu.Unlock()
	}
	return snap
}

// locked returns the files of a locked bundle: from the cache, whose sum says
// everything, else from where the lock says that they came from.
func (e *Engine) locked(ctx context.Context, src source.Source, id lock.ID, b lock.Bundle) (*source.Snapshot, error) {
	if err := consistent(id, b); err != nil {
		return nil, err
	}
	o := originOf(id, b)
	if snap, err := e.p.Cache.Open(b.Sum); err == nil {
		snap.Origin = o
		return snap, nil
	}
	e.tell(Fetching, b.Module())
	snap, err := src.Fetch(ctx, o)
	if err != nil {
		return nil, err
	}
	if snap.Sum != b.Sum {
		return nil, diag.New(diag.LockMismatch, "fetching %s: its files are not those that %s records", b.Module(), lock.LockFile).
			WithDetail("expected", b.Sum).WithDetail("found", snap.Sum).WithDetail("commit", b.Commit).WithDetail("url", b.URL).
			WithHint("look at the last change of %s (git log -p %s); rye lock --check compares it with %s", lock.LockFile, lock.LockFile, lock.SumFile)
	}
	return snap, nil
}

func originOf(id lock.ID, b lock.Bundle) source.Origin {
	return source.Origin{ID: id, Version: b.Version, URL: b.URL, Ref: b.Ref, TagObject: b.Tag, Commit: b.Commit, Tree: b.Tree, Subdir: id.Subdir}
}

// consistent refuses an entry whose version is not that of its tag or commit:
// edited by hand, it could pass any commit of the repository off as a release.
func consistent(id lock.ID, b lock.Bundle) error {
	want := "commit " + lock.PseudoCommit(b.Version) + "…"
	switch {
	case id.Kind == lock.RegistryID:
		return nil
	case lock.IsPseudo(b.Version):
		if b.Ref == "" && strings.HasPrefix(b.Commit, lock.PseudoCommit(b.Version)) {
			return nil
		}
	default:
		tags := id.Tags(b.Version)
		if slices.ContainsFunc(tags, func(tag string) bool { return b.Ref == "refs/tags/"+tag }) {
			return nil
		}
		want = "refs/tags/" + tags[0]
	}
	return diag.New(diag.LockRepointed, "reading %s: the entry of %s names %q and commit %s, which is not where that version is", lock.LockFile, b.Module(), b.Ref, b.Commit).
		WithDetail("expected", want).WithDetail("found", strings.TrimSpace(b.Ref+" "+b.Commit)).WithDetail("bundle", b.ID).
		WithHint("look at who changed %s (git log -p %s), and take back what nobody meant", lock.LockFile, lock.LockFile)
}
