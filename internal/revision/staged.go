package revision

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/githook"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/verify"
)

// agentWait is how long an agent may think: it may ask a person.
const agentWait = 2 * time.Minute

// StagedCall selects how staged items are signed.
type StagedCall struct {
	Check     bool // change nothing
	IndexOnly bool // leave the work tree as it is
	// Ask shows a text and asks a question about it, nil without a terminal. It is called
	// for each staged text that differs from its file.
	Ask       func(ctx context.Context, text, question string) (bool, error)
	Differing bool // sign these without a question
}

// SignStaged signs the staged items of every project of the repository. It looks
// for staged changes first: most commits have no items, and then nothing else is
// opened.
func SignStaged(
	ctx context.Context,
	e *project.Env,
	git *gitcmd.Git,
	call StagedCall,
) (*githook.Report, error) {
	none := &githook.Report{Files: []primary.SignReport{}}
	changes, repo, err := stagedChanges(ctx, git)
	if err != nil {
		return none, err
	}
	if !call.Check && !call.IndexOnly {
		if err := githook.Finish(ctx, repo); err != nil {
			return nil, err
		}
	}
	if len(changes) == 0 {
		return none, nil
	}
	merging, err := mergedHeads(repo, e.Environ())
	if err != nil {
		return nil, err
	}
	bounded := newBounded(ctx, agentWait)
	defer bounded.cancel()
	found, err := stagedProjects(ctx, e, repo, changes)
	if err != nil {
		return nil, err
	}
	p := githook.Params{
		Repo:      repo,
		Changes:   changes,
		Merging:   merging,
		Check:     call.Check,
		IndexOnly: call.IndexOnly,
		Ask:       bounded.without(call.Ask),
		Differing: call.Differing,
		Getenv:    e.Getenv,
	}
	for _, s := range found {
		defer func() { s.release() }()
		p.Projects = append(p.Projects, s.hook())
	}
	p.Signer = func(ctx context.Context) (sign.Signer, error) {
		h, err := found[0].open()
		if err != nil {
			return nil, err
		}
		return h.Keys.Signer(ctx)
	}
	return githook.Sign(bounded, p)
}

// stagedIn is a project with staged changes.
type stagedIn struct {
	env     *project.Env
	repo    *gitcmd.Repo
	at      githook.Location
	open    func() (*project.Project, error)
	release func() // the lock that relock took
	ahead   func() *aheadLock
}

// stagedProjects finds the projects that have staged changes and begins to open
// them. The first is the one that rye was called in, or the first found.
func stagedProjects(
	ctx context.Context,
	e *project.Env,
	repo *gitcmd.Repo,
	changes []gitcmd.Change,
) ([]*stagedIn, error) {
	locations, err := locations(ctx, e, repo, changes)
	if err != nil {
		return nil, err
	}
	var out []*stagedIn
	for _, at := range locations {
		env := EnvAt(e, repo, at)
		out = append(
			out,
			&stagedIn{
				env:     env,
				repo:    repo,
				at:      at,
				open:    openAsync(ctx, env),
				release: func() {},
			},
		)
	}
	return out, nil
}

// locations returns the project that rye was called in, and the others that have
// staged changes.
func locations(
	ctx context.Context,
	e *project.Env,
	repo *gitcmd.Repo,
	changes []gitcmd.Change,
) ([]githook.Location, error) {
	paths := make([]string, len(changes))
	for i, c := range changes {
		paths[i] = c.Path
	}
	return locationsOf(e, repo, func(here string) ([]string, error) {
		return githook.Projects(ctx, repo, here, paths)
	})
}

// locationsOf returns the project that rye was called in, and the others of a list.
func locationsOf(e *project.Env, repo *gitcmd.Repo, list func(here string) ([]string, error)) ([]githook.Location, error) {
	spaces, err := space.Discover(e.SpaceParams())
	if err != nil {
		return nil, err
	}
	here := (&project.Project{Spaces: spaces}).PrefixIn(repo)
	locations := []githook.Location{{Prefix: here}}
	others, err := list(here)
	if err != nil {
		return nil, err
	}
	for _, prefix := range others {
		dir := filepath.Join(repo.WorkTree, filepath.FromSlash(prefix))
		if e.SpaceParams().Reserved(dir) == "" {
			locations = append(locations, githook.Location{Prefix: prefix, Label: filepath.FromSlash(prefix)})
		}
	}
	return locations, nil
}

