package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/runsoutside"
	"github.com/ryeos/rye/policy"
)

// maxQuarantined bounds the list in an error.
const maxQuarantined = 64

// rounds bounds the searches after a run. One is enough unless another program moves the
// directories that were found.
const rounds = 8

// quarantine moves protected paths that appeared during a run out of a writable
// directory: an absent path cannot be protected in a directory that is writable. One in a
// directory that replaced another, which the program renamed, appeared too. number is the
// first of the names.
//
// The program has ended, but programs of other runs in the project may have not. So nothing
// is done by path: the directory that was writable is open since the search before the run,
// each directory in it is opened without links, and must be the one that the search listed.
func quarantine(
	project, root, to string,
	number int,
	before guarded,
	protect func(string) (policy.ProtectedPath, string, bool),
	seen *Listings,
	git *runsoutside.Finder,
	repositories Repositories,
) (moved []string, err error) {
	known := map[string]bool{}
	for _, p := range slices.Concat(before.fixed, before.secret) {
		known[p] = true
	}
	q := &mover{
		root:    before.root,
		project: project,
		to:      to,
		number:  number,
	}
	defer q.close()
	left := 10 * protectedEntries // the program may have made many
	for range rounds {
		search := newGuard(protect, seen, git, repositories)
		search.ended = true
		search.left = left
		after := search.find(project, root, before.root)
		added := after.added(before, known, to)
		if before.complete && !after.complete {
			err = fmt.Errorf("the program created more files or deeper directories in %q than are searched for protected paths", root)
		}
		if len(added) == 0 {
			return q.moved, err
		}
		if to == "" {
			return nil, fmt.Errorf("there is no directory for %s", added[0])
		}
		repeat, failed := q.all(added, after)
		if failed != nil {
			return q.moved, failed
		}
		if !repeat {
			return q.moved, err
		}
	}
	return q.moved, fmt.Errorf("another program moves the directories in %q that contain it", root)
}

// added returns the protected paths of a search that an earlier one did not find.
func (g guarded) added(before guarded, known map[string]bool, to string) (added []string) {
	inTo := func(p string) bool {
		return to != "" && below(p, to)
	} // the result directory may be in .ai, which a first run creates
	for _, p := range slices.Concat(g.fixed, g.secret) {
		if (!known[p] || !g.same(before, p)) &&
			!inTo(p) &&
			!before.byRye(p) {
			added = append(added, p)
		}
	}
	for p, target := range g.links {
		was, ok := before.links[p]
		if (!ok || was != target || !g.same(before, p)) && !inTo(p) {
			added = append(added, p)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(added)))
}

// mover moves what was found to a directory of the run.
type mover struct {
	root        *anchor
	project, to string
	number      int
	dir         *anchor // of the run, in to
	moved       []string
}

func (q *mover) close() {
	q.dir.close()
}

// all moves the paths. It reports whether one was not there any more.
func (q *mover) all(added []string, found guarded) (repeat bool, err error) {
	if q.dir == nil {
		if q.dir, err = newIn(q.project, q.to); err != nil {
			return false, err
		}
	}
	for _, p := range added {
		rel, err := filepath.Rel(q.root.path, p)
		if err != nil {
			return repeat, err
		}
		name := fmt.Sprintf(
			"%03d-%s",
			q.number+len(q.moved),
			strings.ReplaceAll(filepath.ToSlash(rel), "/", "%"),
		)
		switch err := q.move(p, found.parents[filepath.Dir(p)], name); {
		case err == nil:
			q.moved = append(q.moved, p)
		case vanished(err):
			repeat = true
		default:
			return repeat, err
		}
	}
	return repeat, nil
}

// errReplaced states that a directory is not the one which the search listed.
var errReplaced = errors.New("the directory was replaced")

// vanished reports whether an error means that another program moved the path or a directory
// above it: it must be searched again.
func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, unix.ELOOP) ||
		errors.Is(err, unix.ENOTDIR) ||
		errors.Is(err, unix.EXDEV) ||
		errors.Is(err, errReplaced)
}

