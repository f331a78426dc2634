package fs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
)

// staged is the new content of one file, completely written to a temporary file
// and waiting for its rename. All steps use open handles: a link swapped in during
// the call is replaced, never followed.
type staged struct {
	entry   *files.Entry
	pending *atomicfile.Pending
	dir     *openat.Folder
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

// stage writes data to a temporary file of the project, creating missing directories
// of the file. old is the content that the file has now.
func stage(e *files.Entry, old, data []byte) (*staged, error) {
	if err := e.MakeDirs(); err != nil {
		return nil, err
	}
	dir, err := e.Dir.Open(".")
	if err != nil {
		return nil, files.PathError("writing", e.Given, err)
	}
	st := &staged{
		entry:   e,
		dir:     openat.FolderOf(dir),
		old:     old,
		new:     data,
		created: e.Info == nil,
	}
	var mode fs.FileMode
	if e.Info != nil {
		mode = e.Info.Mode().Perm()
	}
	if st.pending, err = atomicfile.Project(e.Root).Stage(st.dir, e.Base, data, mode); err != nil {
		_ = st.dir.Close()
		if diag.CodeOf(err) == diag.PathEscape {
			return nil, err
		}
		return nil, files.PathError("writing", e.Given, err)
	}
	return st, nil
}

// change returns the change that the rename makes.
func (st *staged) change() *Change {
	return changeOf(st.entry, st.old, st.new)
}

// commit renames the temporary file, unless the file changed since it was read.
func (st *staged) commit() error {
	if !st.unchanged() {
		return diag.New(diag.ValidationFailed, "writing %q: the file changed during the call", st.entry.Given)
	}
	if err := st.pending.Commit(); err != nil {
		return files.PathError("writing", st.entry.Given, err)
	}
	return nil
}

func (st *staged) unchanged() bool {
	now, err := st.entry.Dir.Lstat(st.entry.Base)
	was := st.entry.Info
	if was == nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil &&
		os.SameFile(was, now) &&
		was.Size() == now.Size() &&
		was.ModTime().Equal(now.ModTime())
}

// drop removes the temporary file if it was not renamed.
func (st *staged) drop() {
	st.pending.Discard()
	_ = st.dir.Close()
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
