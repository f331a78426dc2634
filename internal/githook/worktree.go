package githook

import (
	"bytes"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// folder is a directory of the work tree with files that rye may replace: the .ai
// of a project, or the directory of its lock.
type folder struct {
	root *space.Root // nil for the directory of a lock
	dir  string
}

// tree is the work tree of a repository. It opens the directory of each project once.
type tree struct {
	repo  *gitcmd.Repo
	mu    sync.Mutex
	roots map[string]*space.Root // by prefix
}

func newTree(repo *gitcmd.Repo) *tree {
	return &tree{repo: repo, roots: map[string]*space.Root{}}
}

// locate divides a path below the work tree into a folder and a path in it.
func (t *tree) locate(path string) (folder, string) {
	if prefix, rel, ok := projectOf(path); ok {
		return folder{root: t.root(prefix)}, rel
	}
	file := filepath.Join(t.repo.WorkTree, filepath.FromSlash(path))
	return folder{dir: filepath.Dir(file)}, filepath.Base(file)
}

func (t *tree) root(prefix string) *space.Root {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.roots[prefix]
	if r == nil {
		r = space.NewDir(
			space.Project,
			"",
			filepath.Join(t.repo.WorkTree, filepath.FromSlash(prefix)),
			false,
		)
		t.roots[prefix] = r
	}
	return r
}

// projectOf returns the project of a path below the work tree, "" or "a/b/", and
// what follows its .ai. An installed bundle belongs to the project that contains it.
func projectOf(path string) (prefix, rel string, ok bool) {
	prefix, rel, ok = strings.Cut("/"+path, "/"+space.Dir+"/")
	if !ok {
		prefix, ok = strings.CutSuffix("/"+path, "/"+space.Dir) // .ai itself is a file or a link
	}
	if prefix = strings.TrimPrefix(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return prefix, rel, ok
}

func (f folder) read(rel string) ([]byte, error) {
	if f.root != nil {
		return f.root.Read(rel, resolve.MaxItem)
	}
	b, _, err := openat.Read(f.dir, rel, lock.MaxLock)
	return b, err
}

// put replaces a file without waiting for the disk: git has the content, too.
func (f folder) put(rel string, b []byte) error {
	if f.root != nil {
		return f.root.Replace(rel, b)
	}
	return atomicfile.Project(f.dir).Replace(rel, b, 0)
}

// blob returns the name of the blob with the bytes of a file, "" if the file does not
// exist. known is false for a link and for a file that cannot be read.
func (t *tree) blob(f folder, rel string) (name string, known bool) {
	return t.blobOf(f, rel, change{})
}

// blobOf is blob for a file that may be as it was before a change. Large files are compared
// faster than they are named.
func (t *tree) blobOf(f folder, rel string, c change) (name string, known bool) {
	b, err := f.read(rel)
	switch {
	case space.IsMissing(err):
		return "", true
	case err != nil:
		return "", false
	case c.old != nil && bytes.Equal(b, c.old):
		return c.was, true
	}
	return t.repo.BlobName(b), true
}

// inParallel calls do for 0 to n-1, with several calls at a time.
func inParallel(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, workers) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
