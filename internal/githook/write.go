package githook

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// write stores the signed blobs, then updates the index, then the files of the
// work tree that equal the staged ones. A failure in between leaves a signed index
// and an unchanged work tree, so no content is lost.
func (r *run) write(ctx context.Context) error {
	blobs := make([][]byte, len(r.todo))
	for i, s := range r.todo {
		blobs[i] = s.out.Bytes
	}
	if r.lock != nil {
		blobs = append(blobs, r.lock.Now)
	}
	oids, err := r.Repo.WriteBlobs(ctx, blobs)
	if err != nil {
		return err
	}
	entries := make([]gitcmd.Entry, len(oids))
	if r.lock != nil {
		entries[len(r.todo)] = gitcmd.Entry{Mode: r.lock.Entry.Mode, OID: oids[len(r.todo)], Path: r.lock.Entry.Path}
	}
	for i, s := range r.todo {
		entries[i] = gitcmd.Entry{Mode: gitcmd.ModeFile, OID: oids[i], Path: r.path(s.out.Rel)}
		if s.old.OID != "" {
			entries[i].Mode = s.old.Mode
		}
	}
	skipped, err := r.skipped(ctx)
	if err != nil {
		return err
	}
	if err := r.Repo.UpdateIndex(ctx, entries); err != nil {
		return err
	}
	if err := r.Repo.Skip(ctx, skipped); err != nil { // update-index clears the flag of a replaced entry
		return err
	}
	if err := r.otherIndex(ctx, entries); err != nil {
		return err
	}
	return r.workTree()
}

func (r *run) path(rel string) string { return r.Prefix + space.Dir + "/" + rel }

func (r *run) disk() *space.Root {
	base := filepath.Join(r.Repo.WorkTree, filepath.FromSlash(r.Prefix))
	return space.NewDir(space.Project, "", base, false)
}

// skipped returns the files that a sparse checkout leaves out of the work tree.
func (r *run) skipped(ctx context.Context) ([]string, error) {
	var absent, out []string
	disk := r.disk()
	for _, s := range r.todo {
		if !disk.Exists(s.it.Rel) {
			absent = append(absent, r.path(s.it.Rel))
		}
	}
	if r.lock != nil && !exists(r.lockFile()) {
		absent = append(absent, r.lock.Entry.Path)
	}
	if len(absent) == 0 {
		return nil, nil
	}
	skipped, err := r.Repo.Skipped(ctx, absent)
	if err != nil {
		return nil, err
	}
	for _, s := range r.todo { // a new detached signature is left out like its file
		if skipped[r.path(s.it.Rel)] {
			out = append(out, r.path(s.out.Rel))
		}
	}
	if r.lock != nil && skipped[r.lock.Entry.Path] {
		out = append(out, r.lock.Entry.Path)
	}
	return out, nil
}

// otherIndex repeats the update on the index that follows a commit of named
// paths: git commits from a temporary index, and index.lock becomes the index
// afterwards. Only an entry that is the same in both is replaced.
func (r *run) otherIndex(ctx context.Context, entries []gitcmd.Entry) error {
	used, lock := r.Repo.Index(), filepath.Join(r.Repo.GitDir, "index.lock")
	if !strings.HasSuffix(used, ".lock") || sameFile(used, lock) || !exists(lock) {
		return nil
	}
	other := *r.Repo
	other.Git = r.Repo.WithIndex(lock)
	paths := []string{r.Prefix + space.Dir}
	if r.lock != nil {
		paths = append(paths, r.lock.Entry.Path)
	}
	list, err := other.Staged(ctx, other.EmptyTree(), paths...)
	if err != nil {
		return err
	}
	there := map[string]string{}
	for _, c := range list {
		there[c.Path] = c.OID
	}
	same := func(i int) bool {
		if i == len(r.todo) {
			return there[r.lock.Entry.Path] == r.lock.Entry.OID
		}
		s := r.todo[i]
		staged, _ := r.files.Entry(s.it.Rel)
		return there[r.path(s.it.Rel)] == staged.OID && there[r.path(s.out.Rel)] == s.old.OID
	}
	var mine []gitcmd.Entry
	for i, e := range entries {
		if same(i) {
			mine = append(mine, e)
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

// workTree replaces the files of the work tree that equal the staged ones.
func (r *run) workTree() error {
	disk := r.disk()
	wrote, errs := make([]bool, len(r.todo)), make([]error, len(r.todo))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(r.todo), workers) {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(r.todo); i = next.Add(1) - 1 {
				wrote[i], errs[i] = r.file(disk, r.todo[i])
			}
		})
	}
	wg.Wait()
	for i, s := range r.todo {
		if !wrote[i] {
			r.report.Left = append(r.report.Left, s.it.Path())
		}
	}
	return errors.Join(append(errs, r.workLock())...)
}

func (r *run) file(disk *space.Root, s staged) (wrote bool, err error) {
	b, err := disk.Read(s.it.Rel, resolve.MaxItem)
	if err != nil || !bytes.Equal(b, s.it.Bytes) {
		return false, nil // edited, removed, or not a regular file
	}
	if s.out.Rel == s.it.Rel {
		return true, disk.Replace(s.out.Rel, s.out.Bytes)
	}
	sig, err := disk.Read(s.out.Rel, resolve.MaxItem)
	switch {
	case space.IsMissing(err) && s.it.Signature == nil:
		return true, disk.Replace(s.out.Rel, s.out.Bytes)
	case err != nil || !bytes.Equal(sig, s.it.Signature):
		return false, nil
	}
	return true, disk.Replace(s.out.Rel, s.out.Bytes)
}
