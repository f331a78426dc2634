package deps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/packages/source/git"
	"github.com/ryeos/rye/packages/source/registry"
	"github.com/ryeos/rye/resolve/space"
)

// Params selects the bundles to work on.
type Params struct {
	Space    space.Name                  // "" is the project
	Progress func(packages.Event)        // may be nil
	Done     func()                      // called by close; may be nil
	Look     bool                        // only Inspect and Release are called: no project is needed
	Expect   map[lock.Module]item.Digest // see packages.Params
}

// Packages is the package manager of one space of an opened project.
type Packages struct {
	*packages.Engine
	Project    *project.Project
	cache      *source.Cache
	registries *Registries
	Base       string
	Source     source.Source // of bundles and of adopted sources
	files      string
	Space      space.Name
	done       func()
}

// Open opens the package manager of a space. Its Close must follow.
func Open(ctx context.Context, e *project.Env, p Params) (*Packages, error) {
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return nil, err
	}
	x := &Packages{Project: h, Space: cmp.Or(p.Space, space.Project), done: p.Done}
	outside := p.Look && x.Space == space.Project && h.Spaces.ProjectDir == ""
	if outside {
		x.Base, x.files = e.Base, e.Base
	} else if x.Base, x.files, err = packageFolders(h, x.Space); err != nil {
		return nil, err
	}
	if x.Space == space.Project && !outside {
		if err := notLeftOut(ctx, h); err != nil {
			return nil, err
		}
	}
	if x.cache, err = SourceCache(e); err != nil {
		return nil, err
	}
	rule, sealed := x.rules().Offline()
	x.registries = newRegistries(h, x.files, sealed || e.Offline)
	src, err := sources(e, x, sealed || e.Offline)
	if err != nil {
		return nil, err
	}
	if sealed {
		src = packages.OfflineByRule(src, rule)
	}
	x.Source = src
	params := packages.Params{
		Base:       x.Base,
		Files:      x.files,
		Space:      string(x.Space),
		Source:     src,
		Registries: x.registries,
		Cache:      x.cache,
		Trust:      h.Trust,
		Rules:      h.Rules,
		Known:      h.KnownLock,
		Caps:       h.BundleCaps(),
		Contents:   bundleContents(h),
		Others:     holders(h, x.Space),
		Locked:     e.Locked,
		Offline:    sealed || e.Offline,
		Now:        e.Now,
		Progress:   p.Progress,
	}
	if x.Space == space.Project {
		params.Revoked = h.Revoked()
	}
	if h.Dirs.State != "" {
		params.Seen = SeenFile(h)
	}
	params.Ignore = x.IgnoreInstalled
	params.Expect = p.Expect
	x.Engine = packages.New(params)
	return x, nil
}

// SeenFile is the record of when this account first saw each release.
func SeenFile(p *project.Project) string {
	return filepath.Join(p.Dirs.State, "bundles-seen.json")
}

// rules returns the rules that apply to the space.
func (x *Packages) rules() packages.Rules {
	return project.WithManifest(x.Project.Rules, manifestIn(x.Project, x.files))
}

// manifestIn returns the project file in a directory, nil without one: that which was read
// with the lock of the project, if it is there. Errors in it are left to the operation that
// needs the file.
func manifestIn(p *project.Project, dir string) *lock.ProjectFile {
	if p.Lock != nil && p.Lock.Dir == dir && p.Lock.ProjectFile != nil {
		return p.Lock.ProjectFile
	}
	m, _ := project.ReadManifest(dir)
	return m
}

// PullTo is Pull of a release of a registry into a directory that does not exist yet, "" for
// the cache only.
func (x *Packages) PullTo(
	ctx context.Context,
	q packages.Query,
	dir string,
) (*packages.Pulled, error) {
	if q.ID.Kind != lock.RegistryID || q.Item != "" {
		return nil, diag.New(diag.Usage, "reading %q: it is not the id of a bundle in a registry: registry:HOST/NS/NAME", q.ID)
	}
	if dir == "" {
		return x.Pull(ctx, q, atomicfile.Base{}, "")
	}
	if dir = x.Project.Env.Path(dir); there(dir) {
		return nil, diag.New(diag.FileSystemError, "writing %s: it exists; name a directory that does not", dir)
	}
	parent := filepath.Dir(dir)
	base := atomicfile.Private(parent).Mode(0o755)
	had := there(base.Path(atomicfile.TempDir))
	p, err := x.Pull(ctx, q, base, filepath.Base(dir))
	if !had {
		_ = base.Remove(atomicfile.TempDir) // empty, unless another process uses it
	}
	return p, err
}

