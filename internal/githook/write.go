package githook

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/resolve/space"
)

// change is one file that gets other bytes in the index, and in the work tree if it
// equals what was staged.
type change struct {
	path     string // below the work tree
	was, now string // blobs; was is "" for a new file
	// A detached signature is written only if the file that it signs has this blob.
	signed, blob string

	mode  uint32
	bytes []byte
	old   []byte       // the bytes of was, if they are known
	same  bool         // write the file only if the bytes add nothing but a signature line
	to    *gitcmd.Blob // the bytes, ready to be stored
	left  string       // names the file if it stays as it is
}

// write stores the signed blobs, lists the files in the git directory, updates the
// index, and then the files of the work tree that equal the staged ones. A process
// that is killed in between loses nothing: Finish completes its work.
func (s *session) write(ctx context.Context) error {
	var list []change
	for _, r := range s.runs {
		list = append(list, r.changes()...)
	}
	skipped, err := s.skipped(ctx, list)
	if err != nil {
		return err
	}
	entries, err := s.store(ctx, list)
	if err != nil {
		return err
	}
	// Not before: a kill of all processes while git holds the lock of the index leaves it.
	if err := s.writer.UpdateIndex(ctx, entries); err != nil {
		return err
	}
	if err := s.writer.Skip(ctx, skipped); err != nil { // update-index clears the flag of a replaced entry
		return err
	}
	if err := s.otherIndex(ctx, list, entries); err != nil || s.IndexOnly {
		return err
	}
	if s.report.Left, err = workTree(s.Repo, list); err != nil {
		return err
	}
	return removePending(s.Repo)
}

// store writes the blobs of the files and then the list of the files.
func (s *session) store(ctx context.Context, list []change) ([]gitcmd.Entry, error) {
	blobs := make([]*gitcmd.Blob, len(list))
	entries := make([]gitcmd.Entry, len(list))
	for i, c := range list {
		blobs[i] = c.to
		entries[i] = gitcmd.Entry{Mode: c.mode, OID: c.now, Path: c.path}
	}
	if err := s.writer.WriteBlobs(ctx, blobs); err != nil {
		return nil, err
	}
	return entries, savePending(s.Repo, list, s.IndexOnly)
}

// changes returns the files of a project to replace.
func (r *run) changes() []change {
	var list []change
	for _, t := range r.todo {
		c := change{
			path:  r.path(t.out.Rel),
			was:   t.old.OID,
			now:   t.blob.OID,
			mode:  gitcmd.ModeFile,
			bytes: t.out.Bytes,
			to:    t.blob,
			left:  r.Label + t.it.Path(),
		}
		if t.old.OID != "" {
			c.mode = t.old.Mode
		}
		if t.out.Rel != t.it.Rel {
			e, _ := r.files.Entry(t.it.Rel)
			c.signed = r.path(t.it.Rel)
			c.blob = e.OID
		}
		list = append(list, c)
	}
	if r.lock != nil {
		e := r.lock.Entry
		list = append(list, change{
			path:  e.Path,
			was:   e.OID,
			now:   r.lockBlob.OID,
			mode:  e.Mode,
			bytes: r.lock.Now,
			old:   r.lock.Was,
			to:    r.lockBlob,
			left:  r.Label + filepath.Base(e.Path),
		})
	}
	return list
}

func (r *run) path(rel string) string {
	return r.Prefix + space.Dir + "/" + rel
}

// skipped returns the files that a sparse checkout leaves out of the work tree.
func (s *session) skipped(ctx context.Context, list []change) ([]string, error) {
	var absent, out []string
	for _, c := range list {
		if !exists(filepath.Join(s.Repo.WorkTree, filepath.FromSlash(c.item()))) {
			absent = append(absent, c.item())
		}
	}
	if len(absent) == 0 {
		return nil, nil
	}
	skipped, err := s.Repo.Skipped(ctx, absent)
	if err != nil {
		return nil, err
	}
	for _, c := range list { // a new detached signature is left out like its file
		if skipped[c.item()] {
			out = append(out, c.path)
		}
	}
	return out, nil
}

// item returns the file itself, or the file that a detached signature signs.
func (c change) item() string {
	if c.signed != "" {
		return c.signed
	}
	return c.path
}

// otherIndex repeats the update on the index that follows a commit of named
// paths: git commits from a temporary index, and index.lock becomes the index
// afterwards. Only an entry that is the same in both is replaced.
func (s *session) otherIndex(ctx context.Context, list []change, entries []gitcmd.Entry) error {
	used := s.Repo.Index()
	lock := filepath.Join(s.Repo.GitDir, "index.lock")
	if !strings.HasSuffix(used, ".lock") || sameFile(used, lock) || !exists(lock) {
		return nil
	}
	other := *s.Repo
	other.Git = s.Repo.WithIndex(lock)
	there, err := indexed(ctx, &other, list)
	if err != nil {
		return err
	}
	var mine []gitcmd.Entry
	for i, c := range list {
		if there[c.path] == c.was &&
			(c.signed == "" || there[c.signed] == c.blob) {
			mine = append(mine, entries[i])
		}
	}
	return other.UpdateIndex(ctx, mine)
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

func sameFile(a, b string) bool {
	fa, errA := os.Stat(a)
	fb, errB := os.Stat(b)
	return a == b || errA == nil && errB == nil && os.SameFile(fa, fb)
}

// workTree replaces the files of the work tree that equal what was staged, and
// returns the names of the others.
func workTree(repo *gitcmd.Repo, list []change) (left []string, err error) {
	wrote := make([]bool, len(list))
	errs := make([]error, len(list))
	t := newTree(repo)
	inParallel(len(list), func(i int) {
		wrote[i], errs[i] = t.replace(list[i])
	})
	for i, c := range list {
		if !wrote[i] {
			left = append(left, c.left)
		}
	}
	return left, errors.Join(errs...)
}

// replace writes a file of the work tree if it equals what was staged.
func (t *tree) replace(c change) (wrote bool, err error) {
	root, rel := t.locate(c.path)
	there, known := t.blobOf(root, rel, c)
	switch {
	case !known:
		return false, nil
	case there == c.now:
		return true, nil
	case there != c.was:
		return false, nil
	case c.same:
		b, err := root.read(rel)
		if err != nil || !bytes.Equal(unsigned(b), unsigned(c.bytes)) {
			return false, nil
		}
	}
	if c.signed != "" {
		root, rel := t.locate(c.signed)
		there, known := t.blob(root, rel)
		if !known || there != c.blob {
			return false, nil
		}
	}
	return true, root.put(rel, c.bytes)
}
