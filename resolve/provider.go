package resolve

import (
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

// Provider returns nil when a verified item may decide where variables of the
// user's environment go, as the address and the program of a provider do: the
// system's items may, those that a person signed with a key of their own, and
// those of a signer whose scope says provider. Where the item lies counts for
// nothing else, for a copy is no decision. doing is what is refused otherwise.
func (r *Resolver) Provider(it *Item, doing string) error {
	k, ok := r.p.Trust.Key(it.Verdict.Signer)
	switch {
	case it.Root.Space == space.System:
		return nil
	case ok && k.Own && !k.Agent():
		return nil
	case ok && k.Scope.Allows(string(it.Ref.Kind), it.Ref.ID, "provider"):
		return nil
	}
	name := it.Ref.String()
	if it.Support() {
		name = it.Path()
	}
	e := diag.New(diag.Scope, "%s: key %s signed it, and variables of your environment go only to items of your own, or of a signer who may be a provider",
		doing, it.Verdict.Signer.Short())
	switch {
	case it.Root.Bundled():
		return e.WithHint("trust the signer for that: rye trust add FILE --may sign,release,provider")
	case k.Own:
		return e.WithHint("an agent signed it: read it, then sign it yourself: rye sign %s", name)
	case slices.ContainsFunc(k.Scope, func(b trust.Bound) bool {
		return slices.Contains(k.Documents, b.Source) && !slices.Contains(b.Scope.May, "provider")
	}):
		return e.WithHint("read it, then sign it yourself: rye sign %s; the document of the signer's own key does not say that it may be a provider", name)
	}
	return e.WithHint("read it, then sign it yourself: rye sign %s; or trust the signer for that: rye trust add FILE --may sign,provider", name)
}
