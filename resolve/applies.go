package resolve

import (
	"bytes"
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applies"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// applies checks when a knowledge item applies.
func (it *Item) applies() []diag.Finding {
	if it.Ref.Kind != item.Knowledge || it.Support() {
		return nil
	}
	return applies.Check(&tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos})
}

// Always returns the knowledge of the project and of the user that states apply: always, by
// id. Knowledge of bundles cannot apply to every thread by itself.
//
// It reads every file of the kind and parses only those that have the word: a project can
// have thousands, and each thread begins with this. An item that cannot be read is in the
// result, so that its use reports why: it could be a rule.
func (r *Resolver) Always(ctx context.Context) ([]item.Ref, error) {
	entries, err := r.Own(ctx, item.Knowledge, func(root *space.Root) bool {
		return !root.Embedded() && !root.Bundled()
	})
	if err != nil {
		return nil, err
	}
	var out []item.Ref
	for _, e := range entries {
		if e.Shadow || len(out) > 0 && out[len(out)-1] == e.Ref {
			continue
		}
		b, err := e.Root.Read(e.Rel, MaxItem)
		if err != nil || !bytes.Contains(b, []byte(applies.Always)) {
			continue
		}
		it, err := r.Open(ctx, e)
		if err != nil {
			return nil, err
		}
		r.Complete(it)
		if applies.Of(it.Meta.Fields) == applies.Always ||
			len(it.Meta.Fields) == 0 && bytes.Contains(b, []byte("apply: always")) {
			out = append(out, e.Ref)
		}
	}
	return out, nil
}
