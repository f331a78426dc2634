package packages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"github.com/ryeos/rye/lock/treehash"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/stagedir"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/resolve/space"
)

// installs reports whether a locked bundle is installed. Directories of this
// machine are used in place: their entries have no sum.
func installs(b lock.Bundle) bool {
	return b.Sum != ""
}

// installDir returns the absolute install directory of a locked bundle.
func (e *Engine) installDir(b lock.Bundle) (string, error) {
	dir, err := b.ID.Dir(b.Version)
	if err != nil {
		return "", err
	}
	return filepath.Join(e.bundles(), filepath.FromSlash(dir)), nil
}

// inSpace returns the path of a directory of installed bundles below the base for
// writing, space.
func (e *Engine) inSpace(dir string) string {
	return path.Join(space.BundlesFolder, filepath.ToSlash(strings.TrimPrefix(
		dir,
		e.bundles()+string(filepath.Separator),
	)))
}

// checkInstalled returns nil if the install directory has exactly the locked
// tree: the same files, bytes and modes.
func (e *Engine) checkInstalled(b lock.Bundle) error {
	dir, err := e.installDir(b)
	if err != nil {
		return err
	}
	if !exists(dir) {
		return diag.New(diag.BundleFileMissing, "checking %s: it is not installed: %w", b.Module(), fs.ErrNotExist)
	}
	var files []treehash.File
	err = eachInstalled(dir, func(rel string, text []byte, mode fs.FileMode) error {
		files = append(files, treehash.File{
			Path:   rel,
			Mode:   modeOf(rel, mode, b),
			Size:   int64(len(text)),
			Digest: sha256.Sum256(text),
		})
		return nil
	})
	if err != nil {
		return diag.New(diag.LockMismatch, "checking %s: %w", b.Module(), err)
	}
	sum, err := treehash.Of(files)
	if err == nil && sum == b.Sum {
		return nil
	}
	return diag.New(diag.LockMismatch, "checking %s: the installed files differ from %s", b.Module(), lock.LockFile).
		WithDetail("expected", b.Sum).WithDetail("found", sum)
}

// eachInstalled reads every file of a directory.
func eachInstalled(dir string, fn func(rel string, text []byte, mode fs.FileMode) error) error {
	d, err := openat.Open(dir)
	if err != nil {
		return diag.New(diag.FileSystemError, "opening %s: %w", dir, err)
	}
	defer d.Close()
	return d.Walk(".", func(rel string, x openat.Entry) error {
		if x.IsDir() && x.Err == nil {
			return nil
		}
		if x.Err != nil {
			return x.Err
		}
		text, info, err := d.Read(rel, treehash.MaxFile)
		if err != nil {
			return err
		}
		return fn(rel, text, info.Mode)
	})
}

// maxInMemory is the size, in bytes, up to which an installed bundle is kept in
// memory while a lock is solved.
const maxInMemory = 1 << 20

var errTooLarge = errors.New("larger than maxInMemory")

// installedSnapshot returns the files of an installed bundle, or nil if they
// differ from the lock or are too large. It reads less than the cache would: a
// small bundle is read once for its sum, its rye.yaml and its manifest.
func (e *Engine) installedSnapshot(b lock.Bundle) *source.Snapshot {
	dir, err := e.installDir(b)
	if err != nil || !exists(dir) {
		return nil
	}
	files := map[string][]byte{}
	modes := map[string]fs.FileMode{}
	size := 0
	err = eachInstalled(dir, func(rel string, text []byte, mode fs.FileMode) error {
		files[rel] = text
		modes[rel] = mode
		if size += len(text); size > maxInMemory {
			return errTooLarge
		}
		return nil
	})
	if err != nil {
		return nil
	}
	snap, err := source.InMemory(originOf(b), files, func(p string) bool {
		return modeOf(p, modes[p], b) == treehash.Executable
	})
	if err != nil || snap.Sum != b.Sum {
		return nil
	}
	return snap
}

