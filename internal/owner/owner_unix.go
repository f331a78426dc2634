//go:build unix

package owner

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// checked reports whether this system has owners and modes that the package reads.
const checked = true

// Other returns the id of the user who owns a file if that is another user of the
// machine, else "". Root is not another user: it controls the machine and this
// program. For root, sudo is the id of the user who started sudo (SUDO_UID), whose
// files root may use as git does; "" means none.
func Other(fi fs.FileInfo, sudo string) string {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return "unknown"
	}
	me := os.Geteuid()
	uid := strconv.FormatUint(uint64(st.Uid), 10)
	if st.Uid == 0 || uid == strconv.Itoa(me) || me == 0 && uid == sudo {
		return ""
	}
	return uid
}

// Name returns a user for messages: "user ada" or "user 1001".
func Name(uid string) string {
	if u, err := user.LookupId(uid); err == nil {
		return "user " + u.Username
	}
	return "user " + uid
}

// writers returns which other users may write a file, "" if none may. The group
// that has the name of the file's owner is private: systems that create one for
// each user set a umask that permits it to write.
func writers(fi fs.FileInfo) string {
	switch perm := fi.Mode().Perm(); {
	case perm&0o002 != 0:
		return "every user"
	case perm&0o020 == 0:
		return ""
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return "its group"
	}
	gid := strconv.FormatUint(uint64(st.Gid), 10)
	g, err := user.LookupGroupId(gid)
	if err != nil {
		return "group " + gid
	}
	u, err := user.LookupId(strconv.FormatUint(uint64(st.Uid), 10))
	if err == nil && u.Username == g.Name {
		return ""
	}
	return "group " + g.Name
}

// OnlyMine reports whether fi is a regular file that this user or root owns and
// that neither a group nor other users can write.
func OnlyMine(fi fs.FileInfo) bool {
	return fi.Mode().IsRegular() &&
		fi.Mode().Perm()&0o022 == 0 &&
		Other(fi, "") == ""
}

// Secret returns an *Unsafe error if another user owns a file or can read or write it.
func Secret(path string, fi fs.FileInfo) error {
	if uid := Other(fi, ""); uid != "" {
		return &Unsafe{path, "belongs to " + Name(uid)}
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return &Unsafe{path, fmt.Sprintf("is not private (mode %04o, must be 0600)", fi.Mode().Perm())}
	}
	return nil
}
