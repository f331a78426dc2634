package githook

import (
	"context"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

// relock computes the new lock if items were signed.
func (r *run) relock(ctx context.Context) (err error) {
	index := signedIndex{r.files, map[string][]byte{}}
	var refs []item.Ref
	for _, s := range r.todo {
		index.signed[s.out.Rel] = s.out.Bytes
		refs = append(refs, s.it.Ref)
	}
	if r.Relock == nil || len(refs) == 0 {
		return nil
	}
	r.lock, err = r.Relock(ctx, r.files, index, refs)
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
