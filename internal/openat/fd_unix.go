//go:build linux || darwin

package openat

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"golang.org/x/sys/unix"
)

const (
	openFile = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_CLOEXEC // NONBLOCK: opening a pipe without a writer must not block
	// O_DIRECTORY refuses a pipe before it is opened; with NONBLOCK os.File would watch the directory for events
	openFolder = openFile&^unix.O_NONBLOCK | unix.O_DIRECTORY

	// A sparse file may claim any size. A size up to this is believed; a greater one up to
	// 64 times what was read.
	firstBuffer = 1 << 20
	leastGrowth = 512
)

// fdDir is the backend over a descriptor of the root.
type fdDir struct {
	root *os.File
	fd   int
	open func(dirfd int, rel string, flags int) (int, error)
}

func openBackend(root string) (backend, error) {
	f, err := os.OpenFile(root, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	fd := int(f.Fd())
	return &fdDir{root: f, fd: fd, open: opener(fd)}, nil
}

func (d *fdDir) close() error {
	return d.root.Close()
}

func (d *fdDir) read(
	buf []byte,
	rel string,
	max int64,
) ([]byte, Info, error) {
	fd, st, err := d.opened(rel, max)
	if err != nil {
		return nil, Info{}, err
	}
	defer unix.Close(fd)
	b, err := readAll(buf, fd, rel, st.Size, max)
	if err != nil {
		return nil, Info{}, err
	}
	return b, infoOf(&st, len(b)), nil
}

func (d *fdDir) file(rel string, max int64) (*os.File, Info, error) {
	fd, st, err := d.opened(rel, max)
	if err != nil {
		return nil, Info{}, err
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.root.Name(), rel)), infoOf(&st, int(st.Size)), nil
}

// opened opens a regular file of at most max bytes.
func (d *fdDir) opened(rel string, max int64) (fd int, st unix.Stat_t, err error) {
	if fd, err = d.open(d.fd, rel, openFile); err != nil {
		return -1, st, d.refused(rel, err)
	}
	if err = unix.Fstat(fd, &st); err != nil {
		err = failed(rel, err)
	} else {
		err = checkStat(rel, &st, max)
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, st, err
}

func (d *fdDir) same(rel string, content []byte) (bool, error) {
	fd, st, err := d.opened(rel, math.MaxInt64)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if st.Size != int64(len(content)) {
		return false, nil
	}
	return sameContent(content, func(b []byte) (int, error) {
		n, err := unix.Read(fd, b)
		for err == unix.EINTR {
			n, err = unix.Read(fd, b)
		}
		if err != nil {
			err = failed(rel, err)
		}
		return n, err
	})
}

func (d *fdDir) list(rel string) ([]fs.DirEntry, error) {
	fd, err := d.open(d.fd, rel, openFolder)
	if err != nil {
		return nil, d.refused(rel, err)
	}
	f := os.NewFile(uintptr(fd), filepath.Join(d.root.Name(), rel))
	defer f.Close()
	des, err := f.ReadDir(-1)
	if err != nil {
		return nil, failed(rel, err)
	}
	return des, nil
}

func checkStat(rel string, st *unix.Stat_t, max int64) error {
	switch mode := uint32(st.Mode) & unix.S_IFMT; {
	case mode == unix.S_IFDIR:
		return notRegular(rel, "it is a directory")
	case mode == unix.S_IFIFO:
		return notRegular(rel, "it is a pipe")
	case mode != unix.S_IFREG:
		return notRegular(rel, "it is a device or another special file")
	case st.Nlink > 1: // 0 is a file that an editor replaced after the open
		return notRegular(rel, "it has more than one name (hard link)")
	case st.Size > max:
		return tooLarge(rel, max)
	}
	return nil
}

// readAll reads to the end, which can differ from the size of fstat.
func readAll(b []byte, fd int, rel string, size, max int64) ([]byte, error) {
	first := size
	if size > firstBuffer {
		first = firstBuffer / 16
	}
	if b = b[:0]; int64(cap(b)) <= first {
		b = make([]byte, 0, first+1)
	}
	for {
		if len(b) == cap(b) {
			more := min(size-int64(len(b))+1, 63*int64(len(b))) // see firstBuffer
			if more < 1 {                                       // it became longer, perhaps by much
				more = int64(len(b)) + leastGrowth
			}
			// Not slices.Grow, which clears the memory: this is new and contains zeros.
			longer := make([]byte, len(b), len(b)+int(more))
			copy(longer, b)
			b = longer
		}
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, failed(rel, err)
		case n == 0:
			return b, nil
		}
		short := n < cap(b)-len(b)
		if b = b[:len(b)+n]; int64(len(b)) > max {
			return nil, tooLarge(rel, max)
		}
		if short && int64(len(b)) == size { // there is no more: another call would only return 0
			return b, nil
		}
	}
}

func infoOf(st *unix.Stat_t, n int) Info {
	mode := fs.FileMode(st.Mode & 0o777)
	if uint32(st.Mode)&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if uint32(st.Mode)&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	return Info{
		Size:    int64(n),
		Mode:    mode,
		ModTime: time.Unix(st.Mtim.Unix()),
		Device:  uint64(st.Dev),
		Inode:   st.Ino,
	}
}

// refused returns the error of a failed open, with a code.
func (d *fdDir) refused(rel string, err error) error {
	switch {
	case errors.Is(err, unix.ELOOP):
		return escapes(rel, "the path passes through a link")
	case errors.Is(err, unix.EXDEV):
		return escapes(rel, "the path leaves its folder")
	case errors.Is(err, unix.ENOTDIR):
		return d.notFolder(rel, err)
	case errors.Is(err, unix.ENXIO),
		errors.Is(err, unix.ENODEV),
		errors.Is(err, unix.EOPNOTSUPP):
		return notRegular(rel, "it is a socket or a device")
	}
	return failed(rel, err)
}

// notFolder distinguishes a link, which some systems report as "not a directory",
// from a file in the path: a path below a file does not exist.
func (d *fdDir) notFolder(rel string, cause error) error {
	for i := 0; i <= len(rel); i++ {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		var st unix.Stat_t
		if unix.Fstatat(d.fd, rel[:i], &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			break
		}
		switch uint32(st.Mode) & unix.S_IFMT {
		case unix.S_IFLNK:
			return escapes(rel, "the path passes through a link")
		case unix.S_IFDIR:
			continue
		}
		break
	}
	return fault(diag.FileSystemError, rel, "an element of the path is not a directory", errors.Join(fs.ErrNotExist, cause))
}

// openByElement opens the elements of a path one by one without following links, for
// systems without openat2.
func openByElement(dirfd int, rel string, flags int) (int, error) {
	at := dirfd
	for {
		elem, rest, more := strings.Cut(rel, "/")
		want := flags
		if more {
			want = openFolder
		}
		fd, err := retry(func() (int, error) {
			return unix.Openat(at, elem, want, 0)
		})
		if at != dirfd {
			unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at = fd
		rel = rest
	}
}

// retry repeats a call that a signal or a rename elsewhere interrupted.
func retry(open func() (int, error)) (fd int, err error) {
	for range 1000 {
		fd, err = open()
		switch err {
		case unix.EINTR:
		case unix.EAGAIN:
			runtime.Gosched()
		default:
			return fd, err
		}
	}
	return fd, err
}
