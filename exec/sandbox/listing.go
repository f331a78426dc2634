package sandbox

import (
	"sync"
	"time"
)

// Listings remembers which entries of directories can matter for the protected paths, so
// that a directory which has not changed is not listed again: after a run, and by a
// process that runs many programs, before the next one. The time of the last change of a
// directory is the kernel's, and no program can set it. Listings is used only on file
// systems that are known to keep this time (see stampOf). The zero value is empty.
//
// A listing is kept if the last change is 3 s old: file systems count in steps of up to 2 s. A
// program cannot set the change time. File servers and programs in user space may keep any time,
// so their directories are listed each time, and so are mount points.
type Listings struct {
	mu    sync.Mutex
	dirs  map[listingKey]listing
	walks map[walkKey]*walk
	young time.Duration // 0 is youngDir; tests set a shorter time

	store   Store // nil without
	loaded  bool
	stored  map[listingKey]listing // what the store had
	lasting map[uint64]bool        // devices whose listings may be stored
	unsaved int                    // directories that were listed since the last save
}

// listingKey is a directory and the entries that are kept: the entries of the table, all of
// them, or those that are not links.
type listingKey struct {
	dir           string
	all, unlinked bool
}

// listing is what a directory contained.
type listing struct {
	at      stamp
	settled bool // another change gives the directory another stamp
	count   int  // of all entries
	entries []entry
}

// entry is a name in a directory.
type entry struct {
	name  string
	isDir bool
}

const (
	// youngDir is the age that the last change of a directory must have before a listing
	// is remembered: file systems count in steps of up to two seconds, and a second change
	// in the same step is not visible.
	youngDir = 3 * time.Second
	// maxListings bounds the directories that are remembered.
	maxListings = 50_000
)

// read returns the entries of a directory for which keep reports true, and the number of
// all entries. device is the device of the directory in which the search began: other
// directories may be on a different file system.
func (l *Listings) read(
	dir location,
	all bool,
	device uint64,
	keep func(name string) bool,
) (listing, error) {
	key := listingKey{dir: dir.path, all: all}
	now := time.Now()
	at, ok := dir.stamp()
	if ok && device != 0 && at.device == device {
		if has, ok := l.remembered(key, at, now); ok {
			return has, nil
		}
	}
	at, found, err := dir.list()
	known := device != 0 && at.device == device
	out := listing{at: at, count: len(found)}
	for _, e := range found {
		if all || e.IsDir() || keep(e.Name()) {
			out.entries = append(out.entries, entry{e.Name(), e.IsDir()})
		}
	}
	if known && err == nil {
		l.settle(key, &out, now)
	}
	return out, err
}

// settle remembers a listing if another change gives its directory another stamp.
func (l *Listings) settle(key listingKey, found *listing, now time.Time) {
	young := l.young
	if young == 0 {
		young = youngDir
	}
	if !found.at.changed.Before(now.Add(-young)) {
		return
	}
	found.settled = true
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remember(key, *found)
	l.unsaved++
}

// remember keeps a listing. The caller holds l.mu.
func (l *Listings) remember(key listingKey, found listing) {
	if l.dirs == nil || len(l.dirs) >= maxListings {
		l.dirs = make(map[listingKey]listing, len(l.stored))
	}
	l.dirs[key] = found
}

// remembered returns the listing of a directory that has not changed.
func (l *Listings) remembered(key listingKey, at stamp, now time.Time) (listing, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if has, ok := l.dirs[key]; ok {
		return has, has.at == at
	}
	if !l.lasting[at.device] {
		return listing{}, false
	}
	l.load(now)
	has, ok := l.stored[key]
	if !ok || has.at != at {
		return listing{}, false
	}
	l.remember(key, has)
	return has, true
}

// onDisk states that a device is a disk.
func (l *Listings) onDisk(device uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lasting == nil {
		l.lasting = map[uint64]bool{}
	}
	l.lasting[device] = true
}
