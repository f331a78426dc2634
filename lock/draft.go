package lock

import (
	"slices"

	"github.com/ryeos/rye/internal/mvs"
)

// Draft returns the lock of a selection: every bundle with its version and its
// requirements. The caller adds origins, sums and items. The graph names members
// by their Key.
func Draft(m *ProjectFile, members []MemberFile, g *mvs.Graph) *Lock {
	l := &Lock{Manifest: m.Settings()}
	effective := m.effective()
	own := map[string]bool{}
	for _, x := range members {
		own[x.Key()] = true
		needs := x.Manifest.Requires()
		for i := range needs {
			needs[i] = m.Replacing(needs[i])
		}
		l.Members = append(l.Members, Member{Path: x.Path, ID: x.Manifest.ID, Manifest: x.Manifest.Hash(), Needs: needs})
	}
	for _, mod := range g.Selected {
		if own[mod.ID] {
			continue
		}
		b := Bundle{ID: mod.ID, Version: mod.Version, Require: effective.Require[mod.ID], Use: effective.Use[mod.ID], Via: g.Via(mod)}
		if r, ok := m.Replace[mod.ID]; ok {
			b.Replace = r.String()
		}
		b.Needs = slices.DeleteFunc(slices.Clone(g.Edges[mod]), func(to Module) bool { return to.ID == mod.ID })
		l.Bundles = append(l.Bundles, b)
	}
	l.Sort()
	return l
}
