package trust

import (
	"slices"
	"strings"
)

// Drafts is the namespace of what agents write: an agent's key signs there and
// nowhere else.
const Drafts = "drafts/"

// Agent reports whether the key is an agent's: whatever else its scopes say,
// together they allow nothing outside Drafts.
func (k KeyInfo) Agent() bool { return k.Scope.draftsOnly() }

func (b Bounds) draftsOnly() bool {
	return slices.ContainsFunc(b.Namespaces(), func(globs []string) bool {
		return len(globs) > 0 && !slices.ContainsFunc(globs, func(g string) bool { return !strings.HasPrefix(g, Drafts) })
	})
}
