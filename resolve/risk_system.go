package resolve

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// judgedRisk is the layer of the embedded bundle, judged at a time. Its metadata is the part
// that gives items their classes: the table of commands is nine tenths of the text, and most
// processes examine no command.
type judgedRisk struct {
	it   *Item
	at   time.Time
	risk *policy.Risk
}

// systemRisk returns the risk classes if the embedded bundle has the only layer, and that is
// without findings. Else it returns nil: Risk then reads the whole layers and reports.
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
	e := Entry{Ref: ref, Root: files[0].root, Rel: files[0].rel}
	r.riskMu.Lock()
	defer r.riskMu.Unlock()
	now := r.p.Trust.Now()
	if had := r.classes; had.it != nil && had.it.Root == e.Root && had.it.Rel == e.Rel && had.it.Extractor == ext {
		if age := now.Sub(had.at); age >= 0 && age < judgedFor {
			return had.risk, ctx.Err()
		}
	}
	it := &Item{Ref: ref, Root: e.Root, Rel: e.Rel, Extractor: ext, Type: typeOf(ext, e.Rel), part: policy.ClassesOf}
	if r.loadInto(ctx, it, nil, true) != nil || it.Usable() != nil || len(it.Findings) > 0 || it.Meta.Extends != "" {
		return nil, ctx.Err()
	}
	risk := r.classes.risk
	if risk == nil || r.classes.it.Digest != it.Digest {
		if risk, err = policy.ReadRisk([]policy.Layer{r.permittingLayer(it)}); err != nil {
			return nil, nil
		}
		later := context.WithoutCancel(ctx)
		risk = risk.WithCommands(func() (*policy.Risk, error) {
			it, err := r.Open(later, e)
			if err == nil {
				err = it.Usable()
			}
			if err != nil {
				return nil, err
			}
			return policy.ReadRisk([]policy.Layer{r.permittingLayer(it)})
		})
	}
	r.classes = judgedRisk{it, now, risk}
	return risk, nil
}

// partOf reads the metadata of a part of an item. The cache does not keep it, because
// the metadata of the whole item has more.
func partOf(it *Item) (item.Metadata, []diag.Finding) {
	m, fs := it.Extractor.Read(it.Type, it.part(it.Bytes))
	return m, diag.WithPath(append(fs, validate(it, &m, diag.Failed(fs))...), it.Path())
}
