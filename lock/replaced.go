package lock

import (
	"maps"

	"github.com/ryeos/rye/diag"
)

// Replaced returns a POLICY_DENIED finding for each bundle that a directory of
// this machine replaces, in the project file or in the lock. Either may be nil.
// Where other machines depend on the result, as in CI, a replacement is refused.
func Replaced(m *ProjectFile, l *Lock) []diag.Finding {
	dirs := map[ID]string{}
	if l != nil {
		for _, b := range l.Bundles {
			if !b.Replace.IsZero() {
				dirs[b.ID] = b.Replace.String()
			}
		}
	}
	if m != nil {
		for id, r := range m.Replace {
			if r.Path != "" {
				dirs[id] = r.Path
			}
		}
	}
	var out []diag.Finding
	for _, id := range SortedIDs(maps.Keys(dirs)) {
		f := diag.Errorf(diag.PolicyDenied, 0, 0, "%s is replaced by %s, which exists on this machine only", id, dirs[id])
		f.Path = LockFile
		if m != nil && m.Replace[id].Path != "" {
			pos := m.Position("replace", id.String())
			f.Path = ProjectFileName
			f.Line = pos.Line
			f.Column = pos.Column
		}
		out = append(out, f.WithReason("replaced"))
	}
	return out
}