// modeOf returns the mode of an installed file. Windows file systems have no
// executable bit; there the lock's list decides.
func modeOf(rel string, m fs.FileMode, b lock.Bundle) treehash.Mode {
	executable := m&0o111 != 0
	if runtime.GOOS == "windows" {
		executable = slices.Contains(b.Exec, rel)
	}
	if executable {
		return treehash.Executable
	}
	return treehash.Regular
}

// newStage creates a staging directory. The caller holds the lock of the space.
func (e *Engine) newStage() (*stagedir.Stage, error) {
	st, err := stagedir.New(e.space())
	if err != nil {
		return nil, unwritable(err)
	}
	return st, nil
}

// unwritable is the error for a failed write; the caller undoes the others.
func unwritable(err error) error {
	out := diag.Doing("changing the bundles", err)
	out.Message += "; nothing changed"
	out.Reason = cmp.Or(out.Reason, "disk")
	return out
}

// stage writes bundles into a staging directory, from the snapshots that open
// returns. On success the caller closes the stage.
func (e *Engine) stage(
	ctx context.Context,
	bundles []lock.Bundle,
	open func(lock.Bundle) (*source.Snapshot, error),
) (*stagedir.Stage, error) {
	st, err := e.newStage()
	if err != nil {
		return nil, err
	}
	staged := make([]string, len(bundles))
	for i, b := range bundles {
		final, err := e.installDir(b)
		if err != nil {
			st.Close()
			return nil, err
		}
		staged[i] = st.Replace(e.inSpace(final))
	}
	errs := each(ctx, len(bundles), func(i int) error {
		snap, err := open(bundles[i])
		if err != nil {
			return err
		}
		defer snap.Release()
		return e.writeBundle(ctx, bundles[i], snap, st, staged[i])
	})
	if err := joinErrors("installing bundles", errs); err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}

// writeBundle writes the files of one bundle into a staged directory, read-only.
// The snapshot verifies each file as it is read; its sum covers all of them. It
// does not fsync: after a power loss the lock check finds missing files, and rye
// sync installs them again.
func (e *Engine) writeBundle(
	ctx context.Context,
	b lock.Bundle,
	snap *source.Snapshot,
	st *stagedir.Stage,
	staged string,
) error {
	e.report(Installing, b.Module())
	if snap.Sum != b.Sum {
		return diag.New(diag.Internal, "installing %s: its files have the sum %s, not %s", b.Module(), snap.Sum, b.Sum)
	}
	return snap.Each(ctx, func(f source.File, text []byte) error {
		mode := fs.FileMode(0o444)
		if f.Executable {
			mode = 0o555
		}
		err := st.WriteFile(staged, f.Path, text, mode)
		if err != nil {
			return unwritable(err)
		}
		return nil
	})
}

// outdated returns the locked bundles whose installed files are missing or
// differ from the lock. Those in verified are taken as installed.
func (e *Engine) outdated(
	ctx context.Context,
	l *lock.Lock,
	verified ...lock.Module,
) ([]lock.Bundle, error) {
	want := slices.DeleteFunc(slices.Clone(l.Bundles), func(b lock.Bundle) bool {
		return !installs(b) || slices.Contains(verified, b.Module())
	})
	differs := make([]bool, len(want))
	errs := each(ctx, len(want), func(i int) error {
		differs[i] = e.checkInstalled(want[i]) != nil
		return nil
	})
	if err := joinErrors("checking bundles", errs); err != nil {
		return nil, err
	}
	var out []lock.Bundle
	for i, b := range want {
		if differs[i] {
			out = append(out, b)
		}
	}
	return out, nil
}

// unlocked returns the install directories that the lock does not name.
func (e *Engine) unlocked(l *lock.Lock) ([]string, error) {
	keep := map[string]bool{}
	if l != nil {
		for _, b := range l.Bundles {
			dir, err := e.installDir(b)
			if err == nil && installs(b) {
				keep[dir] = true
			}
		}
		for _, a := range l.Adopted {
			if dir, err := a.ID.Dir(a.Version); err == nil {
				keep[filepath.Join(e.bundles(), filepath.FromSlash(dir))] = true
			}
		}
	}
	var out []string
	err := filepath.WalkDir(e.bundles(), func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		// Directories without "@" hold manifests of the project's own bundles.
		if err != nil ||
			!d.IsDir() ||
			!strings.Contains(d.Name(), "@") {
			return err
		}
		switch {
		case keep[p]:
		case isAbove(p, keep):
			return nil // a user name in an address: git@host.example has bundles below it
		default:
			out = append(out, p)
		}
		return fs.SkipDir
	})
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "listing installed bundles: %w", err)
	}
	return out, nil
}

