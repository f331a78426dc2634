package lock

import "slices"

// Selection are the selected versions of bundles.
type Selection struct {
	Modules []Module                     // sorted; workspace members have no version
	Needs   map[Module][]Module          // the requirements of each, sorted
	Via     func(m Module) (by []Module) // the versions that were not selected and alone require m
}

// Draft returns the lock of a selection: every bundle with its version and its
// requirements. The caller adds origins, sums and items. The graph names members
// by their Key.
func Draft(m *ProjectFile, members []MemberFile, s Selection) *Lock {
	l := &Lock{Manifest: m.Settings()}
	effective := m.effective()
	memberIDs := map[ID]bool{}
	for _, x := range members {
		memberIDs[x.Key()] = true
		needs := x.Manifest.Requires()
		for i := range needs {
			needs[i] = m.Replacing(needs[i])
		}
		l.Members = append(l.Members, Member{
			Path:     x.Path,
			ID:       x.Manifest.ID,
			Manifest: x.Manifest.Hash(),
			Needs:    needs,
		})
	}
	for _, mod := range s.Modules {
		if memberIDs[mod.ID] {
			continue
		}
		b := Bundle{
			ID:      mod.ID,
			Version: mod.Version,
			Require: effective.Require[mod.ID],
			Use:     effective.Use[mod.ID],
			Via:     s.Via(mod),
		}
		b.Replace = m.Replace[mod.ID]
		b.Needs = slices.DeleteFunc(
			slices.Clone(s.Needs[mod]),
			func(to Module) bool { return to.ID == mod.ID },
		)
		l.Bundles = append(l.Bundles, b)
	}
	l.Sort()
	return l
}
