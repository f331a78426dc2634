package resolve

import (
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

// Provider returns nil if a verified item may decide where variables of the
// user's environment are sent, for example by naming a URL or a program. Items
// of the system space may, and items signed with a key of the user (not of an
// agent) or with a key whose scope permits use provider. Otherwise the space of
// the item does not matter: copying an item is not a decision of the user. doing
// begins the error.
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
	e := diag.New(diag.Scope, "%s: key %s signed it, and only the user's own keys and keys with permission provider may receive variables of the environment",
		doing, it.Verdict.Signer.Short()).WithDetail("item", name)
	switch {
	case it.Root.Bundled():
		e.WithReason("provider_bundle")
	case k.Own:
		e.WithReason("provider_agent")
	case slices.ContainsFunc(k.Scope, func(b trust.Bound) bool {
		return slices.Contains(k.Documents, b.Source) && !slices.Contains(b.Scope.May, "provider")
	}):
		// A grant cannot widen what the key document states.
		e.WithReason("provider_sign")
	default:
		e.WithReason("provider")
	}
	return e
}
