package verify

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
)

// capsOf returns the capabilities that the item at a path of a bundle requests.
// An entry without signer, manifest, caps or exec is refused and not completed: completing it
// would hide the edit.
func (p LockParams) capsOf(name string, text []byte) []string {
	rel, below := strings.CutPrefix(name, space.Dir+"/")
	at, known := p.table.Classify(rel)
	if !below || !known || p.Caps == nil {
		return nil
	}
	return p.Caps(at, text)
}

// undeclaredCaps reports capabilities that items of a bundle request and its lock
// entry does not list. Policies are checked against the entry when an item runs.
func (p LockParams) undeclaredCaps(r *Report, b lock.Bundle, caps []string) {
	slices.Sort(caps)
	for _, c := range slices.Compact(caps) {
		if slices.Contains(b.Caps, c) {
			continue
		}
		f := diag.Errorf(diag.LockMismatch, 0, 0, "items of %s request %s, which its entry does not list", b.Module(), c)
		f.Path = lock.LockFile
		r.add(f.WithReason("caps"))
	}
}
