package resolve

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/layered"
	"github.com/ryeos/rye/item"
)

// extendsKey names the configuration that a layer builds on.
const extendsKey = "extends"

// Limits of a configuration: how deep extends goes, and how many layers come
// together. Without the second each space could double the layers at each step.
const (
	MaxExtends = 10
	MaxLayers  = 64
)

// Settings is one configuration with all its layers merged, lowest space
// first, and the origin of every part.
type Settings struct {
	Ref    item.Ref
	Layers []*Item // lowest precedence first, each verified by itself
	layered.Merged
}

// Config merges the layers of a configuration. A layer that does not verify is
// an error: it never silently counts, and is never silently left out.
func (r *Resolver) Config(ctx context.Context, id string) (*Settings, error) {
	s := &Settings{Ref: item.Ref{Kind: item.Config, ID: id}}
	layers, err := r.configLayers(ctx, s, s.Ref, nil)
	if err != nil {
		return nil, err
	}
	s.Merged = *layered.Merge(layers)
	delete(s.Root, extendsKey)
	delete(s.Origins, extendsKey)
	return s, nil
}

// configLayers returns the layers of ref, each after what it extends.
func (r *Resolver) configLayers(ctx context.Context, s *Settings, ref item.Ref, within []item.Ref) ([]layered.Layer, error) {
	if slices.Contains(within, ref) {
		return nil, diag.New(diag.CircularDependency, "merging %s: extends leads from %s back to %s", s.Ref, within[len(within)-1], ref)
	}
	if len(within) >= MaxExtends {
		return nil, diag.New(diag.ChainTooDeep, "merging %s: extends is more than %d deep", s.Ref, MaxExtends)
	}
	ext, err := r.Extractor(ctx, ref.Kind)
	if err != nil {
		return nil, err
	}
	var out []layered.Layer
	found := false
	places, err := r.layerPlaces(ext, ref)
	if err != nil {
		return nil, err
	}
	for _, at := range slices.Backward(places) {
		found = true
		it, err := r.Open(ctx, Entry{Ref: ref, Root: at.root, Rel: at.rel})
		if err == nil {
			err = it.Usable()
		}
		if err != nil {
			return nil, err
		}
		if base := it.Meta.Extends; base != "" {
			baseRef, err := item.ParseRef(base, item.Config)
			if err != nil {
				return nil, err
			}
			more, err := r.configLayers(ctx, s, baseRef, append(within, ref))
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		if len(s.Layers) == MaxLayers {
			return nil, diag.New(diag.ChainTooDeep, "merging %s: it has more than %d layers", s.Ref, MaxLayers).
				WithHint("extend fewer configurations; each counts once for every space that has it")
		}
		s.Layers = append(s.Layers, it)
		out = append(out, layered.Layer{Name: it.Path(), Root: it.Meta.Fields})
	}
	if !found {
		return nil, r.missing(ctx, ref, ext, r.roots, diag.ItemNotFound)
	}
	return out, nil
}

// layerPlaces returns where the layers of a configuration stand, highest
// precedence first: at most one in each space's own items and one in its
// bundles.
func (r *Resolver) layerPlaces(ext *extract.Extractor, ref item.Ref) ([]place, error) {
	var out []place
	for i := 0; i < len(r.roots); {
		n := 1
		for i+n < len(r.roots) && layersOfOne(r.roots[i], r.roots[i+n]) {
			n++
		}
		at, err := r.among(ext.Paths(ref.ID), ref, r.roots[i:i+n], false)
		if err != nil {
			return nil, err
		}
		if at.root != nil {
			out = append(out, at)
		}
		i += n
	}
	return out, nil
}
