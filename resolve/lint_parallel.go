package resolve

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/touches"
	"github.com/ryeos/rye/item"
)

// parallel reports a declaration of what the calls of a tool touch that cannot be read:
// they would run alone.
func (it *Item) parallel() []diag.Finding {
	declared := it.Meta.Fields["touches"]
	if it.Ref.Kind != item.Tool || it.Support() || declared == nil {
		return nil
	}
	if problem := touches.Check(declared); problem != "" {
		return []diag.Finding{at(it, "touches", diag.SeverityError, "touches %s", problem)}
	}
	return nil
}
