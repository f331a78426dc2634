package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// anchor is a directory that is held open from the search for protected paths until the
// program has ended: another program can put a different directory, or a link, at its path.
type anchor struct {
	path string
	fd   int
}

// openAnchor opens a directory whose path has no link. It returns nil for anything else.
func openAnchor(dir string) *anchor {
	fd, err := openBeneath(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil
	}
	return &anchor{dir, fd}
}

func (a *anchor) close() {
	if a != nil {
		_ = unix.Close(a.fd)
	}
}

// location is the path of a directory, below an open one if there is one. Its methods follow
// no link.
type location struct {
	base *anchor
	path string
}

// rel returns the path below the open directory.
func (p location) rel() string {
	rel := strings.TrimPrefix(p.path[len(p.base.path):], "/")
	if rel != "" {
		return rel
	}
	return "."
}

// stamp returns the stamp of the directory. The path may lead through a link: the stamp
// identifies the directory, and nothing is changed.
func (p location) stamp() (stamp, bool) {
	if p.base == nil {
		return stampOf(p.path)
	}
	return stamps{p.base.fd}.stamp(p.rel())
}

// open opens the directory.
func (p location) open(flags int) (int, error) {
	if p.base == nil {
		return openBeneath(unix.AT_FDCWD, p.path, flags|unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS)
	}
	return openBeneath(
		p.base.fd,
		p.rel(),
		flags|unix.O_DIRECTORY,
		unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_BENEATH,
	)
}

// list returns the entries in the order of their names, and the stamp that the directory had
// before they were read.
func (p location) list() (at stamp, entries []fs.DirEntry, err error) {
	fd, err := p.open(unix.O_RDONLY)
	if err != nil {
		return stamp{}, nil, &fs.PathError{Op: "open", Path: p.path, Err: err}
	}
	f := os.NewFile(uintptr(fd), p.path)
	defer f.Close()
	var st unix.Stat_t
	if at, _ = stampIn(&st, unix.Fstat(fd, &st)); at.device == 0 &&
		at.inode == 0 {
		return at, nil, &fs.PathError{Op: "stat", Path: p.path, Err: unix.ENOTDIR}
	}
	entries, err = f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return strings.Compare(a.Name(), b.Name())
	})
	return at, entries, err
}

// makeReadable permits the owner to list the directory.
func (p location) makeReadable() error {
	fd, err := p.open(unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return chmodOpen(fd, 0o700)
}

// makeDirs creates directories in the directory if it has an entry with a name.
func (p location) makeDirs(has string, names ...string) {
	fd, err := p.open(unix.O_PATH)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstatat(fd, has, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		for _, name := range names {
			_ = unix.Mkdirat(fd, name, 0o755)
		}
	}
}

// in returns the directory that contains a path.
func (p location) in() location {
	return location{p.base, filepath.Dir(p.path)}
}

// openBeneath is openat2.
func openBeneath(dir int, path string, flags int, resolve uint64) (fd int, err error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve | unix.RESOLVE_NO_MAGICLINKS}
	for range 100 { // EAGAIN: a directory was renamed meanwhile
		if fd, err = unix.Openat2(dir, path, &how); err != unix.EINTR && err != unix.EAGAIN {
			break
		}
	}
	return fd, err
}

// chmodOpen changes the mode of a file that is open, also with O_PATH.
func chmodOpen(fd int, mode uint32) error {
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
}
