package confine

import (
	"syscall"
	"unsafe"
)

// Bounds of a search, which has few descriptors and no memory of its own.
const (
	maxRoots = 6
	maxDepth = 48
)

// usage measures the files that a program made below its writable directories, and the
// space that they have. The counters of the file systems are read each time: they include
// what other programs do, so a search finds out how much of it is the program's.
type usage struct {
	roots              [maxRoots]root
	n                  int
	complete           bool  // roots has all directories
	start              int64 // nanoseconds: what was made later is the program's
	uncounted          bool  // a file system does not count its files, as btrfs
	searched, duration int64 // of the last search, in nanoseconds

	files, blocks int64 // found by the search, blocks of 512 bytes
	seen          [512]uint64
	nSeen         int
	whole         bool  // the search saw everything
	enough        int64 // files at which it ends, 0 for none

	nextFiles, nextBytes int64 // what the file systems must have lost before the next search

	dirs  *[maxDepth][4096]byte
	links [64]byte
}

// root is a writable directory.
type root struct {
	fd          int
	device      [2]int32
	files, free int64 // files that exist and free bytes of the file system, before the start
}

// open notes the state before the program is started.
func (u *usage) open(w *Watch) {
	u.nextFiles = w.Files
	u.nextBytes = w.Disk
	u.complete = len(w.Roots) <= maxRoots
	u.searched = nanoseconds()
	u.start = u.searched - 10e6 // the clock of file systems is late by this much
	for _, path := range w.Roots {
		if u.n == maxRoots {
			return
		}
		fd, err := openat2(atFDCWD, path, oPath|syscall.O_CLOEXEC)
		if err != nil {
			continue // a directory that the program does not see
		}
		r := root{fd: fd}
		var fs syscall.Statfs_t
		if syscall.Fstatfs(fd, &fs) == nil {
			r.device, r.files, r.free = fs.Fsid.X__val, int64(fs.Files-fs.Ffree), freeBytes(&fs)
			u.uncounted = u.uncounted || fs.Files == 0
		}
		u.roots[u.n] = r
		u.n++
	}
}

func freeBytes(fs *syscall.Statfs_t) int64 {
	size := fs.Frsize
	if size == 0 {
		size = fs.Bsize
	}
	return int64(fs.Bfree) * int64(size)
}

// taken returns how many files and bytes the file systems have lost since the start.
func (u *usage) taken() (files, bytes int64) {
	for i := range u.n {
		r := &u.roots[i]
		if u.repeats(i) {
			continue
		}
		var fs syscall.Statfs_t
		if syscall.Fstatfs(r.fd, &fs) == nil {
			files += max(0, int64(fs.Files-fs.Ffree)-r.files)
			bytes += max(0, r.free-freeBytes(&fs))
		}
	}
	return files, bytes
}

// repeats reports whether an earlier directory is on the same file system.
func (u *usage) repeats(i int) bool {
	for j := range i {
		if u.roots[j].device == u.roots[i].device {
			return true
		}
	}
	return false
}

// over returns the limit that the program exceeds with files that it made.
func (u *usage) over(w *Watch, t *table) *excess {
	files, bytes := u.taken()
	byFiles := w.Files > 0 && files > u.nextFiles
	byBytes := w.Disk > 0 && bytes > u.nextBytes
	if u.uncounted &&
		w.Files > 0 &&
		nanoseconds()-u.searched > max(2e9, 20*u.duration) {
		byFiles = true
	}
	if !byFiles && !byBytes {
		return nil
	}
	began := nanoseconds()
	if u.enough = 0; !byBytes {
		u.enough = w.Files + 1
	}
	u.search(t)
	u.searched = nanoseconds()
	u.duration = u.searched - began
	found := u.files
	used := min(u.blocks*512, bytes)
	switch {
	case !u.whole: // what the search could not see is the program's
		found = max(found, files)
		used = bytes
	case !u.uncounted:
		found = min(found, files)
	}
	if byFiles && found > w.Files {
		return &excess{"files", found}
	}
	if byBytes && used > w.Disk {
		return &excess{"disk_mb", used >> 20}
	}
	// Others took the rest. The program reaches the limit after this at the earliest.
	u.nextFiles = files + w.Files - found
	u.nextBytes = bytes + w.Disk - used
	return nil
}

