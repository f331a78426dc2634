package applet

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
)

// staged is new content for one file, fully written beside it and waiting for
// its rename. All of it goes through open handles: a link swapped in meanwhile
// is replaced, never followed.
type staged struct {
	spot    *spot
	tmp     string
	old     []byte
	new     []byte
	created bool
}

// checkWritable says whether a file may stand at s. It changes nothing.
func (s *spot) checkWritable() error {
	if err := refuseGit(s.rel, s.given); err != nil {
		return err
	}
	if err := refuseGuarded(s.rel, s.given); err != nil {
		return err
	}
	switch {
	case strings.HasSuffix(s.given, "/"):
		return diag.New(diag.NotRegular, "writing %q: the name of a folder", s.given)
	case s.info == nil:
		return nil
	case s.info.IsDir():
		return diag.New(diag.NotRegular, "writing %q: it is a folder", s.given)
	case !s.info.Mode().IsRegular():
		return notRegular("writing", s.given)
	case s.info.Mode().Perm()&0o200 == 0:
		return diag.New(diag.FileSystemError, "writing %q: the file is read-only", s.given).
			WithHint("change its mode first, if it should change")
	}
	return nil
}

// stage writes data beside the file, making missing folders.
func (s *spot) stage(old, data []byte) (*staged, error) {
	if err := s.makeFolders(); err != nil {
		return nil, err
	}
	var suffix [8]byte
	_, _ = rand.Read(suffix[:]) // never fails
	st := &staged{spot: s, tmp: atomicfile.Prefix + hex.EncodeToString(suffix[:]), old: old, new: data, created: s.info == nil}
	f, err := s.dir.OpenFile(st.tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, pathError("writing", s.given, err)
	}
	if err := st.fill(f); err != nil {
		st.drop()
		return nil, pathError("writing", s.given, err)
	}
	return st, nil
}

// fill closes f in any case.
func (st *staged) fill(f *os.File) error {
	_, err := f.Write(st.new)
	if err == nil && st.spot.info != nil {
		err = f.Chmod(st.spot.info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// commit puts the new content in place, unless the file is no longer the one
// it was made from.
func (st *staged) commit() error {
	if err := st.unchanged(); err != nil {
		return err
	}
	if err := st.spot.dir.Rename(st.tmp, st.spot.base); err != nil {
		return pathError("writing", st.spot.given, err)
	}
	st.tmp = ""
	syncFolder(st.spot.dir)
	return nil
}

func (st *staged) unchanged() error {
	now, err := st.spot.dir.Lstat(st.spot.base)
	was := st.spot.info
	same := errors.Is(err, fs.ErrNotExist) && was == nil ||
		err == nil && was != nil && os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
	if same {
		return nil
	}
	return diag.New(diag.ValidationFailed, "writing %q: the file changed meanwhile", st.spot.given).
		WithHint("read it again, then repeat the change")
}

// drop removes what is still waiting.
func (st *staged) drop() {
	if st.tmp != "" {
		_ = st.spot.dir.Remove(st.tmp) // best effort: a stray hidden file harms nothing
	}
}

// syncFolder makes a rename durable where the system can; its failure does not
// undo the rename and is not reported.
func syncFolder(dir *os.Root) {
	if f, err := dir.Open("."); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// makeFolders creates what is missing and moves the handle to the last one.
func (s *spot) makeFolders() error {
	for _, name := range s.missing {
		if err := s.dir.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return pathError("creating the folder of", s.given, err)
		}
		seen, err := s.dir.Lstat(name)
		if err == nil && !seen.IsDir() {
			return diag.New(diag.PathEscape, "writing %q: %q was replaced while it was made", s.given, name)
		}
		child, err2 := s.dir.OpenRoot(name)
		if err = errors.Join(err, err2); err != nil {
			return pathError("creating the folder of", s.given, err)
		}
		now, err := child.Stat(".")
		if err != nil || !os.SameFile(seen, now) {
			child.Close()
			return diag.New(diag.PathEscape, "writing %q: %q was replaced while it was made", s.given, name)
		}
		s.dir.Close()
		s.dir = child
	}
	s.missing = nil
	return nil
}

// overlapping returns two of the paths that cannot both be files: equal ones,
// or one inside the other.
func overlapping(rels []string) (string, string, bool) {
	at := make(map[string]bool, len(rels))
	for _, r := range rels {
		if at[r] {
			return r, r, true
		}
		at[r] = true
	}
	for _, r := range rels {
		for dir := path.Dir(r); dir != "."; dir = path.Dir(dir) {
			if at[dir] {
				return dir, r, true
			}
		}
	}
	return "", "", false
}
