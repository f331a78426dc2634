package githook

import (
	"bytes"
	"context"
	"path"
	"path/filepath"

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

// relock computes the new lock if tools were signed.
func (r *run) relock(ctx context.Context) (err error) {
	index := signedIndex{r.files, map[string][]byte{}}
	var tools []item.Ref
	for _, s := range r.todo {
		index.signed[s.out.Rel] = s.out.Bytes
		if s.it.Ref.Kind == item.Tool {
			tools = append(tools, s.it.Ref)
		}
	}
	if r.Relock == nil || len(tools) == 0 {
		return nil
	}
	r.lock, err = r.Relock(ctx, r.files, index, tools)
	r.report.Relocked = r.lock != nil
	return err
}

// signedIndex is the index with the signed bytes.
type signedIndex struct {
	*verify.GitFiles
	signed map[string][]byte // by path below .ai
}

// Read implements space.Files.
func (x signedIndex) Read(rel string, limit int64) ([]byte, error) {
	if b, ok := x.signed[rel]; ok {
		return b, nil
	}
	return x.GitFiles.Read(rel, limit)
}

// Exists implements space.Files. A detached signature may be new.
func (x signedIndex) Exists(rel string) bool {
	_, ok := x.signed[rel]
	return ok || x.GitFiles.Exists(rel)
}

var _ space.Files = signedIndex{}

func (r *run) lockFile() string {
	return filepath.Join(r.Repo.WorkTree, filepath.FromSlash(r.lock.Entry.Path))
}

// workLock updates the lock in the work tree if it equals the staged one.
func (r *run) workLock() error {
	if r.lock == nil {
		return nil
	}
	file := r.lockFile()
	b, _, err := openat.Read(filepath.Dir(file), filepath.Base(file), int64(len(r.lock.Was)))
	if err != nil || !bytes.Equal(b, r.lock.Was) { // edited, removed, or not a regular file
		r.report.Left = append(r.report.Left, path.Base(r.lock.Entry.Path))
		return nil
	}
	return atomicfile.Replace(file, r.lock.Now, 0) // not flushed: git has the content too
}
