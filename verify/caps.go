package verify

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
)

// capsOf returns what the item at a path of a bundle asks for.
func (p LockParams) capsOf(name string, text []byte) []string {
	rel, below := strings.CutPrefix(name, space.Dir+"/")
	at, known := p.table.Place(rel)
	if !below || !known || p.Caps == nil {
		return nil
	}
	return p.Caps(at, text)
}

// unsaid reports capabilities that items of a bundle ask for and that its entry
// does not name: rules are held against the entry where items are used.
func (p LockParams) unsaid(r *Report, b lock.Bundle, caps []string) {
	slices.Sort(caps)
	for _, c := range slices.Compact(caps) {
		if slices.Contains(b.Caps, c) {
			continue
		}
		f := diag.Errorf(diag.LockMismatch, 0, 0, "items of %s ask for %s, which its entry does not name", b.Module(), c)
		f.Path, f.Fix = lock.LockFile, "look at who changed rye.lock (git log -p rye.lock); rye lock writes what is so"
		r.add(f)
	}
}
