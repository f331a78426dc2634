package main

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/githook"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/verify"
)

// agentWait is how long an agent may think: it may ask a person.
const agentWait = 2 * time.Minute

// runSignStaged is rye sign --staged.
func runSignStaged(ctx context.Context, c *call) error {
	if len(c.args) > 0 {
		return diag.New(diag.Usage, "reading arguments: --staged signs all that is staged, and %q is named besides", c.args[0]).
			WithHint("give either")
	}
	git, err := gitcmd.New(gitcmd.Params{Dir: c.dir, Cwd: c.Dir, Environ: c.Environ()})
	if err != nil {
		return err
	}
	s, err := c.signStaged(ctx, git, c.bool("check"))
	if err != nil {
		return err
	}
	c.noteLeft(s)
	return c.stagedReport(s, "signing")
}

// stagedReport shows what became of the staged items.
func (c *call) stagedReport(s *githook.Report, doing string) error {
	if err := diag.FromFindings(doing, s.Findings); err != nil {
		data := map[string]any{"files": s.Files, "findings": s.Findings}
		return c.ui.report(err, data, s.Findings, func() {
			for _, f := range s.Findings {
				c.ui.finding(f)
			}
		})
	}
	return c.signed(s.Files)
}

func (c *call) noteLeft(s *githook.Report) {
	if s.Relocked {
		c.ui.Note("rye: %s is up to date", lock.LockFile)
	}
	for _, path := range s.Left {
		c.ui.Note("rye: %s has edits that are not staged: the commit holds it %s, the file stays as it is", path, pick(path == lock.LockFile, "up to date", "signed"))
	}
}

// signStaged looks for staged changes first: most commits hold no items, and
// then nothing else is opened.
func (c *call) signStaged(ctx context.Context, git *gitcmd.Git, check bool) (*githook.Report, error) {
	none := &githook.Report{Files: []primary.SignReport{}}
	changes, repo, err := stagedChanges(ctx, git)
	if err != nil || len(changes) == 0 {
		return none, err
	}
	spaces, err := space.Discover(space.Params{Project: c.project(), Dir: c.dir, Home: c.home(), Getenv: c.Getenv})
	if err != nil {
		return nil, err
	}
	merging, err := mergedHeads(repo, c.Environ())
	if err != nil {
		return nil, err
	}
	debug.SetGCPercent(400) // the list of a large index is all that is kept, and not for long
	rooms := c.houseSoon(ctx)
	bounded, cancel := context.WithTimeout(ctx, agentWait)
	defer cancel()
	prefix := (&house{spaces: spaces}).prefixIn(repo)
	release := func() {}
	defer func() { release() }()
	return githook.Sign(bounded, githook.Params{
		Repo: repo, Prefix: prefix, Changes: changes, Merging: merging, Check: check,
		House: func(project *space.Root) (*resolve.Resolver, *primary.Verbs, error) {
			h, err := rooms()
			if err != nil {
				return nil, nil, err
			}
			r := h.verifier(h.with(project))
			return r, primary.New(primary.Params{Resolver: r, Caller: policy.Person(), Record: c.record(h), Now: c.Now}), nil
		},
		Signer: func(ctx context.Context) (sign.Signer, error) {
			h, err := rooms()
			if err != nil {
				return nil, err
			}
			return c.signer(ctx, h)
		},
		Relock: func(ctx context.Context, index *verify.GitFiles, signed space.Files, tools []item.Ref) (*githook.LockChange, error) {
			h, err := rooms()
			if err != nil {
				return nil, err
			}
			if !h.lockable() {
				return nil, nil
			}
			if release, err = h.hold(ctx); err != nil {
				return nil, err
			}
			return c.relockStaged(ctx, h, stagedFiles(ctx, repo, index, prefix), signed, tools)
		},
	})
}

// relockStaged brings the lock of the index up to date with tools that are
// being signed. One that cannot be read stays as it is.
func (c *call) relockStaged(ctx context.Context, h *house, p *gitProject, signed space.Files, tools []item.Ref) (*githook.LockChange, error) {
	if err := p.readFiles(); err != nil {
		return nil, err
	}
	e, err := p.entry(p.prefix + lock.LockFile)
	if err != nil || e.OID == "" {
		return nil, err
	}
	defer p.closeOpened()
	x, err := c.inGit(h, p, space.NewFiles(space.Project, signed), "the index")
	if err != nil {
		return nil, err
	}
	for _, err := range x.lockErrs {
		c.ui.Warn("%s was not brought up to date: %s", lock.LockFile, err)
	}
	if x.lock == nil {
		return nil, nil
	}
	changed, notes, err := x.primary.RefreshLock(ctx, x.lock.lock, x.system(), tools)
	c.lockNotes(notes)
	if err != nil || !changed {
		return nil, err
	}
	was, err := p.ReadFile(lock.LockFile, lock.MaxLock)
	return &githook.LockChange{Entry: e, Was: was, Now: x.lock.lock.Render()}, err
}

// houseSoon builds the house while git lists the index.
func (c *call) houseSoon(ctx context.Context) func() (*house, error) {
	type built struct {
		h   *house
		err error
	}
	soon := make(chan built, 1)
	go func() {
		h, err := c.house(ctx, lenient)
		soon <- built{h, err}
	}()
	return sync.OnceValues(func() (*house, error) {
		b := <-soon
		return b.h, b.err
	})
}

// stagedChanges compares the index with HEAD while the repository is looked
// for: each is a process of its own.
func stagedChanges(ctx context.Context, git *gitcmd.Git) (changes []gitcmd.Change, repo *gitcmd.Repo, err error) {
	var repoErr error
	var wg sync.WaitGroup
	wg.Go(func() { repo, repoErr = git.Repo(ctx) })
	changes, err = git.Staged(ctx, "HEAD", "")
	wg.Wait()
	switch {
	case repoErr != nil:
		return nil, nil, repoErr
	case repo.WorkTree == "":
		return nil, nil, diag.New(diag.Usage, "signing what is staged: there is no work tree here").WithHint("run it in the work tree of a repository")
	case err == nil:
		return changes, repo, nil
	}
	head, headErr := repo.Head(ctx) // before the first commit there is no HEAD
	if headErr != nil {
		return nil, nil, headErr
	}
	changes, err = repo.Staged(ctx, head, "")
	return changes, repo, err
}