// Close ends the display of progress. It may be called again.
func (x *Packages) Close() {
	if x.done != nil {
		x.done()
	}
}

// packageFolders returns the directory that contains .ai of a space and the one with
// rye.yaml and rye.lock: the same in a project, .ai itself in other spaces.
func packageFolders(p *project.Project, s space.Name) (base, files string, err error) {
	switch s {
	case space.Project:
		root, err := p.NeedProject()
		if err != nil {
			return "", "", err
		}
		return root.Base, root.Base, nil
	case space.User:
		base = p.Spaces.UserDir
	case space.System:
		base = p.Env.Getenv("RYE_SYSTEM_SPACE")
		if base == "" {
			return "", "", diag.New(diag.Usage, "finding the system space: RYE_SYSTEM_SPACE is not set").WithReason("system_space")
		}
	default:
		return "", "", diag.New(diag.Usage, "finding the space %q: it is not project, user or system", s)
	}
	if !filepath.IsAbs(base) {
		return "", "", diag.New(diag.Usage, "finding the %s space: its folder is unknown", s)
	}
	files = filepath.Join(base, space.Dir)
	if err := atomicfile.Space(files).MkdirAll("."); err != nil {
		return "", "", diag.Doing(fmt.Sprintf("making the %s space", s), err)
	}
	return base, files, nil
}

// SourceCache returns the cache of what was fetched.
func SourceCache(e *project.Env) (*source.Cache, error) {
	found, err := e.Cache()
	if err != nil {
		return nil, err
	}
	if found.Dir == "" {
		return nil, diag.New(diag.FileSystemError, "finding the cache: there is no directory for it").WithReason("no_cache")
	}
	return source.NewCache(found.Dir, e.Now), nil
}

// sources is the table of where bundles come from.
func sources(e *project.Env, x *Packages, offline bool) (source.Source, error) {
	remoteGit, err := git.New(git.Params{
		Cache:       x.cache,
		Environ:     proc.Own(e.Environ(), e.Base, e.Cwd, x.Base),
		Transport:   e.Getenv("RYE_GIT"),
		Offline:     offline,
		Interactive: e.Person.Asks,
		Dir:         x.Base,
		Self:        e.Self,
	})
	if err != nil {
		return nil, err
	}
	remote := source.Retry(remoteGit)
	published := registry.Source{Client: x.registries.Client, Cache: x.cache}
	return source.Multi{
		lock.HostID:     remote,
		lock.URLID:      remote,
		lock.RegistryID: published,
		lock.PathID:     source.Dir{Base: x.files, Cache: x.cache},
	}, nil
}

// IgnoreInstalled excludes installed bundles from git and has git merge rye.sum by
// union, in a project that is in a git repository.
func (x *Packages) IgnoreInstalled() error {
	vendored, err := x.Vendored()
	if err != nil || x.Space != space.Project {
		return err
	}
	ignore := filepath.Join(x.Base, ".gitignore")
	if !there(ignore) && !inWorkTree(x.Base) {
		return nil
	}
	for file, lines := range map[string][]string{
		ignore:                                  {BundlesIgnored},
		filepath.Join(x.Base, ".gitattributes"): {"rye.sum merge=union -text"},
	} {
		if vendored && file == ignore {
			continue
		}
		_, err := AddLines(x.Base, filepath.Base(file), lines)
		if err != nil {
			return err
		}
	}
	return nil
}

// inWorkTree reports whether dir is in a git work tree.
func inWorkTree(dir string) bool {
	for ; !there(filepath.Join(dir, ".git")); dir = filepath.Dir(dir) {
		if dir == filepath.Dir(dir) {
			return false
		}
	}
	return true
}

// BundlesIgnored is the line of .gitignore for installed bundles: no other
// folder there has an @ in its name.
const BundlesIgnored = space.Dir + "/bundles/**/*@*/"

func there(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

// AddLines appends the lines that a file at the top of a project lacks.
func AddLines(dir, name string, lines []string) (bool, error) {
	b, err := openat.ReadRegular(filepath.Join(dir, name), openat.MaxText)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	have := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		have[strings.TrimSpace(line)] = true
	}
	out := string(b)
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	for _, line := range lines {
		if !have[line] {
			out += line + "\n"
		}
	}
	if out == string(b) {
		return false, nil
	}
	perm := os.FileMode(0o644)
	if err == nil {
		perm = 0
	}
	return true, atomicfile.Project(dir).Write(name, []byte(out), perm)
}
