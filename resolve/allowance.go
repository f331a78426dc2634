package resolve

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
)

// Allowance returns the most that agents and items may do without a person, and the
// file of each value. It is the only reader of what permits: the configuration
// policy.AllowanceID of all spaces, and the sections of policy files, which are not
// items.
func Allowance(
	ctx context.Context,
	r *Resolver,
	policies []policy.Layer,
) (policy.Allowance, []policy.Origin, error) {
	layers, _, err := permittingLayers(ctx, r, policy.AllowanceID)
	if err != nil {
		return policy.Allowance{}, nil, err
	}
	a, origins, _, err := policy.ReadAllowance(slices.Concat(layers, policies))
	if err != nil {
		return policy.Allowance{}, nil, err // not the part that was read: it may permit more
	}
	return a, origins, nil
}

// AllowanceFindings returns the errors, and the settings without effect, in policy files.
func AllowanceFindings(
	ctx context.Context,
	r *Resolver,
	policies []policy.Layer,
) ([]diag.Finding, error) {
	layers, _, err := permittingLayers(ctx, r, policy.AllowanceID)
	if err != nil {
		return nil, err
	}
	_, _, found, err := policy.ReadAllowance(slices.Concat(layers, policies))
	if e, ok := err.(*diag.Error); ok {
		found = append(found, e.Findings...)
	}
	return slices.DeleteFunc(found, func(f diag.Finding) bool {
		return !slices.ContainsFunc(policies, func(l policy.Layer) bool {
			return l.Name == f.Path
		})
	}), nil
}

// permits returns the errors, and the settings without effect, in a layer of a configuration that
// permits something, signed by signer. Layers that are not valid are reported as items of their own.
func (r *Resolver) permits(ctx context.Context, it *Item, signer sign.Fingerprint) []diag.Finding {
	if it.Ref.Kind != item.Config ||
		it.Ref.ID != policy.AllowanceID && it.Ref.ID != policy.RiskID {
		return nil
	}
	single := policy.Layer{Name: it.Path(), Doc: &tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos}, Wide: r.widens(it.Root, signer)}
	if it.Ref.ID == policy.RiskID {
		_, err := policy.ReadRisk([]policy.Layer{single})
		return findingsOf(err, single.Name)
	}
	files, err := r.layerFiles(it.Extractor, it.Ref)
	if err != nil {
		return nil
	}
	var layers []policy.Layer
	for _, at := range slices.Backward(files) {
		layer, err := r.Open(ctx, Entry{Ref: it.Ref, Root: at.root, Rel: at.rel})
		if err != nil ||
			layer.Path() == single.Name ||
			layer.Usable() != nil ||
			!r.widens(layer.Root, layer.Verdict.Signer) {
			continue
		}
		layers = append(layers, policy.Layer{Name: layer.Path(), Doc: &tree.Doc{Root: layer.Meta.Fields, Pos: layer.Meta.Pos}, Wide: true})
	}
	_, _, found, err := policy.ReadAllowance(append(layers, single))
	return append(
		slices.DeleteFunc(found, func(f diag.Finding) bool {
			return f.Path != single.Name
		}),
		findingsOf(err, single.Name)...,
	)
}

// findingsOf returns the findings of an error about one file.
func findingsOf(err error, path string) []diag.Finding {
	e, _ := err.(*diag.Error)
	if e == nil {
		return nil
	}
	return slices.DeleteFunc(
		slices.Clone(e.Findings),
		func(f diag.Finding) bool { return f.Path != path },
	)
}
