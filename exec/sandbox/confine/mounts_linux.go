package confine

import (
	"errors"
	"syscall"
)

// Names in the new root while it is built. They do not exist in it afterwards.
const (
	oldRoot  = "/.old"
	tmpRoot  = "/.tmp"
	voidDir  = "/.void"
	hideFile = "/.hide"
)

// mount builds the new root. Sources are opened in the old root without following a
// link: the parent resolved them, and a link that appeared since is an attack.
func mount(steps []Step) error {
	if len(steps) == 0 {
		return nil
	}
	if err := newRoot(); err != nil {
		return err
	}
	old, err := syscall.Open(oldRoot, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return failed("mounts", "old root", err)
	}
	for _, s := range steps {
		if err := s.mount(old); err != nil {
			return failed("mounts", string(s.Do)+" "+s.Dst, err)
		}
	}
	syscall.Close(old)
	return finishRoot()
}

// newRoot makes an empty file system the root, with the old root in it.
func newRoot() error {
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	if err != nil {
		return failed("mounts", "private mounts", err)
	}
	at := "/tmp"
	var st syscall.Stat_t
	if syscall.Lstat(at, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		at = "/usr" // any directory: the mount on it becomes the root
	}
	err = syscall.Mount("tmpfs", at, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755,size=1m")
	if err != nil {
		return failed("mounts", "root file system", err)
	}
	if err := syscall.Mkdir(at+oldRoot, 0o700); err != nil {
		return failed("mounts", "old root", err)
	}
	if err := syscall.PivotRoot(at, at+oldRoot); err != nil {
		return failed("mounts", "pivot_root", err)
	}
	if err := syscall.Chdir("/"); err != nil {
		return failed("mounts", "chdir", err)
	}
	if err := syscall.Mkdir(voidDir, 0o555); err != nil {
		return failed("mounts", "empty directory", err)
	}
	return failed("mounts", "empty file", syscall.Mknod(hideFile, syscall.S_IFREG, 0))
}

// finishRoot removes the old root and what was needed to build the new one.
func finishRoot() error {
	if err := syscall.Unmount(oldRoot, syscall.MNT_DETACH); err != nil {
		return failed("mounts", "unmounting the old root", err)
	}
	var st syscall.Stat_t
	if syscall.Lstat(tmpRoot, &st) == nil {
		if err := syscall.Unmount(tmpRoot, syscall.MNT_DETACH); err != nil {
			return failed("mounts", "unmounting", err)
		}
		if err := syscall.Rmdir(tmpRoot); err != nil {
			return failed("mounts", tmpRoot, err)
		}
	}
	for _, err := range []error{syscall.Rmdir(oldRoot), syscall.Rmdir(voidDir), syscall.Unlink(hideFile)} {
		if err != nil {
			return failed("mounts", "cleaning the root", err)
		}
	}
	return failed("mounts", "read-only root", mountSetattr(atFDCWD, "/", 0, attrReadOnly))
}

func (s Step) mount(old int) error {
	dst := s.Dst
	switch s.Do {
	case MakeDir:
		return makeDirs(dst)
	case Symlink:
		if err := makeDirs(above(dst)); err != nil {
			return err
		}
		return syscall.Symlink(s.Src, dst)
	case Proc:
		if err := makeDirs(dst); err != nil {
			return err
		}
		return mountProc(dst, s.Size)
	case Tmp:
		if err := syscall.Mkdir(tmpRoot, 0o700); err != nil {
			return err
		}
		return syscall.Mount(
			"tmpfs",
			tmpRoot,
			"tmpfs",
			syscall.MS_NOSUID|syscall.MS_NODEV,
			"mode=0700,nr_inodes=65536,size="+decimal(s.Size),
		)
	case TmpDir:
		src := tmpRoot + "/" + s.Src
		if err := syscall.Mkdir(src, s.Mode); err != nil {
			return err
		}
		return bind(atFDCWD, src, dst, Step{}, attrNoSuid|attrNoDev)
	case MaskDir:
		return mask(voidDir, dst, s.In, attrNoSuid|attrNoDev|attrReadOnly)
	case MaskFile:
		return mask(hideFile, dst, s.In, attrNoSuid|attrNoDev|attrReadOnly)
	case Device:
		return bind(old, s.Src, dst, s, attrNoSuid|attrNoExec)
	case Writable:
		return bind(old, s.Src, dst, s, attrNoSuid|attrNoDev)
	case ReadOnly:
		return bind(old, s.Src, dst, s, attrNoSuid|attrNoDev|attrReadOnly)
	}
	return syscall.EINVAL
}

// mountProc mounts the processes of the namespace, read-only: with the user id 0,
// settings of the kernel below sys would be writable.
func mountProc(dst string, pidMax int64) error {
	err := syscall.Mount("proc", dst, "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "")
	if err != nil {
		return err
	}
	if pidMax > 0 {
		if err := write(dst+"/sys/kernel/pid_max", decimal(pidMax)); err != nil {
			return err
		}
	}
	return mountSetattr(atFDCWD, dst, 0, attrReadOnly)
}

// bind mounts src, which is below root, at dst of the new root. Both must be in the directory
// that the step names.
func bind(root int, src, dst string, s Step, attr uint64) error {
	if root != atFDCWD {
		for src != "" && src[0] == '/' {
			src = src[1:]
		}
		if src == "" {
			src = "."
		}
	}
	fd, err := openIn(root, src, s.In)
	if err != nil {
		return err
	}
	if s.Is != (Dir{}) && s.Is != dirOf(fd) {
		syscall.Close(fd)
		return errReplaced
	}
	return mountAt(fd, dst, s.In, attr)
}

// mask mounts one of the empty files at dst, which is in the directory in. It hides nothing if
// dst is below a read-only mount and was removed since the mounts were planned, as a
// temporary file of another program in /etc can be.
func mask(src, dst string, in Dir, attr uint64) error {
	fd, err := openIn(atFDCWD, src, Dir{})
	if err != nil {
		return err
	}
	err = mountAt(fd, dst, in, attr)
	if err == syscall.EROFS && in == (Dir{}) { // of making the mount point, which does not exist
		return nil
	}
	return err
}

// mountAt mounts what fd is open on, and closes fd.
func mountAt(fd int, dst string, in Dir, attr uint64) error {
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	to, err := mountPoint(dst, st.Mode&syscall.S_IFMT == syscall.S_IFDIR, in)
	if err != nil {
		return err
	}
	defer syscall.Close(to)
	tree, err := openTree(fd, atEmptyPath|openTreeClone|openTreeCloexec|atRecursive)
	if err != nil {
		return err
	}
	defer syscall.Close(tree)
	if err := mountSetattr(tree, "", atEmptyPath|atRecursive, attr); err != nil {
		return err
	}
	return moveMount(tree, to)
}

// errReplaced states that a program of another run moved a directory since the mounts were
// planned.
var errReplaced = errors.New("another program replaced the directory that contains it")

// openIn opens path below root. Its directory must be in, so that what is opened is where it
// was when the mounts were planned: a directory has one path only.
func openIn(root int, path string, in Dir) (int, error) {
	if in == (Dir{}) {
		return openat2(root, path, oPath|syscall.O_CLOEXEC)
	}
	dir := above(path)
	if dir == "/" && path[0] != '/' {
		dir = "."
	}
	fd, err := openat2(root, dir, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer syscall.Close(fd)
	if in != dirOf(fd) {
		return -1, errReplaced
	}
	return openat2(fd, path[lastSlash(path)+1:], oPath|syscall.O_CLOEXEC)
}

// dirOf returns the identity of an open directory.
func dirOf(fd int) Dir {
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) != nil {
		return Dir{}
	}
	return Dir{uint64(st.Dev), st.Ino}
}

func lastSlash(p string) int {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == '/' {
			return i
		}
	}
	return -1
}

// mountPoint opens dst of the new root, and creates it if it is missing.
func mountPoint(dst string, dir bool, in Dir) (int, error) {
	fd, err := openIn(atFDCWD, dst, in)
	if err != syscall.ENOENT || in != (Dir{}) {
		return fd, err
	}
	if dir {
		err = makeDirs(dst)
	} else if err = makeDirs(above(dst)); err == nil {
		err = syscall.Mknod(dst, syscall.S_IFREG|0o600, 0)
	}
	if err != nil {
		return -1, err
	}
	return openat2(atFDCWD, dst, oPath|syscall.O_CLOEXEC)
}

func makeDirs(dir string) error {
	err := syscall.Mkdir(dir, 0o755)
	if err == syscall.ENOENT {
		if err = makeDirs(above(dir)); err == nil {
			err = syscall.Mkdir(dir, 0o755)
		}
	}
	if err == syscall.EEXIST || dir == "/" {
		return nil
	}
	return err
}

func decimal(n int64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + string(rune('0'+n%10))
}

// above returns the directory that contains a path.
func above(p string) string {
	for i := len(p) - 1; i > 0; i-- {
		if p[i] == '/' {
			return p[:i]
		}
	}
	return "/"
}

// write writes to a file that exists.
func write(path, text string) error {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte(text))
	return err
}
