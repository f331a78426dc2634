package verify

import (
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
)

// Limits of reading ahead. A walk reads files in order, and one request to git for
// many objects costs as much as a request for one.
const (
	aheadFiles = 256
	aheadBytes = 8 << 20
)

// GitFiles is the .ai directory of a revision or of the index, read from git
// objects. It opens no file of a work tree and is safe for concurrent use.
type GitFiles struct {
	entries []gitcmd.Entry // Path is below .ai, "." if .ai is not a directory
	at      map[string]int // path to index, of regular files
	folders map[string]bool
	others  map[string]bool // paths of links and submodules
	double  map[string]bool // paths that a broken tree contains twice

	// list returns the entries at paths next to .ai.
	list         func(names ...string) ([]gitcmd.Entry, error)
	projectFiles map[string]gitcmd.Entry // the project's files next to .ai, by name
	// changed reports whether the index was written since the entries were listed.
	changed func() bool

	batch *gitcmd.Batch
	owned bool  // Close ends the batch
	order []int // of reading ahead, regular files only
	mu    sync.Mutex
	ahead map[int][]byte // read ahead and not returned yet
}

// Revision opens the .ai folder of the project at prefix ("" or "a/b/") in a
// tree of a repository, which may be bare.
func Revision(ctx context.Context, git *gitcmd.Git, tree, prefix string) (*GitFiles, error) {
	return owning(ctx, git, func(batch *gitcmd.Batch) (*GitFiles, error) {
		return openGit(batch, prefix, func(names ...string) ([]gitcmd.Entry, error) {
			return git.Tree(ctx, tree, below(prefix, names)...)
		})
	})
}

// Index opens the .ai folder of the project at prefix in the index. Entries
// that are only intended to be added are not in it.
func Index(ctx context.Context, repo *gitcmd.Repo, prefix string) (*GitFiles, error) {
	return owning(ctx, repo.Git, func(batch *gitcmd.Batch) (*GitFiles, error) {
		return IndexOver(ctx, repo, prefix, batch)
	})
}

// IndexOver is Index with a Batch of the caller, who closes it after the last use of the
// files.
func IndexOver(
	ctx context.Context,
	repo *gitcmd.Repo,
	prefix string,
	batch *gitcmd.Batch,
) (*GitFiles, error) {
	before, missing := os.Stat(repo.Index())
	g, err := openGit(batch, prefix, func(names ...string) ([]gitcmd.Entry, error) {
		return repo.Indexed(ctx, below(prefix, names)...)
	})
	if err != nil {
		return nil, err
	}
	g.changed = func() bool { // git replaces the file to write it
		now, err := os.Stat(repo.Index())
		return missing != nil ||
			err != nil ||
			!os.SameFile(before, now) ||
			!before.ModTime().Equal(now.ModTime()) ||
			before.Size() != now.Size()
	}
	return g, nil
}

// below returns the paths of names in a directory: "" or "a/b/".
func below(prefix string, names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = prefix + name
	}
	return paths
}

// owning starts git cat-file before the files are opened, so that it is ready when the
// entries are listed, and ends it with them.
func owning(
	ctx context.Context,
	git *gitcmd.Git,
	open func(*gitcmd.Batch) (*GitFiles, error),
) (*GitFiles, error) {
	batch, err := git.Batch(ctx)
	if err != nil {
		return nil, err
	}
	g, err := open(batch)
	if err != nil {
		_ = batch.Close()
		return nil, err
	}
	g.owned = true
	return g, nil
}

func openGit(
	batch *gitcmd.Batch,
	prefix string,
	list func(names ...string) ([]gitcmd.Entry, error),
) (*GitFiles, error) {
	names := []string{lock.ProjectFileName, lock.LockFile, lock.SumFile}
	entries, err := list(append(names, space.Dir)...)
	if err != nil {
		return nil, err
	}
	files := map[string]gitcmd.Entry{}
	top := prefix + space.Dir
	entries = slices.DeleteFunc(entries, func(e gitcmd.Entry) bool {
		if e.Path == top || strings.HasPrefix(e.Path, top+"/") {
			return false
		}
		files[strings.TrimPrefix(e.Path, prefix)] = e
		return true
	})
	g := newGitFiles(entries, top)
	g.batch = batch
	g.list = list
	g.projectFiles = files
	return g, nil
}

