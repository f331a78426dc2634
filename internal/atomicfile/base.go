package atomicfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/openat"
)

// Base is a trusted directory that files are written below. The path of the
// directory itself may have links: the user chose it. A link below it, which a
// repository or an archive can contain, is never passed.
//
// Paths given to the methods are relative and have forward slashes. Missing
// directories are created, the trusted one included.
type Base struct {
	dir   string // absolute, trusted
	below string // below dir: paths are relative to this directory; "" for dir
	temp  string // absolute, trusted: the directory with temporary files is below it
	inner string // its path below temp
	needs string // below temp: without this there is no directory of temporary files
	perm  fs.FileMode
	show  string // the directory in errors; "" is its path
}

// TempDir is the name of a directory of temporary files: in .ai/cache of a project,
// all of which git ignores, and in each private directory.
const TempDir = "tmp"

const (
	spaceDir = ".ai"
	cacheDir = "cache"
)

// Project returns the base for a directory that contains .ai. The .ai directory
// must not be a link.
func Project(dir string) Base {
	return Base{
		dir:   dir,
		temp:  dir,
		inner: path.Join(spaceDir, cacheDir, TempDir),
		needs: spaceDir,
		perm:  0o755,
	}
}

// Space returns the base for a trusted .ai directory, which may be a link.
func Space(dir string) Base {
	return Base{
		dir:   dir,
		temp:  dir,
		inner: path.Join(cacheDir, TempDir),
		perm:  0o755,
	}
}

// Private returns the base for a directory of the user. Directories are created
// with mode 0700.
func Private(dir string) Base {
	return Base{
		dir:   dir,
		temp:  dir,
		inner: TempDir,
		perm:  0o700,
	}
}

// Git returns the base for a directory of git, which no commit can contain.
func Git(dir string) Base {
	return Base{
		dir:   dir,
		temp:  dir,
		inner: "rye-" + TempDir,
		perm:  0o755,
	}
}

// Below returns the base for a directory of b, which is not trusted itself.
func (b Base) Below(rel string) Base {
	b.below = path.Join(b.below, rel)
	return b
}

// Mode returns the same base with another mode for the directories that it creates.
func (b Base) Mode(perm fs.FileMode) Base {
	b.perm = perm
	return b
}

// At returns the base for another trusted directory, with the temporary files of
// b: nothing but what is written appears in it.
func (b Base) At(dir string) Base {
	b.dir = dir
	b.below = ""
	return b
}

// Shown returns the same base with another name for its directory in errors.
func (b Base) Shown(name string) Base {
	b.show = name
	return b
}

// Path returns the path of a file.
func (b Base) Path(rel string) string {
	return filepath.Join(b.dir, filepath.FromSlash(path.Join(b.below, rel)))
}

// Open opens the directory at rel, "." for b itself, and creates it if it is
// missing.
func (b Base) Open(rel string) (*openat.Folder, error) {
	f, err := b.open(rel)
	if err != nil {
		return nil, b.failed("opening", rel, err)
	}
	return f, nil
}

func (b Base) open(rel string) (*openat.Folder, error) {
	root, err := openOrMake(b.dir, b.perm)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Sub(path.Join(b.below, rel), b.perm)
}

