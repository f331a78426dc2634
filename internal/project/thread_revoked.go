package project

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/trust"
)

// revoked returns an error if the signer of the directive, of one of its bases or of the loop
// was revoked since the thread began. Everything else stays as it was at the start: the
// thread keeps its project, but it must not go on with what a person has withdrawn.
func (r *threadRun) revoked(context.Context) error {
	now, _ := trust.Load(r.p.TrustParams)
	for _, it := range append([]*resolve.Item{r.Item, r.Loop}, r.Bases...) {
		if v := now.Verify(r.p.Resolver.TrustInput(it)); v.Code == diag.Revoked {
			return diag.New(diag.Revoked, "running %s: the signer of %s was revoked while the thread ran: %s", r.Ref, it.Ref, it.Verdict.Signer.Short()).WithDetail("ref", it.Ref.String())
		}
	}
	return nil
}
