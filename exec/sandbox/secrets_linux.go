package sandbox

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// secretsOfSystem are files below the system directories that other users do not read. A
// program that root starts is their owner and could: it has the user id of rye, so that the
// files which it writes are the user's, and no capability is needed to read one's own files.
func secretsOfSystem(seen *Listings) []string {
	paths := []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/security/opasswd", "/etc/ssl/private", "/etc/krb5.keytab"}
	keys, _ := filepath.Glob("/etc/ssh/*key*")
	paths = append(paths, keys...)
	if os.Geteuid() == 0 {
		paths = append(paths, unreadable(seen, "/etc", "/opt", "/usr/local/etc", "/usr/local/share")...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// maxUnreadable bounds the walk, in entries. What is beyond it is not examined.
const maxUnreadable = 30_000

// unreadable returns the files that other users cannot read, and the directories that they
// cannot search. The names in directories that did not change are remembered: reading them
// is half of the time. Modes are not: the mode of a file changes without its directory.
func unreadable(seen *Listings, roots ...string) []string {
	if seen == nil {
		seen = &Listings{}
	}
	w := secretsWalk{seen: seen, left: maxUnreadable, now: time.Now()}
	for _, root := range roots {
		var onDisk bool
		if w.device, onDisk = trackedDevice(root); onDisk {
			seen.onDisk(w.device)
		}
		w.root = root
		var err error
		if w.from, err = openStamps(root); err != nil {
			continue // it does not exist, or is a link
		}
		if at, ok := w.from.stamp(""); ok {
			w.dir("", at)
		}
		w.from.close()
	}
	return w.found
}

// secretsWalk examines the modes of all files below some directories that are not links.
type secretsWalk struct {
	seen   *Listings
	found  []string
	left   int
	root   string // below which it walks
	from   stamps // of the root: the kernel walks shorter paths
	device uint64 // of the root, 0 if the names are read each time
	now    time.Time
	buf    []byte
}

// dir examines what is below a directory, "" for the root.
func (w *secretsWalk) dir(rel string, at stamp) {
	dir := w.root
	if rel != "" {
		dir += "/" + rel
		rel += "/"
	}
	for _, e := range w.names(dir, at) {
		if w.left--; w.left < 0 {
			return
		}
		p := rel + e.name
		var st unix.Stat_t
		if unix.Fstatat(w.from.fd, p, &st, unix.AT_SYMLINK_NOFOLLOW) != nil ||
			st.Mode&unix.S_IFMT == unix.S_IFLNK {
			continue
		}
		below, isDir := stampIn(&st, nil)
		switch {
		case st.Mode&0o004 == 0, isDir && st.Mode&0o001 == 0:
			w.found = append(w.found, w.root+"/"+p)
		case isDir:
			w.dir(p, below)
		}
	}
}

// names returns the entries of a directory that are not links, whose targets are examined
// where they are.
func (w *secretsWalk) names(dir string, at stamp) []entry {
	key := listingKey{dir: dir, unlinked: true}
	if w.device != 0 && at.device == w.device {
		has, ok := w.seen.remembered(key, at, w.now)
		if ok {
			return has.entries
		}
	}
	found, complete := w.read(dir)
	if complete && w.device != 0 && found.at.device == w.device {
		w.seen.settle(key, &found, w.now)
	}
	return found.entries
}

// read lists a directory by getdents, which states the type of an entry: most entries below
// /etc are links, and they need no call of their own. The stamp is that before the names were
// read.
func (w *secretsWalk) read(dir string) (found listing, complete bool) {
	fd, err := unix.Open(
		dir,
		unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC,
		0,
	)
	if err != nil {
		return found, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	found.at, complete = stampIn(&st, unix.Fstat(fd, &st))
	if w.buf == nil {
		w.buf = make([]byte, 32<<10)
	}
	for {
		n, err := unix.Getdents(fd, w.buf)
		if err != nil || n <= 0 {
			return found, complete && err == nil
		}
		for rest := w.buf[:n]; len(rest) > direntName; {
			size := int(binary.NativeEndian.Uint16(rest[direntSize:]))
			name, _, _ := bytes.Cut(rest[direntName:size], []byte{0})
			kind := rest[direntType]
			rest = rest[size:]
			if found.count++; found.count > maxUnreadable {
				return found, false
			}
			if kind != unix.DT_LNK && string(name) != "." && string(name) != ".." {
				found.entries = append(found.entries, entry{string(name), kind == unix.DT_DIR})
			}
		}
	}
}

// Offsets in a struct linux_dirent64: d_reclen, d_type and d_name.
const (
	direntSize = 16
	direntType = 18
	direntName = 19
)
