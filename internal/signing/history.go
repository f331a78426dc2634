package signing

import (
	"context"
	"path"

	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// maxHistory is the number of versions that LastByPerson reads.
const maxHistory = 100

// LastByPerson returns the newest committed version of an item of the project that a
// person has signed, and the start of its commit; nil if there is none. Errors of git
// have the same result: most projects have no such version.
func LastByPerson(ctx context.Context, p *project.Project, it *resolve.Item) (old []byte, from string) {
	if it.Root.Space != space.Project || it.Type.Detached {
		return nil, ""
	}
	repo, err := p.Env.Repo(ctx)
	if err != nil || repo.WorkTree == "" {
		return nil, ""
	}
	file := path.Join(p.PrefixIn(repo), space.Dir, it.Rel)
	commits, err := repo.History(ctx, file, maxHistory)
	if err != nil || len(commits) == 0 {
		return nil, ""
	}
	batch, err := repo.Batch(ctx)
	if err != nil {
		return nil, ""
	}
	defer func() { _ = batch.Close() }()
	names := make([]string, len(commits))
	for i, c := range commits {
		names[i] = c + ":" + file
	}
	err = batch.Read(names, resolve.MaxItem, func(i int, o gitcmd.Object) {
		if old != nil || o.Data == nil {
			return
		}
		in := p.Resolver.TrustInput(it)
		in.Bytes = o.Data
		in.Detached = nil
		v := p.Trust.Verify(in)
		if v.OK() && !v.Agent {
			old = o.Data
			from = commits[i][:12]
		}
	})
	if err != nil {
		return nil, ""
	}
	return old, from
}
