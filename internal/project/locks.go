package project

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/itemcheck"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// SpaceLock is the lock of one space with its manifest, either nil when there
// is none.
type SpaceLock struct {
	Space       space.Name
	Dir         string     // the folder that holds the files, "" when it is on no disk
	Files       lock.Files // the same
	Text        []byte     // of the lock
	Lock        *lock.Lock
	ProjectFile *lock.ProjectFile
	Notes       []diag.Finding // warnings of the lock
	unread      bool           // rye.yaml cannot be read, so nothing is known of what it asks for
}

// readLocks reads the lock of every space on disk and adds its bundles as layers
// below the space's own items. A lock that cannot be read is an error in Strict
// mode; in Lenient mode it is remembered in LockErrs. own returns the lock of the project.
func (p *Project) readLocks(
	ctx context.Context,
	m Mode,
	own func() (*SpaceLock, error),
) error {
	for _, root := range slices.Clone(p.Spaces.Roots) {
		if !root.OnDisk() || root.Bundled() {
			continue
		}
		var sl *SpaceLock
		var err error
		if root.Space == space.Project {
			p.Files = lock.Dir(LockDir(root))
			sl, err = own()
		} else {
			sl, err = ReadSpaceLock(root)
		}
		var layers []space.Layer
		if err == nil && sl != nil {
			layers, err = p.layers(ctx, sl)
		}
		if err == nil && sl != nil {
			err = sl.Lock.CheckSigned()
		}
		if err != nil && m == Strict {
			return err
		}
		if err != nil {
			p.LockErrs = append(p.LockErrs, err)
		}
		if sl != nil && root.Space == space.Project {
			p.Lock = sl
		}
		p.Spaces.AddLayers(layers...)
	}
	return nil
}

// ownLock begins to read the lock of the project, which can be long, and returns how to wait
// for it.
func (p *Project) ownLock() func() (*SpaceLock, error) {
	i := slices.IndexFunc(p.Spaces.Roots, func(r *space.Root) bool {
		return r.Space == space.Project && r.OnDisk() && !r.Bundled()
	})
	if i < 0 {
		return nil // no root asks for it
	}
	read := sync.OnceValues(func() (*SpaceLock, error) {
		return ReadSpaceLock(p.Spaces.Roots[i])
	})
	go func() { _, _ = read() }()
	return read
}

// LockDir returns the directory of a space's lock: the one that contains .ai in a
// project, .ai itself in other spaces.
func LockDir(root *space.Root) string {
	if root.Space == space.Project {
		return root.Base
	}
	return root.Path(".")
}