// ReadSibling returns a file of the same tree next to .ai.
func (g *GitFiles) ReadSibling(name string, limit int64) (data []byte, executable bool, err error) {
	list, err := g.list(name)
	if err != nil {
		return nil, false, err
	}
	if len(list) != 1 || path.Base(list[0].Path) != name {
		return nil, false, &fs.PathError{Op: "reading", Path: name, Err: fs.ErrNotExist}
	}
	e := list[0]
	e.Path = name
	if _, err := g.fault(e); err != nil {
		return nil, false, err
	}
	readErr := g.batch.Read([]string{e.OID}, limit, func(_ int, o gitcmd.Object) {
		data, err = blob(name, o, limit)
	})
	if readErr != nil {
		err = readErr
	}
	return data, e.Mode == gitcmd.ModeExecutable, err
}

func newGitFiles(list []gitcmd.Entry, top string) *GitFiles {
	g := &GitFiles{
		entries: list,
		at:      make(map[string]int, len(list)),
		folders: map[string]bool{".": true},
		others:  map[string]bool{},
		double:  map[string]bool{},
		ahead:   map[int][]byte{},
		order:   make([]int, 0, len(list)),
	}
	last := "" // the directory of the last entry, which most entries share
	for i, e := range list {
		rel, below := strings.CutPrefix(e.Path, top+"/")
		if !below {
			rel = "."
		}
		list[i].Path = rel
		if _, twice := g.at[rel]; twice {
			g.double[rel] = true
		}
		if !e.IsFile() {
			g.others[rel] = true
		} else if below {
			g.at[rel] = i
			g.order = append(g.order, i)
		}
		end := max(strings.LastIndexByte(rel, '/'), 0)
		if rel[:end] != last {
			last = rel[:end]
			for dir := path.Dir(rel); !g.folders[dir]; dir = path.Dir(dir) {
				g.folders[dir] = true
			}
		}
	}
	return g
}

// Batch returns the git process that reads the objects. It can read others.
func (g *GitFiles) Batch() *gitcmd.Batch {
	return g.batch
}

// Only limits reading ahead to these files.
func (g *GitFiles) Only(rels []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.order = g.order[:0]
	for _, rel := range rels {
		if i, ok := g.at[rel]; ok {
			g.order = append(g.order, i)
		}
	}
	slices.Sort(g.order)
}

// Offer gives the data of blobs that the caller has read, by their names. Read returns
// the data of the files that Only lists, each once.
func (g *GitFiles) Offer(blobs map[string][]byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, i := range g.order {
		if b, ok := blobs[g.entries[i].OID]; ok {
			g.ahead[i] = b
		}
	}
}

// Close stops the git process, unless it is the caller's.
func (g *GitFiles) Close() error {
	if !g.owned {
		return nil
	}
	return g.batch.Close()
}

// Root returns the files as a root of the project space.
func (g *GitFiles) Root() *space.Root {
	return space.NewFiles(space.Project, g)
}

// Changed reports whether the entries may differ from those that git has now.
func (g *GitFiles) Changed() bool {
	return g.changed != nil && g.changed()
}

// ProjectFile returns the entry of rye.yaml, rye.lock or rye.sum next to .ai, the zero value
// if there is none.
func (g *GitFiles) ProjectFile(name string) gitcmd.Entry {
	return g.projectFiles[name]
}

// Empty reports whether the .ai directory does not exist.
func (g *GitFiles) Empty() bool {
	return len(g.entries) == 0
}

// Entry returns the entry of a regular file.
func (g *GitFiles) Entry(rel string) (gitcmd.Entry, bool) {
	i, ok := g.at[rel]
	if !ok {
		return gitcmd.Entry{}, false
	}
	return g.entries[i], true
}

// Exists implements space.Files.
func (g *GitFiles) Exists(rel string) bool {
	_, file := g.at[rel]
	return file || g.folders[rel] || g.others[rel]
}

// Walk implements space.Files.
func (g *GitFiles) Walk(rel string, fn func(space.Entry) error) error {
	for _, e := range g.below(rel) {
		entry := space.Entry{Rel: e.Path}
		entry.Type, entry.Err = g.fault(e)
		if err := fn(entry); err != nil {
			return err
		}
	}
	return nil
}

