package sandbox

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// secretsOfSystem are files below the system directories that other users do not read. A
// program that root starts is their owner and could: its user id is that of rye, so that the
// files which it writes are the user's, and no capability is needed to read one's own files.
func secretsOfSystem() []string {
	paths := []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/security/opasswd", "/etc/ssl/private", "/etc/krb5.keytab"}
	keys, _ := filepath.Glob("/etc/ssh/*key*")
	paths = append(paths, keys...)
	if os.Geteuid() == 0 {
		paths = append(paths, unreadable("/etc", "/opt", "/usr/local/etc", "/usr/local/share")...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// maxUnreadable bounds the walk, in entries. What is beyond it is not examined.
const maxUnreadable = 30_000

// unreadable returns the files that other users cannot read, and the directories that they
// cannot search. Nothing is remembered: the mode of a file changes without its directory.
func unreadable(roots ...string) []string {
	w := secretsWalk{left: maxUnreadable, buf: make([]byte, 32<<10)}
	for _, root := range roots {
		w.dir(root)
	}
	return w.found
}

// secretsWalk reads directories by getdents, which states the type of an entry: most entries
// below /etc are links, and links need no call of their own.
type secretsWalk struct {
	found []string
	left  int
	buf   []byte
}

func (w *secretsWalk) dir(dir string) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	var below []string
	for {
		n, err := unix.Getdents(fd, w.buf)
		if err != nil || n <= 0 {
			break
		}
		for rest := w.buf[:n]; len(rest) > direntName; {
			size := int(binary.NativeEndian.Uint16(rest[direntSize:]))
			name, _, _ := bytes.Cut(rest[direntName:size], []byte{0})
			kind := rest[direntType]
			rest = rest[size:]
			if w.left--; w.left < 0 {
				break
			}
			if kind == unix.DT_LNK || string(name) == "." || string(name) == ".." { // the target of a link is examined where it is
				continue
			}
			var st unix.Stat_t
			if unix.Fstatat(fd, string(name), &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
				continue
			}
			isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
			switch {
			case st.Mode&0o004 == 0, isDir && st.Mode&0o001 == 0:
				w.found = append(w.found, dir+"/"+string(name))
			case isDir:
				below = append(below, dir+"/"+string(name))
			}
		}
	}
	_ = unix.Close(fd)
	for _, p := range below {
		w.dir(p)
	}
}

// Offsets in a struct linux_dirent64: d_reclen, d_type and d_name.
const (
	direntSize = 16
	direntType = 18
	direntName = 19
)