// PushedProjects returns the project that rye was called in, and the others that a tree
// contains.
func PushedProjects(
	ctx context.Context,
	e *project.Env,
	repo *gitcmd.Repo,
	tree string,
) ([]githook.Location, error) {
	entries, err := repo.Tree(ctx, tree, "")
	if err != nil {
		return nil, err
	}
	there := make(map[string]bool, len(entries))
	paths := make([]string, len(entries))
	for i, f := range entries {
		paths[i] = f.Path
		there[f.Path] = true
	}
	return locationsOf(e, repo, func(here string) ([]string, error) {
		return githook.ProjectsIn(ctx, repo, here, paths, func(files ...string) ([]string, error) {
			return slices.DeleteFunc(files, func(f string) bool {
				return !there[f]
			}), nil
		})
	})
}

// EnvAt returns the environment for a project of the repository. The project of a pushed revision may not be
// in the work tree.
func EnvAt(e *project.Env, repo *gitcmd.Repo, at githook.Location) *project.Env {
	env := *e
	dir := filepath.Join(repo.WorkTree, filepath.FromSlash(at.Prefix))
	if at.Label != "" && isDir(dir) {
		env.Named = dir
	}
	return &env
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// hook returns the project as the hook needs it.
func (s *stagedIn) hook() githook.Project {
	return githook.Project{
		Location: s.at,
		Open: func(project *space.Root) (*resolve.Resolver, *primary.Verbs, error) {
			h, err := s.open()
			if err != nil {
				return nil, nil, err
			}
			r := h.Verifier(h.With(project))
			return r, primary.New(primary.Params{Resolver: r, Record: h.Recorder().Record, Now: s.env.Now}), nil
		},
		Begin: s.readAhead,
		Relock: func(ctx context.Context, index *verify.GitFiles, signed space.Files, refs []item.Ref) (*githook.LockChange, error) {
			h, err := s.open()
			if err != nil {
				return nil, err
			}
			if !lockable(h) {
				return nil, nil
			}
			if s.release, err = relock.Hold(ctx, h); err != nil {
				s.release = func() {}
				return nil, err
			}
			p := stagedFiles(ctx, s.repo, index, s.at.Prefix)
			p.ahead = s.ahead
			return relockStaged(ctx, h, p, signed, refs)
		},
	}
}

// HookLocation is the repository that gets hooks, and where the project is in it.
type HookLocation struct {
	Repo   *gitcmd.Repo
	Prefix string
}

// LocateHooks returns where hooks are installed. A project in a subdirectory needs a
// project file: the hooks find it by that.
func LocateHooks(ctx context.Context, e *project.Env) (HookLocation, error) {
	repo, err := e.Repo(ctx)
	if err != nil {
		return HookLocation{}, err
	}
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return HookLocation{}, err
	}
	at := HookLocation{repo, h.PrefixIn(repo)}
	file := filepath.Join(repo.WorkTree, filepath.FromSlash(at.Prefix), lock.ProjectFileName)
	if at.Prefix != "" && !isFile(file) {
		return at, diag.New(diag.Usage, "installing hooks: %s does not exist, so the hooks would not find this project", file).
			WithReason("hook_project_file")
	}
	return at, nil
}

// CheckHooks returns an error if a directory, which may not exist yet, is in no
// repository that hooks could be installed in.
func CheckHooks(ctx context.Context, e *project.Env, dir string) error {
	for !isDir(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	_, err := e.In(dir).Repo(ctx)
	return err
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// FinishSigning completes in the work tree what an earlier process signed in the
// index only. It starts git only if there is something to complete.
func FinishSigning(ctx context.Context, e *project.Env) error {
	if !githook.PendingAbove(e.Base) {
		return nil
	}
	repo, err := e.Repo(ctx)
	if err != nil {
		return err
	}
	return githook.Finish(ctx, repo)
}

// openAsync opens the project while git lists the index.
func openAsync(ctx context.Context, e *project.Env) func() (*project.Project, error) {
	type built struct {
		h   *project.Project
		err error
	}
	soon := make(chan built, 1)
	go func() {
		h, err := e.Open(ctx, project.Lenient)
		soon <- built{h, err}
	}()
	return sync.OnceValues(func() (*project.Project, error) {
		b := <-soon
		return b.h, b.err
	})
}

// stagedChanges compares the index with HEAD while the repository is looked
// for: each is a process of its own.
func stagedChanges(ctx context.Context, git *gitcmd.Git) (changes []gitcmd.Change, repo *gitcmd.Repo, err error) {
	var repoErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		repo, repoErr = git.Repo(ctx)
	})
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

// mergedHeads returns the commits whose changes are being taken over: the commits of a merge,
// also where git names them to its hooks only, the one that is squashed, and the one that a
// stopped cherry-pick or rebase was at.
func mergedHeads(repo *gitcmd.Repo, environ []string) ([]string, error) {
	var heads []string
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "SQUASH_MSG"} {
		b, err := openat.ReadRegular(filepath.Join(repo.GitDir, name), openat.MaxText)
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