// below returns the entries at or below a directory. Entries in the directory are
// contiguous; names such as "a.b" may sort between "a" and "a/".
func (g *GitFiles) below(rel string) []gitcmd.Entry {
	if rel == "." {
		return g.entries
	}
	byPath := func(e gitcmd.Entry, p string) int {
		return strings.Compare(e.Path, p)
	}
	from, _ := slices.BinarySearchFunc(g.entries, rel+"/", byPath)
	to := from
	for to < len(g.entries) && strings.HasPrefix(g.entries[to].Path, rel+"/") {
		to++
	}
	if i, ok := slices.BinarySearchFunc(g.entries, rel, byPath); ok {
		return append([]gitcmd.Entry{g.entries[i]}, g.entries[from:to]...)
	}
	return g.entries[from:to]
}

// fault returns the error for an entry that rye does not read: a git tree can
// contain entries that a work tree may not.
func (g *GitFiles) fault(e gitcmd.Entry) (fs.FileMode, error) {
	switch {
	case e.Mode == gitcmd.ModeLink:
		return fs.ModeSymlink, diag.New(diag.PathEscape, "reading %s: it is a symbolic link", e.Path)
	case e.Mode == gitcmd.ModeSubmodule:
		return fs.ModeIrregular, diag.New(diag.NotRegular, "reading %s: it is a submodule", e.Path)
	case e.Mode == 0:
		return fs.ModeIrregular, diag.New(diag.NotRegular, "reading %s: it is not merged", e.Path)
	case !e.IsFile() || e.Path == ".":
		return fs.ModeIrregular, diag.New(diag.NotRegular, "reading %s: it is not a regular file", e.Path)
	case g.double[e.Path]:
		return 0, diag.New(diag.AmbiguousItem, "reading %s: the tree contains it twice", e.Path)
	}
	return 0, openat.CheckRel(e.Path)
}

// Executable implements space.Files.
func (g *GitFiles) Executable(rel string) bool {
	e, ok := g.Entry(rel)
	return ok && e.Mode == gitcmd.ModeExecutable
}

// Read implements space.Files.
func (g *GitFiles) Read(rel string, limit int64) ([]byte, error) {
	i, ok := g.at[rel]
	if !ok {
		return nil, &fs.PathError{Op: "reading", Path: rel, Err: fs.ErrNotExist}
	}
	_, err := g.fault(g.entries[i])
	if err != nil {
		return nil, err
	}
	b, err := g.object(i, limit)
	if err == nil && int64(len(b)) > limit {
		err = tooLarge(rel, int64(len(b)), limit)
	}
	return b, err
}

func tooLarge(rel string, size, limit int64) error {
	return diag.New(diag.TooLarge, "reading %s: it has %d bytes, at most %d are allowed", rel, size, limit)
}

// object returns the bytes of entry i and reads the following entries ahead.
func (g *GitFiles) object(i int, limit int64) (data []byte, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b, ok := g.ahead[i]; ok {
		delete(g.ahead, i)
		return b, nil
	}
	if len(g.ahead) > 4*aheadFiles { // the walk skipped them
		clear(g.ahead)
	}
	which := g.next(i)
	oids := make([]string, len(which))
	for k, j := range which {
		oids[k] = g.entries[j].OID
	}
	budget := int64(aheadBytes)
	readErr := g.batch.Read(oids, limit, func(k int, o gitcmd.Object) {
		switch {
		case k == 0:
			data, err = blob(g.entries[i].Path, o, limit)
		case o.Data != nil && o.Size <= budget:
			g.ahead[which[k]] = o.Data
			budget -= o.Size
		}
	})
	if readErr != nil {
		return nil, readErr
	}
	return data, err
}

// next returns i and the indexes after it to read ahead.
func (g *GitFiles) next(i int) []int {
	which := []int{i}
	from, _ := slices.BinarySearch(g.order, i+1)
	for _, j := range g.order[from:] {
		if _, read := g.ahead[j]; !read {
			which = append(which, j)
		}
		if len(which) == aheadFiles {
			break
		}
	}
	return which
}

func blob(rel string, o gitcmd.Object, limit int64) ([]byte, error) {
	switch {
	case o.Kind == "missing":
		return nil, diag.New(diag.FileSystemError, "reading %s: the repository lacks object %s", rel, o.OID).WithReason("no_object")
	case o.Kind != "blob":
		return nil, diag.New(diag.NotRegular, "reading %s: object %s is a %s, not a file", rel, o.OID, o.Kind)
	case o.Size > limit:
		return nil, tooLarge(rel, o.Size, limit)
	}
	return o.Data, nil
}
