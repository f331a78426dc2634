package sandbox

import (
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// basicReport returns the layers of every run: the program is in a process group of its own,
// with the environment and the descriptors of its command and no others.
func basicReport(l Ladder) Report {
	r := Report{Rung: Basic, Layers: []string{"process-group", "environment", "descriptors"}}
	for _, layer := range l.Layers {
		if layer.Name != layerRlimits && layer.Name != layerCgroup {
			r.Missing = append(r.Missing, layer.Name)
		}
	}
	return r
}

// missing adds a layer or limit that does not apply.
func (r *Report) missing(what string) {
	if !slices.Contains(r.Missing, what) {
		r.Missing = append(r.Missing, what)
	}
}

// exceededError returns RESOURCE_EXCEEDED. measured is 0 if the kernel refused what was
// beyond the limit.
func exceededError(limit string, limits policy.Limits, measured int64) error {
	most := int64(0)
	for _, l := range limits.All() {
		if l.Name == limit {
			most = *l.Value
		}
	}
	if measured == 0 {
		measured = most
	}
	return diag.New(diag.ResourceExceeded, "running in the sandbox: the limit %s of %d was exceeded", limit, most).
		WithReason("sandbox_limit").
		WithDetail("limit", limit).
		WithDetail("max", most).
		WithDetail("measured", measured)
}
