package transcript

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Space is the space that has an item: project, user or system.
type Space string

// System is the space of the items that rye brings.
const System Space = "system"

// Change is an item whose digest differs from the one that a log recorded when its thread or run started.
type Change struct {
	Ref      string      `json:"ref"`
	Expected item.Digest `json:"expected"`
	Found    item.Digest `json:"found,omitzero"` // zero: it is not found

	// Upgrade is set if the system space has the item now, and had it then as far as the log records that: logs of older
	// versions do not. Only the installation of a different version of rye changes such an item, so the work continues with it.
	Upgrade bool `json:"-"`
}

// Changed compares a recorded item with the present one, and the spaces that had and have it; recorded is "" in the log of
// an older version. same is true if the item did not change.
func Changed(ref string, expected, found item.Digest, recorded, now Space) (c Change, same bool) {
	if expected == found {
		return Change{}, true
	}
	c = Change{Ref: ref, Expected: expected, Found: found}
	c.Upgrade = now == System && (recorded == System || recorded == "")
	return c, false
}

// Unaccepted returns the error that names the changes that only a person can accept, nil if there are none. of names what is
// resumed: thread or run.
func Unaccepted(id, of string, changes []Change) *diag.Error {
	var left []Change
	var refs []string
	for _, c := range changes {
		if !c.Upgrade {
			left = append(left, c)
			refs = append(refs, c.Ref)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return diag.New(diag.GraphChanged, "resuming %s: changed since the %s started: %s", id, of, strings.Join(refs, ", ")).
		WithDetail("changes", left).WithDetail("run_id", id)
}
