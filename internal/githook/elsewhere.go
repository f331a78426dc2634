package githook

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
)

// elsewhere returns the staged blobs of the candidates that a commit outside of the
// current history contains, each with that commit. git checkout BRANCH -- PATH, git
// restore --source and cherry-pick -n copy such blobs into the index and leave no
// other trace.
func (s *session) elsewhere(ctx context.Context) (map[string]string, error) {
	// In all directories: another branch may have this project in a different one.
	return s.Repo.Elsewhere(ctx, func() (oids []string) {
		<-s.listed
		for _, r := range s.runs {
			for _, rel := range r.rels {
				if r.files == nil {
					continue // it could not be opened, so nothing is signed
				}
				if e, ok := r.files.Entry(rel); ok {
					oids = append(oids, e.OID)
				}
			}
		}
		return oids
	})
}

// elsewhereFinding returns the warning for an item whose bytes come from another
// branch: another author may have written them, and the user may not have read them.
func (r *run) elsewhereFinding(it *resolve.Item) (f diag.Finding, theirs bool, err error) {
	others, err := r.others()
	if err != nil {
		return f, false, err
	}
	e, _ := r.files.Entry(it.Rel)
	commit, theirs := others[e.OID]
	if !theirs {
		return f, false, nil
	}
	f = diag.Warnf(
		it.Verdict.Code,
		0,
		0,
		"not signed: commit %s of another branch has the same bytes",
		commit[:min(len(commit), 12)],
	).
		WithReason("other_branch", "ref", it.Ref.String())
	f.Path = it.Path()
	return f, true, nil
}
