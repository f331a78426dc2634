package threadhost

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/trust"
)

// revoked returns an error if the signer of the directive, of one of its bases or of the loop
// was revoked since the thread began. Everything else stays as it was at the start: the
// thread keeps its project, but it must not use an item that a person has withdrawn.
func (r *Run) revoked(context.Context) error {
	now, _ := trust.Load(r.Project.TrustParams)
	// Removing the revocation from the project must not undo it. Opening reports what cannot be written.
	_ = trust.Remember(r.Project.TrustParams, now)
	for _, it := range append([]*resolve.Item{r.Item, r.Loop}, r.Bases...) {
		switch v := now.Verify(r.Project.Resolver.TrustInput(it)); v.Code {
		case diag.Revoked:
			return diag.New(diag.Revoked, "the signer of %s was revoked while the thread ran: %s", it.Ref, it.Verdict.Signer.Short()).
				WithDetail("ref", it.Ref.String())
		case diag.KeyUnknown, diag.TrustChanged: // a document that cannot be read may be the revocation, and so may a granter's
			return v.Err(it.Path())
		}
	}
	return nil
}
