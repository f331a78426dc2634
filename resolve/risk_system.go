package resolve

import (
	"context"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// judgedRisk is the layer of the embedded bundle, judged at a time.
type judgedRisk struct {
	it   *Item
	at   time.Time
	risk *policy.Risk
}

// systemRisk returns the risk classes if the embedded bundle has the only layer, and that is the
// configuration that the program has in a compiled form: its bytes are verified and not read. Else
// it returns nil: Risk then reads the layers and reports.
func (r *Resolver) systemRisk(ctx context.Context) (*policy.Risk, error) {
	ref := item.Ref{Kind: item.Config, ID: policy.RiskID}
	ext, err := r.Extractor(ctx, ref.Kind)
	if err != nil {
		return nil, err
	}
	files, err := r.layerFiles(ext, ref)
	if err != nil || len(files) != 1 || !files[0].root.Embedded() {
		return nil, err
	}
	root := files[0].root
	rel := files[0].rel
	r.riskMu.Lock()
	defer r.riskMu.Unlock()
	now := r.p.Trust.Now()
	had := r.classes
	if had.it != nil &&
		had.it.Root == root &&
		had.it.Rel == rel &&
		had.it.Extractor == ext {
		if age := now.Sub(had.at); age >= 0 && age < judgedFor {
			return had.risk, ctx.Err()
		}
	}
	it := &Item{
		Ref:       ref,
		Root:      root,
		Rel:       rel,
		Extractor: ext,
		Type:      typeOf(ext, rel),
		unread:    true,
	}
	if r.loadInto(ctx, it, nil, true) != nil || it.Usable() != nil {
		return nil, ctx.Err()
	}
	risk, ok := r.classes.risk, r.classes.risk != nil &&
		r.classes.it.Digest == it.Digest
	if !ok {
		if risk, ok = policy.CompiledRisk(it.Digest, it.Path()); !ok {
			return nil, nil
		}
	}
	r.classes = judgedRisk{it, now, risk}
	return risk, nil
}
