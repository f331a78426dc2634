package packages

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// Published holds the keys that signed a release against what publishers demand
// of it, by the id of its module or by that of its manifest, "" when unknown.
func Published(store *trust.Store, mod lock.Module, manifest string, signers []sign.Fingerprint) error {
	names := []string{mod.ID}
	if id, err := lock.ParseID(mod.ID); err == nil {
		names = append(names, hostPath(id))
	}
	if manifest != "" {
		names = append(names, manifest)
	}
	for _, r := range store.PublisherRules(names...) {
		if n := r.Have(signers); n < r.Threshold {
			return diag.New(diag.Threshold, "verifying %s: %s demands %d of %d release keys, %d signed", mod, r, r.Threshold, len(r.Keys), n).
				WithDetail("expected", signerTexts(r.Keys)).WithDetail("found", signerTexts(signers)).WithDetail("document", r.Document).
				WithHint("ask its publisher for a release that enough of them signed: rye bundle sign NAME adds a signature")
		}
	}
	return nil
}
