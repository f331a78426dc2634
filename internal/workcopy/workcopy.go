// Package workcopy makes working copies of a project, compares them with the state that
// they began with, and brings their changes to the project as one change.
//
// What is in a copy comes from programs that are not trusted: no git runs in it after it was
// made, no link in it is followed, and the state that it began with is recorded next to it.
// The package does not decide which paths are protected; its caller does.
package workcopy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
)

// Names in the directory of a copy.
const (
	recordFile = "copy.json"
	treeDir    = "tree"  // the work tree, all that programs see
	baseDir    = "base"  // contents, by digest, that the commit does not have
	applyDir   = "apply" // what is being written into the project
	planFile   = "apply.json"
	markFile   = "making" // while the copy is made, with a text that only its maker knows
	lockFile   = "lock"
)

// The names of copies that are being made, and removed, begin so.
const (
	unfinished = ".new-"
	dropped    = ".dropped-"
)

// maxRecord is the size of the record of a copy, in bytes.
const maxRecord = 256 << 20

// Copy is a working copy.
type Copy struct {
	ID      string          `json:"id"`
	All     bool            `json:"all,omitempty"`  // began with all files of the project, not with the files of a commit
	Project string          `json:"project"`        // the directory of the project, without links
	Prefix  string          `json:"prefix"`         // of the project below the top of its repository, "" or ending in "/"
	Commit  string          `json:"commit"`         // "" in a copy without a repository
	Objects string          `json:"objects"`        // the directory of the repository that has the commit
	From    string          `json:"from,omitempty"` // the id of the copy that it began with
	Created string          `json:"created"`
	Modules []string        `json:"modules,omitempty"` // submodules, which are empty in the copy
	Files   map[string]File `json:"files"`             // of the project when the copy began
	dir     string
}

// Params are where copies are and what they are made from.
type Params struct {
	Dir     string // that contains the copies, absolute
	ID      string
	Project string
	Environ []string
	Carry   bool  // begin with the uncommitted changes of tracked files
	All     *All  // begin with all files; nil begins with the files of a commit
	From    *Copy // begin with the state of another copy; nil begins with the project
	Now     time.Time
}

// Dir returns the directory of the project in the copy.
func (c *Copy) Dir() string {
	return filepath.Join(c.dir, treeDir, filepath.FromSlash(c.Prefix))
}

// Open opens the copy with an id. The error satisfies errors.Is(err, fs.ErrNotExist) if
// there is none.
func Open(dir, id string) (*Copy, error) {
	at := filepath.Join(dir, id)
	if id != filepath.Base(id) || strings.HasPrefix(id, ".") {
		return nil, diag.New(diag.FileSystemError, "opening the working copy %q: %w", id, fs.ErrNotExist)
	}
	b, err := openat.ReadRegular(filepath.Join(at, recordFile), maxRecord)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening the working copy %s: %w", id, err)
	}
	c := &Copy{dir: at}
	err = json.Unmarshal(b, c)
	if err != nil || c.ID != id {
		return nil, diag.New(diag.FileSystemError, "reading %s: it is not the record of the working copy %s", filepath.Join(at, recordFile), id)
	}
	c.Files = renamed(c.Files, unpacked)
	return c, nil
}

// List returns the copies of a project in a directory. A copy whose record cannot be read is
// left out.
func List(dir, project string) ([]*Copy, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.FileSystemError, "listing working copies: %w", err)
	}
	var out []*Copy
	for _, e := range entries {
		c, err := Open(dir, e.Name())
		if err == nil && c.Project == project {
			out = append(out, c)
		}
	}
	return out, nil
}

// located finds the repository that a copy is made from, nil if it is one without.
func located(ctx context.Context, p Params) (*gitcmd.Repo, string, error) {
	if p.From != nil && p.From.Commit == "" {
		if p.All != nil {
			return nil, "", nil
		}
		return nil, "", diag.New(diag.ConfigError, "making a working copy: the copy %s, which it begins with, has no git repository", p.From.ID).WithReason("no_repository")
	}
	g, err := gitcmd.New(gitcmd.Params{Dir: p.Project, Environ: p.Environ})
	if err != nil && p.All != nil {
		return nil, "", nil // git is not installed
	}
	if err != nil {
		return nil, "", err
	}
	repo, err := g.Repo(ctx)
	missing := diag.CodeOf(err) == diag.SourceNotFound || err == nil && repo.WorkTree == ""
	switch {
	case missing && p.All != nil:
		return nil, "", nil
	case missing:
		return nil, "", diag.New(diag.ConfigError, "making a working copy: %s is not in a git repository", p.Project).WithReason("no_repository")
	case err != nil:
		return nil, "", err
	case p.From != nil:
		return repo, p.From.Commit, nil
	}
	commit, err := repo.Commit(ctx, "HEAD")
	switch {
	case err != nil && p.All != nil && ctx.Err() == nil:
		return nil, "", nil
	case err != nil:
		return nil, "", diag.New(diag.ConfigError, "making a working copy: the repository of %s has no commit", p.Project).WithReason("no_commit")
	}
	return repo, commit, nil
}

