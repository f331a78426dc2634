package project

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
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

// SignStaged looks for staged changes first: most commits hold no items, and
// then nothing else is opened.
func (e *Env) SignStaged(ctx context.Context, git *gitcmd.Git, check bool) (*githook.Report, error) {
	none := &githook.Report{Files: []primary.SignReport{}}
	changes, repo, err := stagedChanges(ctx, git)
	if err != nil || len(changes) == 0 {
		return none, err
	}
	spaces, err := space.Discover(e.spaceParams())
	if err != nil {
		return nil, err
	}
	merging, err := mergedHeads(repo, e.Environ())
	if err != nil {
		return nil, err
	}
	debug.SetGCPercent(400) // the list of a large index is all that is kept, and not for long
	opened := e.openAsync(ctx)
	bounded, cancel := context.WithTimeout(ctx, agentWait)
	defer cancel()
	prefix := (&Project{Spaces: spaces}).PrefixIn(repo)
	release := func() {}
	defer func() { release() }()
	return githook.Sign(bounded, githook.Params{
		Repo: repo, Prefix: prefix, Changes: changes, Merging: merging, Check: check,
		Open: func(project *space.Root) (*resolve.Resolver, *primary.Verbs, error) {
			h, err := opened()
			if err != nil {
				return nil, nil, err
			}
			r := h.Verifier(h.With(project))
			return r, primary.New(primary.Params{Resolver: r, Caller: policy.Person(), Record: h.Record(), Now: e.Now}), nil
		},
		Signer: func(ctx context.Context) (sign.Signer, error) {
			h, err := opened()
			if err != nil {
				return nil, err
			}
			return h.Signer(ctx)
		},
		Relock: func(ctx context.Context, index *verify.GitFiles, signed space.Files, tools []item.Ref) (*githook.LockChange, error) {
			h, err := opened()
			if err != nil {
				return nil, err
			}
			if !h.lockable() {
				return nil, nil
			}
			if release, err = h.hold(ctx); err != nil {
				return nil, err
			}
			return h.relockStaged(ctx, stagedFiles(ctx, repo, index, prefix), signed, tools)
		},
	})
}

// relockStaged brings the lock of the index up to date with tools that are
// being signed. One that cannot be read stays as it is.
func (h *Project) relockStaged(ctx context.Context, p *GitProject, signed space.Files, tools []item.Ref) (*githook.LockChange, error) {
	if err := p.readFiles(); err != nil {
		return nil, err
	}
	e, err := p.entry(p.prefix + lock.LockFile)
	if err != nil || e.OID == "" {
		return nil, err
	}
	defer p.closeOpened()
	x, err := h.inGit(p, space.NewFiles(space.Project, signed), "the index")
	if err != nil {
		return nil, err
	}
	for _, err := range x.LockErrs {
		h.Env.Person.warn("%s was not brought up to date: %s", lock.LockFile, err)
	}
	if x.Lock == nil {
		return nil, nil
	}
	changed, notes, err := x.Verbs.RefreshLock(ctx, x.Lock.Lock, x.System(), tools)
	h.Env.lockNotes(notes)
	if err != nil || !changed {
		return nil, err
	}
	was, err := p.ReadFile(lock.LockFile, lock.MaxLock)
	return &githook.LockChange{Entry: e, Was: was, Now: x.Lock.Lock.Render()}, err
}

// openAsync opens the project while git lists the index.
func (e *Env) openAsync(ctx context.Context) func() (*Project, error) {
	type built struct {
		h   *Project
		err error
	}
	soon := make(chan built, 1)
	go func() {
		h, err := e.Open(ctx, Lenient)
		soon <- built{h, err}
	}()
	return sync.OnceValues(func() (*Project, error) {
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
		return nil, nil, diag.New(diag.Usage, "signing what is staged: a bare repository has no index to sign")
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

// mergedHeads returns the commits whose changes are being taken over: those of
// a merge, also where git names them to its hooks only, the one that is
// squashed, and the one that a stopped cherry-pick or rebase was at.
func mergedHeads(repo *gitcmd.Repo, environ []string) ([]string, error) {
	var heads []string
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "SQUASH_MSG"} {
		b, err := os.ReadFile(filepath.Join(repo.GitDir, name))
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return nil, diag.New(diag.FileSystemError, "reading %s: %w", name, err)
		case name == "SQUASH_MSG":
			heads = append(heads, squashed(string(b)))
		default:
			heads = append(heads, strings.Fields(string(b))...)
		}
	}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if oid, ok := strings.CutPrefix(name, "GITHEAD_"); ok {
			heads = append(heads, oid)
		}
	}
	slices.Sort(heads)
	return slices.DeleteFunc(slices.Compact(heads), func(oid string) bool {
		return len(oid) < 40 || strings.Trim(oid, "0123456789abcdef") != ""
	}), nil
}

// squashed returns the newest of the commits that git merge --squash lists: it
// writes no other trace of them. Their messages are indented there.
func squashed(msg string) string {
	for line := range strings.Lines(msg) {
		if oid, ok := strings.CutPrefix(line, "commit "); ok {
			return strings.TrimSpace(oid)
		}
	}
	return ""
}
