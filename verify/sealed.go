package verify

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
)

// sealedCopy warns about a copy of a sealed item outside the system space, which is
// never used.
func sealedCopy(it *resolve.Item) []diag.Finding {
	if it.Root.Embedded() || !resolve.Sealed(it.Ref) {
		return nil
	}
	f := diag.Warnf(diag.ConfigError, 0, 0, "%s is sealed: only the system space supplies it, this file is never used", it.Ref)
	return []diag.Finding{f.WithReason("sealed")}
}
