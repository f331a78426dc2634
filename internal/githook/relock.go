package githook

import (
	"context"
	"slices"

	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

// relock computes the new lock. Items that the user signed before they were staged
// get their entries too: the lock of the work tree may not be staged.
func (r *run) relock(ctx context.Context) (err error) {
	index := signedIndex{r.files, map[string][]byte{}}
	refs := slices.Clone(r.signed)
	for _, s := range r.todo {
		index.signed[s.out.Rel] = s.out.Bytes
		refs = append(refs, s.it.Ref)
	}
	if len(r.todo) == 0 && len(r.Merging) > 0 {
		return nil // git merge has written the tree of its commit before it runs the hook
	}
	if r.Relock == nil || len(refs) == 0 && !r.gone {
		return nil
	}
	if r.lock, err = r.Relock(ctx, r.files, index, refs); r.lock != nil {
		r.lockBlob = r.blobs.Blob(r.lock.Now)
	}
	r.report.Relocked = r.report.Relocked || r.lock != nil
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