// Create makes a working copy. A copy exists whole or not at all.
func Create(ctx context.Context, p Params) (*Copy, error) {
	repo, commit, err := located(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &Copy{
		ID:      p.ID,
		Project: p.Project,
		Commit:  commit,
		All:     p.All != nil,
		Created: p.Now.UTC().Format(time.RFC3339Nano),
	}
	if repo != nil {
		c.Prefix = repo.Prefix
		if c.Objects, err = objectsOf(repo); err != nil {
			return nil, err
		}
	}
	from := p.Project
	if p.From != nil {
		c.From, from = p.From.ID, p.From.Dir()
	}
	if p.All != nil {
		err := p.All.measure(ctx, from, p.Dir)
		if err != nil {
			return nil, err
		}
	}
	c.dir = filepath.Join(p.Dir, unfinished+p.ID)
	Sweep(p.Dir, p.Now)
	base := atomicfile.Private(c.dir)
	err = errors.Join(base.RemoveAll(treeDir), base.MkdirAll(treeDir), base.MkdirAll(baseDir))
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "making a working copy: %w", err)
	}
	mark := rand.Text()
	err = base.Create(markFile, []byte(mark), 0o600)
	switch {
	case err != nil:
	case p.All != nil:
		err = c.fillAll(ctx, repo, from, p)
	default:
		err = c.fill(ctx, repo, p)
	}
	if err == nil {
		err = c.recordFiles(ctx)
	}
	if err == nil {
		err = c.stillMarked(mark)
	}
	if err != nil {
		return nil, errors.Join(err, openat.RemoveAll(c.dir))
	}
	final := filepath.Join(p.Dir, p.ID)
	if err := os.Rename(c.dir, final); err != nil {
		return nil, errors.Join(
			diag.New(diag.FileSystemError, "making a working copy: %w", err),
			os.RemoveAll(c.dir),
		)
	}
	c.dir = final
	return c, nil
}

// stillMarked returns an error if another process took the directory that the copy is made
// in for one that a stopped process left, and removed it: files would be missing.
func (c *Copy) stillMarked(mark string) error {
	at := filepath.Join(c.dir, markFile)
	b, err := openat.ReadRegular(at, openat.MaxText)
	if err != nil || string(b) != mark {
		return diag.New(diag.FileSystemError, "making a working copy: another process removed it, as more than an hour passed: start the thread again")
	}
	return os.Remove(at)
}

// objectsOf returns the directory of the objects of a repository, without links. Tools may
// write there, and read there from a copy: it must not be a link to another directory.
func objectsOf(repo *gitcmd.Repo) (string, error) {
	common, err := filepath.EvalSymlinks(repo.CommonDir)
	if err != nil {
		return "", diag.New(diag.FileSystemError, "making a working copy: %w", err)
	}
	dir := filepath.Join(common, "objects")
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() {
		return "", diag.New(diag.PathEscape, "making a working copy: %s is not a directory: git reads the objects of the repository there", dir).WithReason("objects_link")
	}
	return dir, nil
}

// fill writes the files of a commit into the copy.
func (c *Copy) fill(ctx context.Context, repo *gitcmd.Repo, p Params) error {
	g, err := repo.CopyTo(
		ctx,
		filepath.Join(c.dir, treeDir),
		"rye/"+p.ID,
		c.Commit,
		true,
	)
	if err != nil {
		return err
	}
	if err := c.enter(false); err != nil {
		return err
	}
	message := ""
	switch {
	case p.From != nil:
		message = "Changes of the thread " + p.From.ID
		err = c.begin(ctx, p.From.Dir(), nil)
	case p.Carry:
		message = "Uncommitted changes of the project"
		var paths []string
		if paths, err = repo.Changed(ctx, c.Commit); err == nil {
			err = c.begin(ctx, p.Project, append(paths, ""))
		}
	}
	if err == nil && message != "" {
		err = g.CommitAll(ctx, "rye", "rye@localhost", message)
	}
	if err != nil {
		return err
	}
	c.Modules, err = c.submodules(ctx, repo.Git)
	return err
}

// enter makes the directory of the project in a copy of the repository around it, empty if it
// must be. The commit can have a link in the place of a directory above the project: followed,
// it would lead to files of the person.
func (c *Copy) enter(empty bool) error {
	root, err := os.OpenRoot(filepath.Join(c.dir, treeDir))
	if err != nil {
		return diag.New(diag.FileSystemError, "making a working copy: %w", err)
	}
	defer root.Close()
	dir := strings.TrimSuffix(c.Prefix, "/")
	for i := range len(dir) + 1 {
		if err != nil || dir == "" || i < len(dir) && dir[i] != '/' {
			continue
		}
		fi, serr := root.Lstat(dir[:i])
		if serr == nil && !fi.IsDir() {
			err = root.Remove(dir[:i])
		}
	}
	if err == nil && empty && dir != "" {
		err = root.RemoveAll(dir)
	}
	if err == nil && dir != "" {
		err = root.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return diag.New(diag.FileSystemError, "making a working copy: %w", err)
	}
	return nil
}