// isAbove reports whether one of the paths is below dir.
func isAbove(dir string, paths map[string]bool) bool {
	for p := range paths {
		if strings.HasPrefix(p, dir+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// removeUnlocked removes the install directories that the lock does not name,
// and the empty directories above them. It returns the removed paths, relative to
// the directory of bundles.
func (e *Engine) removeUnlocked(l *lock.Lock) ([]string, error) {
	dirs, err := e.unlocked(l)
	if err != nil || len(dirs) == 0 {
		return []string{}, err
	}
	if err := e.removeInstalled(dirs); err != nil {
		return []string{}, err
	}
	return e.relative(dirs), nil
}

func (e *Engine) removeInstalled(dirs []string) error {
	st, err := e.newStage()
	if err != nil {
		return err
	}
	defer st.Close()
	for _, dir := range dirs {
		st.Remove(e.inSpace(dir))
	}
	if err := st.Commit(); err != nil {
		return diag.Doing("removing bundles", err)
	}
	for _, dir := range dirs {
		e.pruneEmpty(filepath.Dir(dir))
	}
	return nil
}

// pruneEmpty removes a directory and those above it, up to the directory of
// bundles, while they are empty.
func (e *Engine) pruneEmpty(dir string) {
	for root := e.bundles(); dir != root && strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
		if e.space().Remove(e.inSpace(dir)) != nil {
			return
		}
	}
}

// tidy removes what killed processes left, for a call that changes nothing else. It
// waits for other processes only if there are empty directories, which one of them
// may be about to fill. Errors are ignored: what stays does no harm.
func (e *Engine) tidy(ctx context.Context) {
	e.space().SweepIn(path.Join(cacheDir, atomicfile.TempDir))
	if len(e.emptyDirs()) == 0 {
		return
	}
	if release, err := e.hold(ctx); err == nil {
		release()
	}
}

// removeEmpty removes the empty directories that killed processes left above install
// directories. The caller has the lock of the space.
func (e *Engine) removeEmpty() {
	for _, dir := range e.emptyDirs() {
		_ = e.space().Remove(e.inSpace(dir))
	}
}

// emptyDirs returns the directories above install directories that contain nothing
// but such directories, the deepest first.
func (e *Engine) emptyDirs() []string {
	var dirs []string
	filled := map[string]bool{e.bundles(): true}
	_ = filepath.WalkDir(e.bundles(), func(p string, d fs.DirEntry, err error) error {
		if p == e.bundles() {
			return err
		}
		if err == nil &&
			d.IsDir() &&
			!strings.Contains(d.Name(), "@") {
			dirs = append(dirs, p)
			return nil
		}
		for dir := filepath.Dir(p); !filled[dir]; dir = filepath.Dir(dir) {
			filled[dir] = true
		}
		if err == nil && d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	slices.Reverse(dirs)
	return slices.DeleteFunc(dirs, func(dir string) bool { return filled[dir] })
}

// commitStage puts staged bundles into their install directories.
func (e *Engine) commitStage(st *stagedir.Stage, bundles []lock.Bundle) error {
	if len(bundles) > 0 && e.p.Ignore != nil {
		if err := e.p.Ignore(); err != nil {
			return err
		}
	}
	if err := st.Commit(); err != nil {
		return unwritable(err)
	}
	return nil
}

// relative returns install directories relative to the directory of bundles,
// with forward slashes.
func (e *Engine) relative(dirs []string) []string {
	out := make([]string, len(dirs))
	for i, dir := range dirs {
		out[i] = filepath.ToSlash(strings.TrimPrefix(
			dir,
			e.bundles()+string(filepath.Separator),
		))
	}
	return out
}
