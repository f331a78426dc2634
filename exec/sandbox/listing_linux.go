package sandbox

import (
	"time"

	"golang.org/x/sys/unix"
)

// stamp identifies a directory and its last change.
type stamp struct {
	device, inode uint64
	changed       time.Time
}

// stampOf returns the stamp of a directory, false for anything else.
func stampOf(dir string) (stamp, bool) {
	var st unix.Stat_t
	return stampIn(&st, unix.Lstat(dir, &st))
}

// stamps reads the stamps of the directories below an open one: their paths are shorter,
// which is half of the time.
type stamps struct{ fd int }

func openStamps(dir string) (stamps, error) {
	fd, err := unix.Open(
		dir,
		unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC,
		0,
	)
	return stamps{fd}, err
}

func (s stamps) close() {
	_ = unix.Close(s.fd)
}

// stamp is stampOf for a path below the open directory, "" for that itself.
func (s stamps) stamp(rel string) (stamp, bool) {
	var st unix.Stat_t
	return stampIn(&st, unix.Fstatat(
		s.fd,
		rel,
		&st,
		unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH,
	))
}

// stampIn returns the stamp in what the kernel returned of a directory, false for anything else.
func stampIn(st *unix.Stat_t, err error) (stamp, bool) {
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return stamp{}, false
	}
	return stamp{uint64(st.Dev), st.Ino, time.Unix(st.Ctim.Unix())}, true
}

// trackedDevice returns the device of a directory if its file system changes the stamp of
// a directory with every change of its entries, and 0 if that is not known: the clock of
// a file server or of a program in user space may do anything. onDisk reports whether the
// device also keeps the stamps after a restart.
func trackedDevice(dir string) (device uint64, onDisk bool) {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return 0, false
	}
	switch uint32(fs.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC:
		onDisk = true
	case unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
	default:
		return 0, false
	}
	at, ok := stampOf(dir)
	return at.device, onDisk && ok
}