// move moves a file or directory, which is in the directory dir. Between file systems only
// files and directories are copied: links and special files are removed.
func (q *mover) move(p string, dir identity, name string) error {
	fd, err := location{q.root, p}.in().open(unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if dir != (identity{}) && dir != (identity{uint64(st.Dev), st.Ino}) {
		return errReplaced
	}
	base := filepath.Base(p)
	err = unix.Renameat(fd, base, q.dir.fd, name)
	if errors.Is(err, fs.ErrPermission) { // the program made the directory read-only
		_ = chmodOpen(fd, 0o700)
		if own, err := unix.Openat(fd, base, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
			_ = chmodOpen(own, 0o700)
			_ = unix.Close(own)
		}
		err = unix.Renameat(fd, base, q.dir.fd, name)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The copy is for inspection. That the file is gone does not depend on it.
	_ = copyEntry(fd, base, q.dir.fd, name)
	return removeEntry(fd, base)
}

// openDir opens a directory to list it, and permits the owner to list it if necessary.
func openDir(in int, name string) (*os.File, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(in, name, unix.O_RDONLY|flags, 0)
	if errors.Is(err, fs.ErrPermission) {
		closed, opened := unix.Openat(in, name, unix.O_PATH|flags, 0)
		if opened != nil {
			return nil, err
		}
		_ = chmodOpen(closed, 0o700)
		_ = unix.Close(closed)
		fd, err = unix.Openat(in, name, unix.O_RDONLY|flags, 0)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// removeEntry removes an entry of an open directory with everything below it.
func removeEntry(in int, name string) error {
	err := unix.Unlinkat(in, name, 0)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	dir, opened := openDir(in, name)
	if opened != nil {
		return err
	}
	defer dir.Close()
	_ = chmodOpen(int(dir.Fd()), 0o700)
	names, err := dir.Readdirnames(-1)
	for _, n := range names {
		err = errors.Join(err, removeEntry(int(dir.Fd()), n))
	}
	return errors.Join(err, unix.Unlinkat(in, name, unix.AT_REMOVEDIR))
}

// newIn creates the directory of one run in the directory to, which is created if it does
// not exist. In the project no link is followed to it.
func newIn(project, to string) (*anchor, error) {
	dir := &anchor{path: to}
	if project != "" && below(project, to) {
		top, err := openat.OpenFolder(project)
		if err != nil {
			return nil, err
		}
		defer top.Close()
		rel, err := filepath.Rel(project, to)
		if err != nil {
			return nil, err
		}
		made, err := top.Sub(filepath.ToSlash(rel), 0o700)
		if err != nil {
			return nil, err
		}
		made.Close()
		base := openAnchor(project)
		if base == nil {
			return nil, errReplaced
		}
		defer base.close()
		if dir.fd, err = (location{base, to}).open(unix.O_PATH); err != nil {
			return nil, err
		}
	} else {
		if err := os.MkdirAll(to, 0o700); err != nil {
			return nil, err
		}
		fd, err := unix.Open(to, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		dir.fd = fd
	}
	defer dir.close()
	for { // what an earlier run created keeps its name
		name := "run-" + strconv.FormatUint(rand.Uint64(), 36)
		switch err := unix.Mkdirat(dir.fd, name, 0o700); {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return nil, err
		}
		fd, err := openBeneath(
			dir.fd,
			name,
			unix.O_PATH|unix.O_DIRECTORY,
			unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS,
		)
		return &anchor{filepath.Join(to, name), fd}, err
	}
}

// copyEntry copies a file or a directory with what is in it from one open directory to
// another, without links and special files.
func copyEntry(in int, name string, to int, as string) error {
	var st unix.Stat_t
	err := unix.Fstatat(in, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return copyFile(in, name, to, as)
	case unix.S_IFDIR:
	default:
		return nil
	}
	if err := unix.Mkdirat(to, as, 0o700); err != nil {
		return err
	}
	source, err := openDir(in, name)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := openDir(to, as)
	if err != nil {
		return err
	}
	defer target.Close()
	names, err := source.Readdirnames(-1)
	for _, n := range names {
		err = errors.Join(err, copyEntry(
			int(source.Fd()),
			n,
			int(target.Fd()),
			n,
		))
	}
	return err
}

func copyFile(in int, name string, to int, as string) error {
	fd, err := unix.Openat(
		in,
		name,
		unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC,
		0,
	)
	if err != nil {
		return err
	}
	source := os.NewFile(uintptr(fd), name)
	defer source.Close()
	if fi, err := source.Stat(); err != nil || !fi.Mode().IsRegular() {
		return err
	}
	if fd, err = unix.Openat(to, as, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600); err != nil {
		return err
	}
	target := os.NewFile(uintptr(fd), as)
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// quarantined returns POLICY_DENIED for paths that were moved, or for those that could
// not be.
func quarantined(moved []string, to string, failed error) error {
	if failed == nil && len(moved) == 0 {
		return nil
	}
	first := ""
	if len(moved) > 0 {
		first = moved[0]
	}
	e := diag.New(diag.PolicyDenied, "running in the sandbox: the program created %d protected paths, such as %q; they were moved to %q", len(moved), first, to)
	if failed != nil {
		e = diag.New(diag.PolicyDenied, "running in the sandbox: the program created a protected path that could not be removed: %w", failed)
	}
	return e.
		WithReason("sandbox_quarantine").
		WithDetail("quarantined", moved[:min(len(moved), maxQuarantined)]).
		WithDetail("quarantined_count", len(moved)).WithDetail("directory", to)
}