// search counts the files that were made since the start: those below the directories, and
// those without a name that a process has open.
func (u *usage) search(t *table) {
	u.files = 0
	u.blocks = 0
	u.nSeen = 0
	u.whole = u.complete
	for i := range u.n {
		fd := u.directory(u.roots[i].fd, ".")
		if fd >= 0 {
			u.walk(fd, 0)
			syscall.Close(fd)
		}
	}
	for i := range t.n {
		t.setName(t.rows[i].pid, "/fd")
		fd := t.openName(syscall.O_DIRECTORY)
		if fd < 0 {
			if fd = t.open(t.rows[i].pid, "/stat"); fd >= 0 { // not ended: it hides its descriptors
				u.whole = false
				syscall.Close(fd)
			}
			continue
		}
		_ = numbered(fd, t.dir[:], func(n int64) {
			b := append(u.links[:0], "/proc/"...)
			b = appendNumber(b, t.rows[i].pid)
			b = append(b, "/fd/"...)
			b = append(appendNumber(b, n), 0)
			var x statx
			no := statxOf(atFDCWD, &b[0], 0, &x)
			u.whole = u.whole && no != syscall.EACCES
			if no == 0 &&
				x.links == 0 &&
				x.mode&syscall.S_IFMT == syscall.S_IFREG &&
				u.isNew(&x) &&
				!u.saw(x.inode) {
				u.files++
				u.blocks += int64(x.blocks)
			}
		})
		syscall.Close(fd)
	}
}

// saw reports whether a file without a name was counted already, as far as the list is long enough.
func (u *usage) saw(inode uint64) bool {
	for i := range u.nSeen {
		if u.seen[i] == inode {
			return true
		}
	}
	if u.nSeen < len(u.seen) {
		u.seen[u.nSeen] = inode
		u.nSeen++
	}
	return false
}

func (u *usage) directory(at int, name string) int {
	fd, err := syscall.Openat(
		at,
		name,
		syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC,
		0,
	)
	if err != nil {
		return -1
	}
	return fd
}

// walk counts below a directory. A link is not followed.
func (u *usage) walk(dir, depth int) {
	if depth == maxDepth {
		u.whole = false
		return
	}
	buf := u.dirs[depth][:]
	for {
		n, err := syscall.ReadDirent(dir, buf)
		if err != nil {
			u.whole = false
		}
		if err != nil || n <= 0 {
			return
		}
		if u.enough > 0 && u.files >= u.enough {
			return
		}
		for b := buf[:n]; len(b) > 19; { // struct linux_dirent64
			size := *(*uint16)(unsafe.Pointer(&b[16]))
			u.entry(dir, depth, &b[19])
			b = b[size:]
		}
	}
}

// entry counts one name, which ends with a NUL.
func (u *usage) entry(dir, depth int, name *byte) {
	b := unsafe.Slice(name, 3)
	if b[0] == '.' &&
		(b[1] == 0 || b[1] == '.' && b[2] == 0) {
		return
	}
	var x statx
	if no := statxOf(dir, name, atSymlinkNoFollow, &x); no != 0 {
		u.whole = u.whole && no == syscall.ENOENT // removed meanwhile
		return
	}
	if u.isNew(&x) {
		u.files++
		u.blocks += int64(x.blocks)
	}
	if x.mode&syscall.S_IFMT != syscall.S_IFDIR {
		return
	}
	fd, _, no := syscall.Syscall6(
		syscall.SYS_OPENAT,
		uintptr(dir),
		uintptr(unsafe.Pointer(name)),
		syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC,
		0,
		0,
		0,
	)
	if no != 0 {
		u.whole = u.whole && no == syscall.ENOENT
		return
	}
	u.walk(int(fd), depth+1)
	syscall.Close(int(fd))
}

// isNew reports whether a file was made since the start. A program cannot set either time.
func (u *usage) isNew(x *statx) bool {
	if x.mask&statxBirth != 0 {
		return x.birth.sec*1e9+int64(x.birth.nsec) >= u.start
	}
	return x.changed.sec*1e9+int64(x.changed.nsec) >= u.start
}

// statx is the struct of the kernel.
type statx struct {
	mask, blockSize                   uint32
	attributes                        uint64
	links, uid, gid                   uint32
	mode, _                           uint16
	inode, size, blocks, _            uint64
	accessed, birth, changed, written struct {
		sec  int64
		nsec uint32
		_    int32
	}
	_ [128]byte
}

func statxOf(dir int, name *byte, flags uintptr, x *statx) syscall.Errno {
	_, _, no := syscall.Syscall6(
		sysStatx,
		uintptr(dir),
		uintptr(unsafe.Pointer(name)),
		flags,
		statxWanted,
		uintptr(unsafe.Pointer(x)),
		0,
	)
	return no
}

func nanoseconds() int64 {
	var now syscall.Timeval
	_ = syscall.Gettimeofday(&now)
	return syscall.TimevalToNsec(now)
}
