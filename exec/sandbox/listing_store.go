package sandbox

import (
	"encoding/binary"
	"time"
)

// Store keeps Listings between processes. Load must return only what Save got from this
// program and account: a listing that another program wrote could hide a file.
type Store interface {
	Load() []byte // nil if nothing was saved, or if it is not authentic
	Save([]byte)
}

// Stored returns Listings that know the directories which earlier processes read. They are used
// and saved only on file systems on disks: elsewhere another directory can get the numbers
// and the time of one that is gone.
func Stored(s Store) *Listings {
	return &Listings{store: s}
}

const (
	storedMark = "rye listings 2\n"

	// minUnsaved is how many directories must have been listed before they are saved: a
	// search that lists fewer is fast.
	minUnsaved = 64

	// listingSize is about the size of a stored listing.
	listingSize = 128
)

// load reads the store once. The caller holds l.mu.
func (l *Listings) load(now time.Time) {
	if l.store == nil || l.loaded {
		return
	}
	l.loaded = true
	if b := l.store.Load(); b != nil {
		l.stored = parseListings(b, now)
	}
}

// save saves what was read in this process if that is worth it.
func (l *Listings) save(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store == nil || l.unsaved < minUnsaved {
		return
	}
	l.unsaved = 0
	l.store.Save(l.appendLasting(nil, now))
}

// appendLasting encodes the listings of file systems on disks.
func (l *Listings) appendLasting(b []byte, now time.Time) []byte {
	b = binary.AppendVarint(append(b, storedMark...), now.UnixNano())
	for key, has := range l.dirs {
		if !l.lasting[has.at.device] {
			continue
		}
		b = appendFlag(appendFlag(appendText(b, key.dir), key.all), key.unlinked)
		b = binary.AppendUvarint(binary.AppendUvarint(b, has.at.device), has.at.inode)
		b = binary.AppendVarint(
			binary.AppendVarint(b, has.at.changed.Unix()),
			int64(has.at.changed.Nanosecond()),
		)
		b = binary.AppendUvarint(
			binary.AppendUvarint(b, uint64(has.count)),
			uint64(len(has.entries)),
		)
		for _, e := range has.entries {
			b = appendFlag(appendText(b, e.name), e.isDir)
		}
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendFlag(b []byte, set bool) []byte {
	if set {
		return append(b, 1)
	}
	return append(b, 0)
}

// parseListings returns nothing of a text that is not complete, or that was saved later
// than now: after the clock was put back, two changes can have one time.
func parseListings(b []byte, now time.Time) map[listingKey]listing {
	if len(b) < len(storedMark) || string(b[:len(storedMark)]) != storedMark {
		return nil
	}
	r := &reader{text: string(b[len(storedMark):])} // the names share its memory
	saved := r.signed()
	if r.failed || saved > now.UnixNano() {
		return nil
	}
	out := make(map[listingKey]listing, len(b)/listingSize)
	for len(r.text) > 0 && len(out) < maxListings {
		key := listingKey{r.name(), r.flag(), r.flag()}
		l := listing{settled: true}
		l.at.device, l.at.inode = r.unsigned(), r.unsigned()
		seconds := r.signed()
		part := r.signed()
		l.at.changed = time.Unix(seconds, part)
		l.count = int(r.unsigned())
		n := r.unsigned()
		if n > 0 {
			l.entries = make([]entry, 0, min(n, uint64(len(r.text)))) // an entry has a byte at least
		}
		for ; n > 0 && !r.failed; n-- {
			l.entries = append(l.entries, entry{r.name(), r.flag()})
		}
		if r.failed {
			return nil
		}
		out[key] = l
	}
	return out
}

// reader decodes numbers and texts. After a failure it returns zeros.
type reader struct {
	text   string
	failed bool
}

func (r *reader) take(n int) string {
	if n < 0 || n > len(r.text) {
		r.failed = true
		return ""
	}
	out := r.text[:n]
	r.text = r.text[n:]
	return out
}

// unsigned reads a number as binary.AppendUvarint writes it.
func (r *reader) unsigned() (v uint64) {
	for i := 0; i < len(r.text) && i < binary.MaxVarintLen64; i++ {
		c := r.text[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.text = r.text[i+1:]
			return v
		}
	}
	r.failed = true
	return 0
}

func (r *reader) signed() int64 {
	v := r.unsigned()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *reader) name() string {
	return r.take(int(min(r.unsigned(), 1<<20)))
}

func (r *reader) flag() bool {
	return r.take(1) == "\x01"
}
