package resolve

import (
	"context"
	"maps"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/layered"
	"github.com/ryeos/rye/item"
)

// extendsKey is the key of the configuration that a layer extends.
const extendsKey = "extends"

// Limits of a configuration: the depth of extends and the number of layers. The
// second bound is needed because each space can double the layers at each step
// of extends.
const (
	MaxExtends = 10
	MaxLayers  = 64
)

// Settings is one configuration with all its layers merged, lowest space first,
// and the layer that each value comes from.
type Settings struct {
	Ref    item.Ref
	Layers []*Item        // lowest precedence first, each verified by itself
	Root   map[string]any // the merged values; no caller may change one below it
	merged []layered.Layer
}

// Origins returns the layer of each part, as layered.Origins does.
func (s *Settings) Origins() map[string]string {
	out := layered.Origins(s.merged)
	delete(out, extendsKey)
	return out
}

// Config merges the layers of a configuration. A layer that does not verify is
// an error: leaving it out would change settings without notice.
func (r *Resolver) Config(ctx context.Context, id string) (*Settings, error) {
	s := &Settings{Ref: item.Ref{Kind: item.Config, ID: id}}
	layers, err := r.configLayers(ctx, s, s.Ref, nil)
	if err != nil {
		return nil, err
	}
	s.merged, s.Root = layers, layered.Merge(layers)
	delete(s.Root, extendsKey)
	return s, nil
}

// configLayers returns the layers of ref, each after what it extends.
func (r *Resolver) configLayers(
	ctx context.Context,
	s *Settings,
	ref item.Ref,
	within []item.Ref,
) ([]layered.Layer, error) {
	if slices.Contains(within, ref) {
		return nil, diag.New(
			diag.CircularDependency,
			"merging %s: extends leads from %s back to %s",
			s.Ref,
			within[len(within)-1],
			ref,
		)
	}
	if len(within) >= MaxExtends {
		return nil, diag.New(diag.ChainTooDeep, "merging %s: extends is more than %d deep", s.Ref, MaxExtends)
	}
	ext, err := r.Extractor(ctx, ref.Kind)
	if err != nil {
		return nil, err
	}
	files, err := r.layerFiles(ext, ref)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, r.missing(ctx, ref, ext, r.roots, diag.ItemNotFound)
	}
	var out []layered.Layer
	for _, at := range slices.Backward(files) {
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
			return nil, diag.New(diag.ChainTooDeep, "merging %s: it has more than %d layers (each extended configuration has one for every space)", s.Ref, MaxLayers)
		}
		s.Layers = append(s.Layers, it)
		values := maps.Clone(it.Meta.Fields)
		delete(values, schemaKey) // describes the layers and is not a setting
		out = append(out, layered.Layer{Name: it.Path(), Root: values})
	}
	return out, nil
}

// layerFiles returns the files of a configuration, highest precedence first: at
// most one in each space's own items and one in its bundles.
func (r *Resolver) layerFiles(ext *extract.Extractor, ref item.Ref) ([]file, error) {
	var out []file
	for i := 0; i < len(r.roots); {
		n := 1
		for i+n < len(r.roots) && layersOfOne(r.roots[i], r.roots[i+n]) {
			n++
		}
		at, err := r.among(
			ext.Paths(ref.ID),
			ref,
			r.roots[i:i+n],
			false,
		)
		if err == nil && at.root != nil {
			err = unlocked(ext.Paths(ref.ID), ref, at, r.roots[i+n:])
		}
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
