package resolve

import (
	"context"
	"fmt"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// riskKey is the key of an item with its risk class.
const riskKey = "risk"

// Risk returns the risk classes of the configuration policy.RiskID. Its layers are read
// and verified at each call. They are interpreted again only if one of them has changed:
// every call of an item needs the classes, and a graph makes thousands of calls. If the
// system space has the only layer, nothing is interpreted: see systemRisk.
func Risk(ctx context.Context, r *Resolver) (*policy.Risk, error) {
	if risk, err := r.systemRisk(ctx); risk != nil || err != nil {
		return risk, err
	}
	layers, key, err := permittingLayers(ctx, r, policy.RiskID)
	if err != nil {
		return nil, err
	}
	r.riskMu.Lock()
	defer r.riskMu.Unlock()
	if r.risk != nil && r.riskKey == key {
		return r.risk, nil
	}
	risk, err := policy.ReadRisk(layers)
	if err != nil {
		return nil, err
	}
	r.risk = risk
	r.riskKey = key
	return risk, nil
}

// permittingLayers returns the layers of a configuration that permits something, the
// farthest first. It does not merge them: a layer of a bundle or project only
// restricts, wherever it is in the order. Equal keys mean equal layers.
func permittingLayers(
	ctx context.Context,
	r *Resolver,
	id string,
) (layers []policy.Layer, key string, err error) {
	s := &Settings{Ref: item.Ref{Kind: item.Config, ID: id}}
	if _, err := r.configLayers(ctx, s, s.Ref, nil); err != nil {
		return nil, "", err
	}
	layers = make([]policy.Layer, len(s.Layers))
	for i, it := range s.Layers {
		layers[i] = r.permittingLayer(it)
		key += fmt.Sprintf("%q %s %t\n", it.Path(), it.Digest, layers[i].Wide)
	}
	return layers, key, nil
}

func (r *Resolver) permittingLayer(it *Item) policy.Layer {
	return policy.Layer{Name: it.Path(), Doc: &tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos}, Wide: r.widens(it.Root, it.Verdict.Signer)}
}

// widens reports whether a layer in root that signer signed may permit more than those
// before it: one of the system bundle, and one of the user's own items that a key of the
// user signed. An agent's key is not one: the agent would decide what it may do.
func (r *Resolver) widens(root *space.Root, signer sign.Fingerprint) bool {
	if root.Embedded() {
		return true
	}
	k, ok := r.p.Trust.Key(signer)
	return root.Space == space.User &&
		!root.Bundled() &&
		ok &&
		k.Own &&
		!k.Agent()
}

// Declared returns the risk class that the item itself states, "" without one.
func (it *Item) Declared() string {
	s, _ := it.Meta.Fields[riskKey].(string)
	return s
}

// risk checks the key risk of an item that can be run.
func (it *Item) risk() []diag.Finding {
	v, has := it.Meta.Fields[riskKey]
	if !has ||
		it.Ref.Kind == item.Knowledge ||
		it.Ref.Kind == item.Config ||
		it.Support() {
		return nil
	}
	r := tree.NewReader(
		&tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos},
		diag.ValidationFailed,
	)
	s, ok := v.(string)
	if !ok {
		r.Reject(riskKey, "must be T0 to T4 or the name of a risk class, not %s", tree.TypeName(v))
		return r.Findings()
	}
	_, err := policy.ParseTier(s)
	if err == nil {
		return nil
	}
	r.RejectErr(riskKey, err)
	found := r.Findings()
	e, ok := err.(*diag.Error)
	if ok && e.Details["nearest"] != nil {
		found[0] = found[0].WithReason("nearest", "nearest", e.Details["nearest"].(string))
	}
	return found
}

// WideLayers returns the layers of a configuration that may permit something: the ones of
// the system and the user's own, the farthest first. A project has no part in it.
func WideLayers(ctx context.Context, r *Resolver, id string) ([]policy.Layer, error) {
	layers, _, err := permittingLayers(ctx, r, id)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(layers, func(l policy.Layer) bool {
		return !l.Wide
	}), nil
}
