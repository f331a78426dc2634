package verify

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
)

// neverCounts warns of a copy of a sealed item, which nothing ever uses.
func neverCounts(it *resolve.Item) []diag.Finding {
	if it.Root.Embedded() || !resolve.Sealed(it.Ref) {
		return nil
	}
	f := diag.Warnf(diag.ConfigError, 0, 0, "%s is sealed: only the system space supplies it, this file never counts", it.Ref)
	f.Fix = "remove the file, or give it another id"
	return []diag.Finding{f}
}
