package sandbox

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/internal/atomicfile"
)

// maxCreated bounds the files that are compared.
const maxCreated = 64 << 20

// created returns the copies that rye keeps of files that it created in the directory. They
// are taken before a run: one that is there already is of an earlier file, which a program
// could create again.
func (a *anchor) created() map[string]identity {
	if a == nil {
		return nil
	}
	dir, err := openBeneath(
		a.fd,
		atomicfile.Created,
		unix.O_PATH|unix.O_DIRECTORY,
		unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_BENEATH,
	)
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	out := map[string]identity{}
	for _, name := range atomicfile.CreatedNames() {
		var st unix.Stat_t
		if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			out[name] = identity{uint64(st.Dev), st.Ino}
		}
	}
	return out
}

// byRye reports whether a process of rye, and not the program, made a file during the run: it
// has the content of a copy that rye wrote since the search before it. The program can neither
// write the copy nor the directories above it. A file that the program changed afterwards has
// other content.
func (g guarded) byRye(p string) bool {
	name := filepath.Base(p)
	if g.root == nil ||
		filepath.Dir(p) != g.root.path ||
		!slices.Contains(atomicfile.CreatedNames(), name) ||
		!slices.Contains(g.fixed, filepath.Join(g.root.path, ".ai")) {
		return false
	}
	kept, id, ok := g.root.content(path.Join(atomicfile.Created, name))
	was, had := g.created[name]
	if !ok || had && was == id {
		return false
	}
	made, _, ok := g.root.content(name)
	return ok && bytes.Equal(kept, made)
}

// content reads a regular file below the directory, without links.
func (a *anchor) content(rel string) (b []byte, id identity, ok bool) {
	fd, err := openBeneath(
		a.fd,
		rel,
		unix.O_RDONLY|unix.O_NONBLOCK,
		unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_BENEATH,
	)
	if err != nil {
		return nil, id, false
	}
	f := os.NewFile(uintptr(fd), rel)
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil ||
		st.Mode&unix.S_IFMT != unix.S_IFREG ||
		st.Size > maxCreated {
		return nil, id, false
	}
	b, err = io.ReadAll(io.LimitReader(f, maxCreated))
	return b, identity{uint64(st.Dev), st.Ino}, err == nil
}
