package log

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Prefix returns the tree of the first size entries of r's tree, as r's tree contains it.
func (r *Reader) Prefix(ctx context.Context, size int64) (t Tree, err error) {
	switch {
	case size < 0 || size > r.tree.Size:
		return t, fmt.Errorf("%w: %d of %d", ErrIndex, size, r.tree.Size)
	case size == 0:
		return EmptyTree(), nil
	}
	t.Size = size
	err = r.hashes(ctx, func(h tlog.HashReader) (err error) {
		t.Root, err = tlog.TreeHash(size, h)
		return err
	})
	return t, err
}