// ReadSpaceLock returns nil when the space has no lock, which costs one stat.
func ReadSpaceLock(root *space.Root) (*SpaceLock, error) {
	dir := LockDir(root)
	_, err := os.Lstat(filepath.Join(dir, lock.LockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return parseSpaceLock(
		&SpaceLock{Space: root.Space, Dir: dir, Files: lock.Dir(dir)},
		dir+string(filepath.Separator),
		nil,
	)
}

// parseSpaceLock reads the lock and the manifest; messages put where before
// their names. It returns nil if there is no lock. While the file has the text of known,
// which may be nil, it is not parsed again.
func parseSpaceLock(sl *SpaceLock, where string, known *lock.Known) (*SpaceLock, error) {
	read, err := lock.Read(sl.Files, where, known)
	if read == nil {
		return nil, err
	}
	sl.Lock = read.Lock
	sl.Text = read.Text
	sl.Notes = read.Notes
	sl.ProjectFile, _, err = lock.ReadProjectFile(sl.Files, where)
	sl.unread = err != nil
	return sl, err
}

// OfFiles returns a project with the lock of other files in place of its own, and with its own
// items in root. Keys and rules of the user stay. layers returns the bundles of the lock, and
// messages put where before the names of its files.
func OfFiles(
	ctx context.Context,
	p *Project,
	files lock.Files,
	root *space.Root,
	where string,
	layers func(*SpaceLock) ([]space.Layer, error),
) (*Project, error) {
	x := *p
	x.Files = files
	x.Lock = nil
	x.LockErrs = nil
	x.Spaces = p.With(root)
	sl, err := parseSpaceLock(
		&SpaceLock{Space: space.Project, Files: files},
		where,
		p.KnownLock(),
	)
	switch {
	case sl == nil && err == nil:
	case err != nil:
		x.LockErrs = []error{err}
	default:
		x.Lock = sl
		if err := sl.Lock.CheckSigned(); err != nil {
			x.LockErrs = []error{err}
		}
		found, err := layers(sl)
		if err != nil {
			return nil, err
		}
		x.Spaces.AddLayers(x.withRules(ctx, sl, found)...)
	}
	x.Resolver = resolve.New(resolve.Params{
		Spaces:  x.Spaces,
		Trust:   x.Trust,
		Locked:  (&x).locks,
		WasTool: (&x).wasTool,
		Lenient: true,
	})
	x.Executor = (&x).NewExecutor()
	x.Verbs = (&x).NewVerbs()
	return &x, nil
}

// Written returns the text that Render writes for the lock as it was read.
func (sl *SpaceLock) Written() []byte {
	if len(sl.Notes) == 0 && sl.Lock.Minor == sl.Lock.Written() { // it was compared when it was parsed
		return sl.Text
	}
	return sl.Lock.Render()
}

// KnownLock returns the lock of the project as it was read, or nil.
func (p *Project) KnownLock() *lock.Known {
	if p.Lock == nil {
		return nil
	}
	return &lock.Known{Text: p.Lock.Text, Lock: p.Lock.Lock, Notes: p.Lock.Notes}
}

// Layers returns the bundles and workspace members of a lock.
func (sl *SpaceLock) Layers() ([]space.Layer, error) {
	var out []space.Layer
	for _, b := range sl.Lock.Bundles {
		l, err := sl.layer(b)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	for _, m := range sl.Lock.Members {
		l := space.Layer{Space: sl.Space, ID: m.Name(), Needs: needed(m.Needs)}
		l.Base, l.Show = sl.folder(m.Path)
		out = append(out, l)
	}
	prefer := sl.prefer(out)
	stale := sl.ProjectFile != nil && sl.ProjectFile.Settings() != sl.Lock.Manifest
	for i, l := range out {
		var use []string
		if b := sl.Lock.BundleNamed(l.ID); b != nil {
			use = b.Use
		}
		out[i].Offers = visibleItems(l.ID, use, prefer)
		out[i].Stale = stale
		out[i].Prefers = func(ref item.Ref) bool {
			return prefer[ref.String()] == l.ID
		}
	}
	return out, nil
}

func (sl *SpaceLock) layer(b lock.Bundle) (space.Layer, error) {
	l := space.Layer{
		Space:    sl.Space,
		ID:       b.ID.String(),
		Version:  b.Version,
		Manifest: b.Manifest,
		Signers:  SignersOf(b),
		Needs:    needed(b.Needs),
	}
	id := b.ID
	switch r := b.Replace; {
	case r.Path != "":
		id = lock.ID{Kind: lock.PathID, Repo: r.Path}
	case !r.IsZero():
		id = r.ID
	}
	if id.Kind == lock.PathID {
		// edited at will
		l.Version = ""
		l.Manifest = item.Digest{}
		l.Base, l.Show = sl.folder(path.Join(id.Repo, id.Subdir))
		return l, nil
	}
	var err error
	l.Install, err = id.Dir(cmp.Or(b.Replace.Version, b.Version))
	return l, err
}

// SignersOf returns the signers that the entry of a bundle names.
func SignersOf(b lock.Bundle) []sign.Fingerprint {
	var out []sign.Fingerprint
	for _, s := range b.Signers {
		fp, err := sign.ParseFingerprint(s[strings.IndexByte(s, ':')+1:])
		if err == nil {
			out = append(out, fp)
		}
	}
	return out
}

// locks reports whether the lock of the project has an entry of one of its own items
// with exactly these bytes.
func (p *Project) locks(root *space.Root, ref item.Ref, digest item.Digest) bool {
	if p.Lock == nil ||
		p.Lock.Lock == nil ||
		root.Space != space.Project ||
		root.Bundled() {
		return false
	}
	entry := p.Lock.Lock.Item(ref)
	return entry != nil && entry.Digest == digest
}

// folder returns a path of the manifest as an absolute one, and as it is shown.
func (sl *SpaceLock) folder(p string) (abs, show string) {
	if filepath.IsAbs(filepath.FromSlash(p)) {
		return filepath.Clean(filepath.FromSlash(p)), p
	}
	return filepath.Join(sl.Dir, filepath.FromSlash(p)), path.Clean(p)
}

func needed(mods []lock.Module) []string {
	out := make([]string, len(mods))
	for i, m := range mods {
		out[i] = m.ID.String()
	}
	return out
}

// prefer returns the preferences of rye.yaml among the existing layers.
func (sl *SpaceLock) prefer(layers []space.Layer) map[string]string {
	out := map[string]string{}
	if sl.ProjectFile == nil {
		return out
	}
	for _, ref := range slices.Sorted(maps.Keys(sl.ProjectFile.Prefer)) {
		id := sl.ProjectFile.Replacing(lock.Module{ID: sl.ProjectFile.Prefer[ref]}).ID.String()
		if slices.ContainsFunc(layers, func(l space.Layer) bool { return l.ID == id }) {
			out[ref] = id
		}
	}
	return out
}

// visibleItems returns which items of a bundle its space sees, nil for all of them.
func visibleItems(id string, use []string, prefer map[string]string) func(item.Ref) bool {
	if len(use) == 0 && len(prefer) == 0 {
		return nil
	}
	return func(ref item.Ref) bool {
		if by := prefer[ref.String()]; by != "" && by != id {
			return false
		}
		return lock.Uses(use, ref)
	}
}

// SetLocked takes over the flag --locked.
func (e *Env) SetLocked(given, value bool) {
	e.Locked = value
	e.Unlocked = given && !value
}

// KeepsLock reports whether only what the lock names may be used and the lock stays as
// it is: --locked, or by default in CI.
func (e *Env) KeepsLock() bool {
	return e.Locked || e.InCI() && !e.Unlocked
}

// CheckLocked refuses a lock that is missing, does not match the manifest or
// replaces a bundle by what only this machine has. In CI it has nothing to say
// of a project that has neither file.
func (p *Project) CheckLocked() error {
	if !p.Env.KeepsLock() {
		return nil
	}
	switch {
	case p.Files == nil && !p.Env.Locked:
		return nil
	case p.Files == nil:
		return diag.New(diag.LockMissing, "reading %s: there is no project", lock.LockFile)
	case p.Lock == nil:
		_, err := p.Files.ReadFile(lock.ProjectFileName, lock.MaxProjectFile)
		if !p.Env.Locked && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return diag.New(diag.LockMissing, "reading %s: it does not exist; --locked, the default in CI, uses only locked items", lock.LockFile)
	}
	found, err := p.Lock.Stale()
	if err != nil {
		return err
	}
	return diag.FromFindings("checking "+lock.LockFile, append(found, lock.Replaced(p.Lock.ProjectFile, p.Lock.Lock)...))
}

// Stale returns the requests of the manifest for which the lock was not made.
func (sl *SpaceLock) Stale() ([]diag.Finding, error) {
	if sl.unread {
		return nil, nil // it is reported as it is
	}
	if sl.ProjectFile == nil {
		f := diag.Errorf(diag.LockStale, 1, 1, "%s exists without %s", lock.LockFile, lock.ProjectFileName)
		f.Path = lock.LockFile
		if len(sl.Lock.Bundles)+len(sl.Lock.Adopted)+len(sl.Lock.Members) == 0 {
			return nil, nil // a lock of items only needs none
		}
		return []diag.Finding{f}, nil
	}
	members, err := lock.Members(sl.Files, sl.ProjectFile)
	if err != nil {
		return nil, err
	}
	return sl.Lock.Stale(sl.ProjectFile, members...), nil
}

// warnDrift returns a function that warns, once, of other system items than the
// locked ones.
func (p *Project) warnDrift() func(error) {
	var once sync.Once
	return func(err error) {
		once.Do(func() {
			var e *diag.Error
			f := diag.Warnf(diag.CodeOf(err), 0, 0, "%s", err)
			if errors.As(err, &e) {
				f.Reason = e.Reason
				f.Facts = e.Details
				f.Path = lock.LockFile
				p.Env.Person.WarnOf(f)
			}
		})
	}
}

// wasTool reports whether the lock of the project has an entry for an item: only
// tools have one.
func (p *Project) wasTool(ref item.Ref) bool {
	return p.Lock != nil && p.Lock.Lock.Item(ref) != nil
}

// GraphItems describes the items as a run finds them.
func (p *Project) GraphItems() itemcheck.Items {
	d := itemcheck.Items{Resolver: p.Resolver, Find: p.Resolver.Find}
	if p.Lock != nil {
		d.Locked = p.wasTool
	}
	return d
}
