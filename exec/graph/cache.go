package graph

import (
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/policy"
)

// cacheKey returns the key of a call's result, "" if it is not kept. A call with the
// same key has the same item and runtime, parameters, permissions, lock and project.
// The item was resolved and verified before.
//
// It has the project and the digests of the chain: without a lock two projects would share
// results. The sources of grants are left out, so graphs with equal permissions share.
func (w *walker) cacheKey(a *graphdef.Action, t Target, params map[string]any) string {
	if !a.Cache ||
		w.p.Results == nil ||
		t.Graph ||
		t.Thread ||
		t.Whole == "" {
		return ""
	}
	key := struct {
		Item    string         `json:"item"`
		Params  map[string]any `json:"params"`
		Held    []heldSet      `json:"held"`
		Lock    string         `json:"lock"`
		Project string         `json:"project"`
	}{t.Whole, params, heldSets(w.held), w.p.Lock, w.p.Project}
	for i := range key.Held {
		key.Held[i].Source = "" // equal permissions of two graphs
	}
	b, err := jsonx.Marshal(key)
	if err != nil {
		return ""
	}
	return digestOf(b)
}

// keep keeps the result of a node that was committed. Without it the next run calls
// the item again, so a failure is not one of the run.
func (w *walker) keep(out *outcome) {
	if out.key != "" && !out.cached {
		_ = w.p.Results.Put(out.key, out.result)
	}
}

// heldSets returns permissions as the log has them.
func heldSets(held policy.Held) []heldSet {
	var out []heldSet
	for _, h := range held {
		set := heldSet{Source: h.Source, Profile: h.Profile}
		for _, c := range h.Caps {
			set.Caps = append(set.Caps, string(c))
		}
		out = append(out, set)
	}
	return out
}
