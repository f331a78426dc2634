package sandbox

import (
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
func unreadable(roots ...string) (out []string) {
	left := maxUnreadable
	var walk func(dir string)
	walk = func(dir string) {
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		f := os.NewFile(uintptr(fd), dir)
		names, _ := f.Readdirnames(-1)
		var below []string
		for _, name := range names {
			if left--; left < 0 {
				break
			}
			var st unix.Stat_t
			if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			switch p := dir + "/" + name; st.Mode & unix.S_IFMT {
			case unix.S_IFDIR:
				if st.Mode&0o001 == 0 || st.Mode&0o004 == 0 {
					out = append(out, p)
				} else {
					below = append(below, p)
				}
			case unix.S_IFLNK:
			default:
				if st.Mode&0o004 == 0 {
					out = append(out, p)
				}
			}
		}
		f.Close()
		for _, p := range below {
			walk(p)
		}
	}
	for _, root := range roots {
		walk(root)
	}
	return out
}
