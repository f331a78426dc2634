package revision

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

// Folder is the folder of a project in a revision or in the index.
type Folder struct {
	*verify.GitFiles                                            // its .ai
	list             func(...string) ([]gitcmd.Entry, error)    // at or below paths from the top
	open             func(dir string) (*verify.GitFiles, error) // the .ai of another folder of it
	prefix           string                                     // where it lies: "" or "a/b/"
	known            map[string]gitcmd.Entry                    // its own three files
	opened           []*verify.GitFiles
	ahead            func() *aheadLock // its files, if they are read ahead, else nil
}

// readFiles finds the three files in the directory that contains .ai.
func (p *Folder) readFiles() error {
	own := []string{p.prefix + lock.ProjectFileName, p.prefix + lock.LockFile, p.prefix + lock.SumFile}
	p.known = map[string]gitcmd.Entry{}
	for _, at := range own {
		p.known[at] = p.ProjectFile(path.Base(at))
	}
	if !p.Changed() {
		return nil
	}
	found, err := p.list(own...)
	for _, at := range own {
		p.known[at] = gitcmd.Entry{}
	}
	for _, e := range found {
		p.known[e.Path] = e
	}
	return err
}

// IsProject reports whether there is an .ai directory or a rye.yaml, as
// space.IsProject does for a work tree.
func (p *Folder) IsProject() (bool, error) {
	if !p.Empty() {
		return true, nil
	}
	file, err := p.entry(p.prefix + lock.ProjectFileName)
	return file.OID != "", err
}

// Release closes the project's files and those opened through it.
func (p *Folder) Release() {
	p.closeOpened()
	_ = p.Close()
}

// closeOpened closes the files opened in addition to the project's own .ai.
func (p *Folder) closeOpened() {
	for _, f := range p.opened {
		_ = f.Close()
	}
}

// ReadFile implements lock.Files.
func (p *Folder) ReadFile(name string, limit int64) (b []byte, err error) {
	e, err := p.entry(p.prefix + path.Clean(name))
	switch {
	case err != nil:
		return nil, err
	case e.OID == "":
		return nil, &fs.PathError{Op: "reading", Path: name, Err: fs.ErrNotExist}
	case !e.IsFile():
		return nil, diag.New(diag.NotRegular, "reading %s: it is not a regular file", name)
	}
	if a := p.lockAhead(); a != nil {
		b, ok := a.blobs[e.OID]
		if ok && int64(len(b)) <= limit {
			return b, nil
		}
	}
	readErr := p.Batch().Read([]string{e.OID}, limit, func(_ int, o gitcmd.Object) {
		switch {
		case o.Kind != "blob":
			err = diag.New(diag.FileSystemError, "reading %s: the repository lacks object %s", name, e.OID)
		case o.Size > limit:
			err = diag.New(diag.TooLarge, "reading %s: it has %d bytes, at most %d are allowed", name, o.Size, limit)
		}
		b = o.Data
	})
	return b, errors.Join(readErr, err)
}

// lockAhead returns the lock that was read ahead, or nil.
func (p *Folder) lockAhead() *aheadLock {
	if p.ahead == nil {
		return nil
	}
	return p.ahead()
}

// entry returns the entry at a path from the top of the repository, the zero value
// if there is none.
func (p *Folder) entry(at string) (gitcmd.Entry, error) {
	if e, ok := p.known[at]; ok {
		return e, nil
	}
	found, err := p.list(at)
	for _, e := range found {
		if e.Path == at {
			return e, nil
		}
	}
	return gitcmd.Entry{}, err
}

// paths returns the paths of all files of the project.
func (p *Folder) paths() ([]string, error) {
	found, err := p.list(strings.TrimSuffix(p.prefix, "/"))
	out := make([]string, 0, len(found))
	for _, e := range found {
		if rel, below := strings.CutPrefix(e.Path, p.prefix); below {
			out = append(out, rel)
		}
	}
	return out, err
}