// recordFiles writes the record of the copy, with the files that it has.
func (c *Copy) recordFiles(ctx context.Context) (err error) {
	if c.Files, err = list(ctx, c.Dir(), nil); err != nil {
		return err
	}
	record := *c
	record.Files = renamed(c.Files, packed)
	b, err := json.Marshal(&record)
	if err != nil {
		return diag.New(diag.Internal, "recording a working copy: %w", err)
	}
	if len(b) > maxRecord { // Open would refuse it, and no gc would find the copy
		return diag.New(diag.TooLarge, "recording a working copy: the names of its files have more than %d bytes", maxRecord)
	}
	return atomicfile.Private(c.dir).Write(recordFile, b, 0o600)
}

// submodules returns the paths of the submodules of the project.
func (c *Copy) submodules(ctx context.Context, g *gitcmd.Git) ([]string, error) {
	entries, err := g.Tree(ctx, c.Commit, strings.TrimSuffix(c.Prefix, "/"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		rel, below := strings.CutPrefix(e.Path, c.Prefix)
		if below && e.Mode == gitcmd.ModeSubmodule {
			out = append(out, rel)
		}
	}
	return out, nil
}

// begin gives the copy the state of another directory: of some paths, or of all with nil.
// It keeps the contents that the commit does not have: apply merges with them.
func (c *Copy) begin(ctx context.Context, from string, paths []string) error {
	if paths == nil {
		files, err := list(ctx, c.Dir(), nil)
		if err != nil {
			return err
		}
		other, err := list(ctx, from, nil)
		if err != nil {
			return err
		}
		for _, ch := range compare(files, other) {
			paths = append(paths, ch.Path)
		}
	}
	to, err := os.OpenRoot(c.Dir())
	if err != nil {
		return diag.New(diag.FileSystemError, "making a working copy: %w", err)
	}
	defer to.Close()
	src, err := os.OpenRoot(from)
	if err != nil {
		return diag.New(diag.FileSystemError, "making a working copy: %w", err)
	}
	defer src.Close()
	for _, rel := range paths {
		if rel == "" {
			continue
		}
		f, data, err := read(src, rel)
		switch {
		case f.Kind == Folder: // a directory is where the file was
			f = File{}
		case f.Kind == Large:
			err = diag.New(diag.TooLarge, "it has more than %d bytes", maxFile)
		}
		if err == nil {
			err = write(to, rel, f, data)
		}
		if err == nil && f.Kind == Regular {
			err = atomicfile.Private(c.dir).Replace(
				path.Join(baseDir, f.Digest),
				data,
				0o600,
			)
		}
		if err != nil {
			return diag.New(diag.FileSystemError, "making a working copy: %s: %w", rel, err)
		}
	}
	return nil
}

// Sweep removes files of copies in a directory that a stopped process was making, and the
// rest of those that it was removing.
func Sweep(dir string, now time.Time) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		fi, err := e.Info()
		at := filepath.Join(dir, e.Name())
		if err == nil &&
			strings.HasPrefix(e.Name(), unfinished) &&
			now.Sub(fi.ModTime()) > time.Hour {
			gone := filepath.Join(dir, dropped+e.Name()) // as a whole: its maker may be slow
			_ = errors.Join(
				openat.RemoveAll(gone),
				os.Rename(at, gone),
				openat.RemoveAll(gone),
			)
		} else if strings.HasPrefix(e.Name(), dropped) {
			_ = openat.RemoveAll(at)
		}
	}
}

// Drop removes the copy. It is moved away as a whole first: files that a stopped process did
// not remove are removed by a later call.
func (c *Copy) Drop(ctx context.Context) error {
	l, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer l.Release()
	if err := c.finish(); err != nil {
		return err
	}
	gone := filepath.Join(filepath.Dir(c.dir), dropped+c.ID)
	err = errors.Join(openat.RemoveAll(gone), os.Rename(c.dir, gone))
	if err != nil {
		return diag.New(diag.FileSystemError, "removing a working copy: %w", err)
	}
	if err := openat.RemoveAll(gone); err != nil {
		return diag.New(diag.FileSystemError, "removing a working copy: %w", err)
	}
	return nil
}

// lock keeps other processes from applying and dropping copies.
func (c *Copy) lock(ctx context.Context) (*filelock.Lock, error) {
	return atomicfile.Private(filepath.Dir(c.dir)).LockWithin(ctx, lockFile, 10*time.Second)
}
