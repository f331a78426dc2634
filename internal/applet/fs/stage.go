package fs

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/atomicfile"
)

// staged is the new content of one file, completely written to a temporary file
// in the same directory and waiting for its rename. All steps use open handles:
// a link swapped in during the call is replaced, never followed.
type staged struct {
	entry   *files.Entry
	tmp     string
	old     []byte
	new     []byte
	created bool
}

// checkWritable returns an error if e may not be written. It changes nothing.
func checkWritable(e *files.Entry) error {
	if err := e.CheckWrite(); err != nil {
		return err
	}
	switch {
	case strings.HasSuffix(e.Given, "/"):
		return diag.New(diag.NotRegular, "writing %q: the path ends with a slash", e.Given)
	case e.Info == nil:
		return nil
	case e.Info.IsDir():
		return diag.New(diag.NotRegular, "writing %q: it is a directory", e.Given)
	case !e.Info.Mode().IsRegular():
		return files.NotRegular("writing", e.Given)
	case e.Info.Mode().Perm()&0o200 == 0:
		return diag.New(diag.FileSystemError, "writing %q: the file is read-only", e.Given)
	}
	return nil
}

// stage writes data to a temporary file next to the file, creating missing
// directories. old is the content that the file has now.
func stage(e *files.Entry, old, data []byte) (*staged, error) {
	if err := e.MakeDirs(); err != nil {
		return nil, err
	}
	var suffix [8]byte
	_, _ = rand.Read(suffix[:]) // never fails
	st := &staged{entry: e, tmp: atomicfile.Prefix + hex.EncodeToString(suffix[:]), old: old, new: data, created: e.Info == nil}
	f, err := e.Dir.OpenFile(st.tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, files.PathError("writing", e.Given, err)
	}
	if err := st.fill(f); err != nil {
		st.drop()
		return nil, files.PathError("writing", e.Given, err)
	}
	return st, nil
}

// fill writes the content to f and closes it.
func (st *staged) fill(f *os.File) error {
	_, err := f.Write(st.new)
	if err == nil && st.entry.Info != nil {
		err = f.Chmod(st.entry.Info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// commit renames the temporary file, unless the file changed since it was read.
func (st *staged) commit() error {
	if !st.unchanged() {
		return diag.New(diag.ValidationFailed, "writing %q: the file changed during the call", st.entry.Given)
	}
	if err := st.entry.Dir.Rename(st.tmp, st.entry.Base); err != nil {
		return files.PathError("writing", st.entry.Given, err)
	}
	st.tmp = ""
	syncDir(st.entry.Dir)
	return nil
}

func (st *staged) unchanged() bool {
	now, err := st.entry.Dir.Lstat(st.entry.Base)
	was := st.entry.Info
	if was == nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil && os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
}

// drop removes the temporary file if it was not renamed.
func (st *staged) drop() {
	if st.tmp != "" {
		_ = st.entry.Dir.Remove(st.tmp) // the work is done or has failed; a temporary file that stays is hidden
	}
}

// syncDir makes a rename durable where the system can. A failure does not undo
// the rename and is not reported.
func syncDir(dir *os.Root) {
	if f, err := dir.Open("."); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// conflict returns two of the paths that cannot both be files: equal ones, or
// one inside the other.
func conflict(rels []string) (string, string, bool) {
	seen := make(map[string]bool, len(rels))
	for _, r := range rels {
		if seen[r] {
			return r, r, true
		}
		seen[r] = true
	}
	for _, r := range rels {
		for dir := path.Dir(r); dir != "."; dir = path.Dir(dir) {
			if seen[dir] {
				return dir, r, true
			}
		}
	}
	return "", "", false
}
