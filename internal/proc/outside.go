package proc

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"

	"github.com/ryeos/rye/internal/links"
)

// Outside is OutsidePath for the many programs of one process. It follows the links of a
// directory again when the path leads to another directory than before, or to one at all.
// Nil remembers nothing.
type Outside struct {
	mu   sync.Mutex
	root string // of the directories in seen
	seen map[string]examined
}

// examined is a directory of a PATH.
type examined struct {
	dir, root fs.FileInfo // where the paths led; dir is nil for one that does not exist
	outside   bool
}

// Path is OutsidePath(list, root).
func (o *Outside) Path(list, root string) string {
	if o == nil || root == "" || runtime.GOOS == "windows" { // files are not compared by a number there
		return OutsidePath(list, root)
	}
	at, err := os.Stat(root)
	if err != nil {
		return OutsidePath(list, root)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.root != root || o.seen == nil {
		o.root = root
		o.seen = map[string]examined{}
	}
	follow := links.Seen{}
	return filter(list, func(dir string) bool {
		return o.keeps(dir, at, follow)
	})
}

func (o *Outside) keeps(dir string, root fs.FileInfo, follow links.Seen) bool {
	info, known := stat(dir)
	e, ok := o.seen[dir]
	if ok && known && same(e.dir, info) && same(e.root, root) {
		return e.outside
	}
	out := outside(dir, []string{o.root}, follow)
	// A link that changed meanwhile must not leave a result about another directory.
	present, still := stat(dir)
	if known && still && same(present, info) {
		o.seen[dir] = examined{info, root, out}
	} else {
		delete(o.seen, dir)
	}
	return out
}

// stat returns nil for what does not exist. known is false after another error.
func stat(dir string) (info fs.FileInfo, known bool) {
	info, err := os.Stat(dir)
	if err != nil {
		info = nil
	}
	return info, err == nil || errors.Is(err, fs.ErrNotExist)
}

func same(a, b fs.FileInfo) bool {
	return a == nil && b == nil || a != nil && b != nil && os.SameFile(a, b)
}
