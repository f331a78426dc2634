package workcopy

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
)

// All are the bounds of a copy of all files, and which of them stay behind. Directories of
// git stay too: git runs programs that their settings name.
type All struct {
	MaxFiles, MaxBytes int64
	Skip               func(rel string) bool // below the project
	Private            []string              // absolute; wherever they are
	// Skipped names what cannot be copied: pipes, sockets and devices.
	Skipped func(rel string)
}

// maxKept is the size of a file that is kept for a merge, in bytes.
const maxKept = 1 << 20

// measure returns an error if a directory has more than a copy may have.
func (a *All) measure(ctx context.Context, from, copies string) error {
	w := a.walker(ctx, copies)
	return w.top(from, "")
}

// fillAll copies all files of a directory.
func (c *Copy) fillAll(ctx context.Context, repo *gitcmd.Repo, from string, p Params) error {
	var g *gitcmd.Git
	if repo != nil {
		var err error
		// Above the project are the files of the commit.
		if g, err = repo.CopyTo(ctx, filepath.Join(c.dir, treeDir), "rye/"+p.ID, c.Commit, c.Prefix != ""); err != nil {
			return err
		}
	}
	if err := c.enter(true); err != nil {
		return err
	}
	w := p.All.walker(ctx, p.Dir)
	w.skipped = func(string) {} // measure has named it
	err := w.top(from, c.Dir())
	if err != nil || g == nil {
		return err
	}
	return c.keep(ctx, g.In(c.Dir()))
}

// keep keeps the contents that the commit does not have, so that apply can merge with them.
// The repository is the one that rye made for the copy.
func (c *Copy) keep(ctx context.Context, g *gitcmd.Git) error {
	if err := g.Refresh(ctx); err != nil {
		return err
	}
	repo, err := g.Repo(ctx)
	if err != nil {
		return err
	}
	changed, err := repo.Changed(ctx, c.Commit)
	if err != nil {
		return err
	}
	added, err := g.Untracked(ctx)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(c.Dir())
	if err != nil {
		return diag.New(diag.FileSystemError, "making a working copy: %w", err)
	}
	defer root.Close()
	for _, rel := range append(changed, added...) {
		fi, err := root.Lstat(rel)
		if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxKept {
			continue
		}
		f, data, err := read(root, rel)
		if err == nil && f.Kind == Regular {
			err = atomicfile.Private(c.dir).Replace(
				path.Join(baseDir, f.Digest),
				data,
				0o600,
			)
		}
		if err != nil {
			return diag.New(diag.FileSystemError, "making a working copy: %s: %w", rel, err)
		}
	}
	return nil
}

// walker measures a tree, or copies it.
type walker struct {
	*All
	ctx          context.Context
	private      []fs.FileInfo
	files, bytes int64
	dirs         int64
	skipped      func(rel string)
	plain        bool // the file system shares no blocks
}

func (a *All) walker(ctx context.Context, copies string) *walker {
	w := &walker{All: a, ctx: ctx, skipped: a.Skipped}
	for _, dir := range append([]string{copies}, a.Private...) {
		if fi, err := os.Stat(dir); err == nil {
			w.private = append(w.private, fi)
		}
	}
	return w
}

// top handles a whole tree. Without a target it is measured.
func (w *walker) top(from, to string) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return diag.New(diag.FileSystemError, "making a working copy: %w", err)
	}
	defer src.Close()
	var dst *os.Root
	if to != "" {
		if dst, err = os.OpenRoot(to); err != nil {
			return diag.New(diag.FileSystemError, "making a working copy: %w", err)
		}
		defer dst.Close()
	}
	return w.dir(src, dst, "")
}