// Glob implements lock.Files: it returns directories with a rye.yaml.
func (p *Folder) Glob(pattern string) ([]string, error) {
	pattern = path.Clean(pattern)
	literal := pattern
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		literal = path.Dir(pattern[:i] + "x")
	}
	found, err := p.list(path.Join(p.prefix, literal))
	var out []string
	for _, e := range found {
		dir, file := path.Split(strings.TrimPrefix(e.Path, p.prefix))
		dir = strings.TrimSuffix(dir, "/")
		fits, bad := path.Match(pattern, dir)
		if bad != nil {
			return nil, bad
		}
		if fits && file == lock.ProjectFileName {
			p.known[e.Path] = e
			out = append(out, dir)
		}
	}
	return out, err
}

// inGit returns the project as git's objects contain it, with its own items in root.
// Lock and bundles come from git, the user's keys and rules from p.
func inGit(
	ctx context.Context,
	h *project.Project,
	p *Folder,
	root *space.Root,
	what string,
) (*project.Project, error) {
	return project.OfFiles(
		ctx,
		h,
		p,
		root,
		what+":",
		func(sl *project.SpaceLock) ([]space.Layer, error) {
			return gitLayers(sl, h.Spaces.Of(space.Project), p)
		},
	)
}

// gitLayers returns the bundles of a lock in git's objects: vendored ones are
// there, those that git ignores are where this machine has installed them.
// For bundles that git ignores, the files installed on this machine are compared with the
// manifest that the revision locks. Without them the items of the project are compared with
// their entries, so that a bare repository can verify a push.
func gitLayers(sl *project.SpaceLock, disk *space.Root, p *Folder) ([]space.Layer, error) {
	layers, err := sl.Layers()
	for i, l := range layers {
		switch {
		case l.Install != "":
			at := path.Join(space.BundlesFolder, l.Install)
			vendored := sl.ProjectFile != nil && sl.ProjectFile.Vendor || p.Exists(at)
			if vendored || disk == nil || !disk.OnDisk() || !disk.Exists(at) {
				layers[i].Files = space.Below(p.GitFiles, l.Install)
			} else {
				layers[i].At = disk
			}
		case path.IsAbs(l.Show): // a folder of this machine
		case !fs.ValidPath(path.Join(p.prefix, l.Show)): // outside of the repository
			layers[i].Files = space.Below(p.GitFiles, l.Show)
		default:
			files, err := p.open(path.Join(p.prefix, l.Show))
			if err != nil {
				return nil, err
			}
			p.opened = append(p.opened, files)
			layers[i].Files = files
		}
	}
	return layers, err
}

// lockable reports whether the project is on disk, so that other processes can be
// kept from changing its lock.
func lockable(p *project.Project) bool {
	return p.Files != nil
}

// Partial reports whether bundles of the lock are neither in git nor installed
// on this machine.
func Partial(p *project.Project) bool {
	return slices.ContainsFunc(p.Spaces.Roots, func(r *space.Root) bool {
		return r.Space == space.Project && r.Bundled() && r.Ready() != nil
	})
}

// Open opens the project at prefix in a tree.
func Open(ctx context.Context, repo *gitcmd.Repo, tree, prefix string) (*Folder, error) {
	files, err := verify.Revision(ctx, repo.Git, tree, prefix)
	if err != nil {
		return nil, err
	}
	return &Folder{
		GitFiles: files,
		prefix:   prefix,
		list: func(paths ...string) ([]gitcmd.Entry, error) {
			return repo.Tree(ctx, tree, paths...)
		},
		open: func(dir string) (*verify.GitFiles, error) {
			return verify.Revision(ctx, repo.Git, tree, dir+"/")
		},
	}, nil
}

// openStaged opens the project at prefix in the index.
func openStaged(ctx context.Context, repo *gitcmd.Repo, prefix string) (*Folder, error) {
	files, err := verify.Index(ctx, repo, prefix)
	if err != nil {
		return nil, err
	}
	return stagedFiles(ctx, repo, files, prefix), nil
}

// stagedFiles is openStaged over an index that is open.
func stagedFiles(ctx context.Context, repo *gitcmd.Repo, files *verify.GitFiles, prefix string) *Folder {
	return &Folder{
		GitFiles: files,
		prefix:   prefix,
		list: func(paths ...string) ([]gitcmd.Entry, error) {
			return repo.Indexed(ctx, paths...)
		},
		open: func(dir string) (*verify.GitFiles, error) {
			return verify.Index(ctx, repo, dir+"/")
		},
	}
}