// existing opens the directory at rel if it exists.
func (b Base) existing(rel string) (*openat.Folder, error) {
	root, err := openat.OpenFolder(b.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Sub(path.Join(b.below, rel), 0)
}

// openOrMake opens a trusted directory and creates it if it is missing.
func openOrMake(dir string, perm fs.FileMode) (*openat.Folder, error) {
	f, err := openat.OpenFolder(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(dir, perm); err != nil {
		return nil, err
	}
	return openat.OpenFolder(dir)
}

// MkdirAll creates the directory at rel.
func (b Base) MkdirAll(rel string) error {
	f, err := b.Open(rel)
	if err != nil {
		return err
	}
	return f.Close()
}

// folderOf opens the directory that contains rel, creates it if it is missing and
// make is set, and returns the name of the entry in it.
func (b Base) folderOf(rel string, make bool) (*openat.Folder, string, error) {
	if err := openat.CheckRel(rel); err != nil {
		return nil, "", err
	}
	open := b.existing
	if make {
		open = b.open
	}
	f, err := open(path.Dir(rel))
	return f, path.Base(rel), err
}

// Stat returns the type and the permission bits of what is at rel, without
// following it.
func (b Base) Stat(rel string) (fs.FileMode, error) {
	dir, name, err := b.folderOf(rel, false)
	if err != nil {
		return 0, b.failed("reading", rel, err)
	}
	defer dir.Close()
	mode, err := dir.Stat(name)
	if err != nil {
		return 0, b.failed("reading", rel, err)
	}
	return mode, nil
}

// OpenFile opens a regular file as os.OpenFile does, for what is not written as a
// whole: logs and lock files.
func (b Base) OpenFile(rel string, flag int, perm fs.FileMode) (*os.File, error) {
	dir, name, err := b.folderOf(rel, true)
	if err != nil {
		return nil, b.failed("opening", rel, err)
	}
	defer dir.Close()
	f, err := dir.OpenFile(name, flag, perm)
	if err != nil {
		return nil, b.failed("opening", rel, err)
	}
	return f, nil
}

// Lock waits until this process holds the lock file at rel or ctx ends.
func (b Base) Lock(ctx context.Context, rel string) (*filelock.Lock, error) {
	f, err := b.OpenFile(rel, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return filelock.Acquire(ctx, f)
}

// LockWithin is Lock with a limit of the time to wait: see filelock.AcquireWithin.
func (b Base) LockWithin(
	ctx context.Context,
	rel string,
	limit time.Duration,
) (*filelock.Lock, error) {
	f, err := b.OpenFile(rel, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return filelock.AcquireWithin(ctx, f, limit)
}

// FreeWithin waits until no process holds the lock file at rel: see filelock.FreeWithin.
func (b Base) FreeWithin(ctx context.Context, rel string, limit time.Duration) error {
	f, err := b.OpenFile(rel, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return filelock.FreeWithin(ctx, f, limit)
}

// Rename moves a file or directory to another name below b. What has that name is
// replaced; a directory only if it is empty.
func (b Base) Rename(from, to string) error {
	source, name, err := b.folderOf(from, false)
	if err != nil {
		return b.failed("renaming", from, err)
	}
	defer source.Close()
	target, newName, err := b.folderOf(to, true)
	if err != nil {
		return b.failed("renaming to", to, err)
	}
	defer target.Close()
	if err := source.Rename(name, target, newName); err != nil {
		return b.failed("renaming", from, err)
	}
	return nil
}

// Remove removes the file, link or empty directory at rel. If nothing is there the
// error satisfies errors.Is(err, fs.ErrNotExist).
func (b Base) Remove(rel string) error {
	return b.remove(rel, (*openat.Folder).Remove)
}

// RemoveAll removes the directory at rel with everything in it. It is not an error
// if nothing is there.
func (b Base) RemoveAll(rel string) error {
	err := b.remove(rel, (*openat.Folder).RemoveAll)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (b Base) remove(rel string, do func(*openat.Folder, string) error) error {
	dir, name, err := b.folderOf(rel, false)
	if err == nil {
		defer dir.Close()
		err = do(dir, name)
	}
	if err != nil {
		return b.failed("removing", rel, err)
	}
	return nil
}

// failed returns an error about a path. The code, reason and details of a refusal
// are kept, so that the hint names the link.
func (b Base) failed(doing, rel string, err error) error {
	if err = cause(err); err == nil {
		return nil
	}
	name := b.Path(rel)
	if b.show != "" {
		name = path.Join(b.show, rel)
	}
	out := diag.Doing(doing+" "+name, err)
	for _, key := range []string{"link", "entry"} { // relative to the trusted directory
		at, ok := out.Details[key].(string)
		if ok && !filepath.IsAbs(at) {
			out.Details[key] = filepath.Join(b.dir, filepath.FromSlash(at))
		}
	}
	return out
}

// cause removes the path from an error of the operating system: the message has it.
func cause(err error) error {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Err
	}
	return err
}