// dir handles a directory. It is open, and each name in it is one of a file: a program that
// puts a link in the place of a directory meanwhile does not lead the walk elsewhere.
func (w *walker) dir(src, dst *os.Root, rel string) error {
	entries, err := fs.ReadDir(src.FS(), ".")
	if err != nil {
		return diag.New(diag.FileSystemError, "making a working copy: %s: %w", rel, err)
	}
	for _, e := range entries {
		name := e.Name()
		at := path.Join(rel, e.Name())
		if w.ctx.Err() != nil {
			return diag.New(diag.Cancelled, "making a working copy: %w", w.ctx.Err())
		}
		if isGit(name) || strings.HasPrefix(name, atomicfile.Prefix) || w.Skip(at) {
			continue
		}
		fi, err := src.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed since
		}
		if err == nil {
			err = w.entry(src, dst, at, fi)
		}
		if err != nil && diag.CodeOf(err) == "" { // of the system
			err = diag.New(diag.FileSystemError, "making a working copy: %s: %w", at, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entry handles one name of a directory.
func (w *walker) entry(src, dst *os.Root, rel string, fi fs.FileInfo) error {
	name := path.Base(rel)
	switch t := fi.Mode().Type(); {
	case t == fs.ModeDir:
		return w.sub(src, dst, rel, fi)
	case t == fs.ModeSymlink:
		if err := w.count(0); err != nil || dst == nil {
			return err
		}
		target, err := src.Readlink(name)
		if err != nil {
			return err
		}
		return dst.Symlink(target, name)
	case t != 0:
		w.skipped(rel)
		return nil
	case dst == nil:
		return w.count(fi.Size())
	}
	return w.file(src, dst, name, fi)
}

// count adds a file to what a copy has.
func (w *walker) count(size int64) error {
	w.files++
	w.bytes += size
	switch {
	case w.files > w.MaxFiles:
		return diag.New(diag.LimitExceeded, "making a working copy: the project has more than %d files", w.MaxFiles).
			WithReason("copy_size").
			WithDetail("setting", "copies.max_files")
	case w.bytes > w.MaxBytes:
		return diag.New(diag.LimitExceeded, "making a working copy: the files of the project have more than %d bytes", w.MaxBytes).
			WithReason("copy_size").
			WithDetail("setting", "copies.max_bytes")
	}
	return nil
}

// sub handles a directory in a directory.
func (w *walker) sub(src, dst *os.Root, rel string, fi fs.FileInfo) error {
	if slices.ContainsFunc(w.private, func(p fs.FileInfo) bool { return os.SameFile(p, fi) }) {
		return nil
	}
	if w.dirs++; w.dirs > w.MaxFiles {
		return diag.New(diag.LimitExceeded, "making a working copy: the project has more than %d directories", w.MaxFiles).
			WithReason("copy_size").
			WithDetail("setting", "copies.max_files")
	}
	name := path.Base(rel)
	below, err := src.OpenRoot(name)
	if err != nil {
		return err
	}
	defer below.Close()
	opened, err := below.Stat(".")
	if err != nil || !os.SameFile(fi, opened) {
		return errors.Join(err, diag.New(diag.FileSystemError, "making a working copy: %s was replaced while it was copied", rel))
	}
	if dst == nil {
		return w.dir(below, nil, rel)
	}
	if err := dst.Mkdir(name, 0o700); err != nil {
		return err
	}
	to, err := dst.OpenRoot(name)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := w.dir(below, to, rel); err != nil {
		return err
	}
	return dst.Chmod(name, fi.Mode().Perm()|0o700)
}

// file copies a file with its mode and time. It has the same blocks if the file system can
// share them, and is never the same file.
func (w *walker) file(src, dst *os.Root, name string, fi fs.FileInfo) error {
	in, err := src.OpenFile(name, os.O_RDONLY|openat.NonBlock, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	opened, err := in.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(fi, opened) {
		return diag.New(diag.FileSystemError, "making a working copy: %s was replaced while it was copied", in.Name())
	}
	if err := w.count(opened.Size()); err != nil {
		return err
	}
	err = errors.ErrUnsupported
	if !w.plain {
		err = openat.Clone(dst, name, in)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		w.plain = true
		err = fill(dst, name, io.LimitReader(in, opened.Size()))
	}
	if err != nil {
		return err
	}
	return errors.Join(
		dst.Chmod(name, fi.Mode().Perm()),
		dst.Chtimes(name, opened.ModTime(), opened.ModTime()),
	)
}

// fill writes a new file.
func fill(dst *os.Root, name string, from io.Reader) error {
	out, err := dst.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close())
}
