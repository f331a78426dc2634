package confine

import (
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
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
	old, err := unix.Open(oldRoot, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed("mounts", "old root", err)
	}
	for _, s := range steps {
		if err := s.mount(old); err != nil {
			return failed("mounts", string(s.Do)+" "+string(s.Dst), err)
		}
	}
	unix.Close(old)
	return finishRoot()
}

// newRoot makes an empty file system the root, with the old root in it.
func newRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return failed("mounts", "private mounts", err)
	}
	at := "/tmp"
	if fi, err := os.Lstat(at); err != nil || !fi.IsDir() {
		at = "/usr" // any directory: the mount on it becomes the root
	}
	if err := unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m"); err != nil {
		return failed("mounts", "root file system", err)
	}
	if err := unix.Mkdir(at+oldRoot, 0o700); err != nil {
		return failed("mounts", "old root", err)
	}
	if err := unix.PivotRoot(at, at+oldRoot); err != nil {
		return failed("mounts", "pivot_root", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return failed("mounts", "chdir", err)
	}
	if err := unix.Mkdir(voidDir, 0o555); err != nil {
		return failed("mounts", "empty directory", err)
	}
	return failed("mounts", "empty file", unix.Mknod(hideFile, unix.S_IFREG, 0))
}

// finishRoot removes the old root and what was needed to build the new one.
func finishRoot() error {
	if err := unix.Unmount(oldRoot, unix.MNT_DETACH); err != nil {
		return failed("mounts", "unmounting the old root", err)
	}
	if _, err := os.Lstat(tmpRoot); err == nil {
		if err := unix.Unmount(tmpRoot, unix.MNT_DETACH); err != nil {
			return failed("mounts", "unmounting", err)
		}
		if err := unix.Rmdir(tmpRoot); err != nil {
			return failed("mounts", tmpRoot, err)
		}
	}
	for _, err := range []error{unix.Rmdir(oldRoot), unix.Rmdir(voidDir), unix.Unlink(hideFile)} {
		if err != nil {
			return failed("mounts", "cleaning the root", err)
		}
	}
	return failed("mounts", "read-only root", unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
}

func (s Step) mount(old int) error {
	dst := string(s.Dst)
	switch s.Do {
	case MakeDir:
		return makeDirs(dst)
	case Symlink:
		if err := makeDirs(path.Dir(dst)); err != nil {
			return err
		}
		return unix.Symlink(string(s.Src), dst)
	case Proc:
		if err := makeDirs(dst); err != nil {
			return err
		}
		return mountProc(dst, s.Size)
	case Tmp:
		if err := unix.Mkdir(tmpRoot, 0o700); err != nil {
			return err
		}
		return unix.Mount("tmpfs", tmpRoot, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700,nr_inodes=65536,size="+decimal(s.Size))
	case TmpDir:
		src := tmpRoot + "/" + string(s.Src)
		if err := unix.Mkdir(src, s.Mode); err != nil {
			return err
		}
		return bind(unix.AT_FDCWD, src, dst, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	case MaskDir:
		return bind(unix.AT_FDCWD, voidDir, dst, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_RDONLY)
	case MaskFile:
		return bind(unix.AT_FDCWD, hideFile, dst, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_RDONLY)
	case Device:
		return bind(old, string(s.Src), dst, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	case Writable:
		return bind(old, string(s.Src), dst, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	case ReadOnly:
		return bind(old, string(s.Src), dst, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_RDONLY)
	}
	return unix.EINVAL
}

// mountProc mounts the processes of the namespace, read-only: with the user id 0,
// settings of the kernel below sys would be writable.
func mountProc(dst string, pidMax int64) error {
	if err := unix.Mount("proc", dst, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	if pidMax > 0 {
		if err := os.WriteFile(dst+"/sys/kernel/pid_max", []byte(decimal(pidMax)), 0); err != nil {
			return err
		}
	}
	return unix.MountSetattr(unix.AT_FDCWD, dst, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// bind mounts src, which is below root, at dst of the new root.
func bind(root int, src, dst string, attr uint64) error {
	if root != unix.AT_FDCWD {
		src = strings.TrimPrefix(src, "/")
		if src == "" {
			src = "."
		}
	}
	fd, err := unix.Openat2(root, src, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	to, err := mountPoint(dst, st.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	tree, err := unix.OpenTree(fd, "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr}); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// mountPoint opens dst of the new root, and creates it if it is missing.
func mountPoint(dst string, dir bool) (int, error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, dst, how)
	if err != unix.ENOENT {
		return fd, err
	}
	if dir {
		err = makeDirs(dst)
	} else if err = makeDirs(path.Dir(dst)); err == nil {
		err = unix.Mknod(dst, unix.S_IFREG|0o600, 0)
	}
	if err != nil {
		return -1, err
	}
	return unix.Openat2(unix.AT_FDCWD, dst, how)
}

func makeDirs(dir string) error {
	err := unix.Mkdir(dir, 0o755)
	if err == unix.ENOENT {
		if err = makeDirs(path.Dir(dir)); err == nil {
			err = unix.Mkdir(dir, 0o755)
		}
	}
	if err == unix.EEXIST || dir == "/" {
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
