package sandbox

import (
	"strings"
	"sync"
)

// walk is what a search below one .ai visited. If no directory of it has changed since, a
// search finds what it found.
type walk struct {
	dirs  []visited
	asked []asked
	count int  // of all entries
	open  bool // a directory can have changed without another stamp
}

// visited is a directory with the stamp that it had before it was listed.
type visited struct {
	dir string
	at  stamp
}

// asked is an entry about which the table of protected paths was asked, and whether the
// search continued below it.
type asked struct {
	at            string
	isDir, deeper bool
}

// walkKey is the directory in which the table begins, and the directory of the walk below it.
type walkKey struct{ root, rel string }

const (
	// maxWalks bounds the walks that are remembered.
	maxWalks = 64
	// fewDirs is the number of directories that one processor compares as fast as two.
	fewDirs = 128
)

// again repeats the last search at a key, and reports false if it must be made again.
func (g *guard) revisits(key walkKey) bool {
	w := g.seen.walk(key)
	if w == nil || w.count > g.left || !w.unchanged() {
		return false
	}
	was := g.out
	for _, a := range w.asked {
		if g.item(key.rel, a.at, a.isDir) != a.deeper { // another table
			g.out = was
			return false
		}
	}
	g.left -= w.count
	g.visited = append(g.visited, w.dirs...)
	return true
}

// add records that a directory was visited.
func (w *walk) add(dir string, found listing) {
	if w != nil {
		w.dirs = append(w.dirs, visited{dir, found.at})
		w.open = w.open || !found.settled
	}
}

// unchanged compares the stamps of all directories: the first one contains the others.
func (w *walk) unchanged() bool {
	if len(w.dirs) == 0 {
		return false
	}
	top := w.dirs[0].dir
	from, err := openStamps(top)
	if err != nil {
		return false
	}
	defer from.close()
	same := func(dirs []visited) bool {
		for _, v := range dirs {
			at, ok := from.stamp(strings.TrimPrefix(v.dir[len(top):], "/"))
			if !ok || at != v.at {
				return false
			}
		}
		return true
	}
	if len(w.dirs) <= fewDirs {
		return same(w.dirs)
	}
	var wg sync.WaitGroup
	half := len(w.dirs) / 2
	other := false
	wg.Go(func() {
		other = same(w.dirs[half:])
	})
	first := same(w.dirs[:half])
	wg.Wait()
	return first && other
}

// walk returns the last complete walk at a key, nil without one.
func (l *Listings) walk(key walkKey) *walk {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.walks[key]
}

// keep remembers a complete walk.
func (l *Listings) keep(key walkKey, w *walk) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.walks == nil || len(l.walks) >= maxWalks {
		l.walks = map[walkKey]*walk{}
	}
	l.walks[key] = w
}
