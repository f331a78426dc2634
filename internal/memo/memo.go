// Package memo remembers facts between processes: that a signature is valid, that the
// content of a file has no findings. A fact is the digest of everything that it depends
// on, so that it is true permanently. Trust and permissions are never facts.
//
// The memo is a table of keyed hashes. Its file needs no trust: a fact can be
// added only with the secret, and bytes that changed are facts that are not known. It
// does not decide which facts are worth it, and it never returns an error: without a
// memo everything is computed again.
package memo

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
)

// Kind separates facts about different questions.
type Kind byte

// The kinds. A number is not used again for another question.
const (
	Signature Kind = 1 // the digest of a statement and its signature: it is valid
	Plain     Kind = 2 // the digest of an item and its reader: nothing was found in it
	Chain     Kind = 3 // the digest of the elements of a chain: it is complete
	File      Kind = 4 // the digest of a file and what it is: its signature line is valid
	Listings  Kind = 5 // the digest of a file of listings: this program wrote it
	Key       Kind = 6 // the digest of a public key: it is a sound point
	Requests  Kind = 7 // the digest of the files of a bundle and a list: it is what they request
	Settings  Kind = 8 // the digest of what git answered about its settings: this program wrote it
)

// The table is an array of buckets, 4 MiB in all. A tag is only in its bucket, and a full
// bucket loses one of its tags: the memo has 262,144 facts at most, about 100,000 files.
const (
	tagSize    = 16
	bucketSize = 8 * tagSize
	pageSize   = 4096 // what is read and written to add a fact
	pages      = 1024
	tableSize  = pages * pageSize
	buckets    = tableSize / bucketSize

	// manyLookups in a batch cost more than reading the whole table.
	manyLookups = 4096

	// maxPending is how many facts wait in memory to be written together.
	maxPending = 1 << 16

	tableName = "facts"
)

type tag [tagSize]byte

type fact struct {
	kind   Kind
	digest [sha256.Size]byte
}

// Memo is the memo of one user account. It is safe for concurrent use. A nil Memo knows
// nothing and remembers nothing.
// An entry is the MAC of a fact, so a reader of the table learns nothing, and a changed entry
// differs from the digest of each fact.
type Memo struct {
	dir  string
	rand io.Reader

	mu      sync.Mutex
	opened  bool
	refused error
	file    *os.File   // nil: the table cannot be used
	macs    *sync.Pool // of hash.Hash with the secret; nil before there is one
	table   []byte     // the whole table as it was during a batch, or nil
	batch   bool
	lookups int // of the batch
	pending []fact

	readOnly bool // the table cannot be written
}

// New returns the memo in a directory of the user, which it creates when it first
// remembers a fact. It opens nothing before it is asked.
func New(dir string) *Memo {
	return &Memo{dir: dir, rand: rand.Reader}
}

// Known reports whether the fact was added before. False states nothing.
func (m *Memo) Known(k Kind, digest [sha256.Size]byte) bool {
	if m == nil {
		return false
	}
	file, macs, table := m.reading()
	if macs == nil || file == nil {
		return false
	}
	t := tagOf(macs, fact{k, digest})
	at := t.bucket() * bucketSize
	var b [bucketSize]byte
	if table != nil {
		copy(b[:], table[at:])
	} else if n, _ := file.ReadAt(b[:], int64(at)); n < bucketSize {
		clear(b[n:])
	}
	return slot(b[:], t) >= 0
}

// Add remembers a fact. The caller must have computed it.
func (m *Memo) Add(k Kind, digest [sha256.Size]byte) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending = append(m.pending, fact{k, digest})
	if !m.batch || len(m.pending) >= maxPending {
		m.flush()
	}
}

// Batch prepares for many facts: the table is read once if it is asked often, and what
// is added is written by the returned function.
func (m *Memo) Batch() (end func()) {
	if m == nil {
		return func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.batch = true
	m.lookups = 0
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.flush()
		m.batch = false
		m.table = nil
	}
}

// Close closes the table until the next question: Windows removes no directory that has
// an open file.
func (m *Memo) Close() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file != nil {
		_ = m.file.Close() // every fact is written at once
	}
	m.file = nil
	m.macs = nil
	m.refused = nil
	m.opened = false
	m.readOnly = false
}

// Refused returns why the memo is not used although it exists, or nil.
func (m *Memo) Refused() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open()
	return m.refused
}

// reading returns the open file, the pool of buffers and the secret for a lookup.
func (m *Memo) reading() (*os.File, *sync.Pool, []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open()
	if m.lookups++; m.batch && m.lookups == manyLookups && m.file != nil {
		m.table = make([]byte, tableSize)
		// What cannot be read is zero: these facts are not known.
		_, _ = m.file.ReadAt(m.table, 0)
	}
	return m.file, m.macs, m.table
}

// open opens what exists, once.
func (m *Memo) open() {
	if m.opened {
		return
	}
	m.opened = true
	dir, err := openat.OpenFolder(m.dir)
	if err != nil {
		return // nothing was remembered yet
	}
	defer dir.Close()
	secret, err := readSecret(dir)
	if err != nil {
		m.refused = err
		return
	}
	if secret == nil {
		return
	}
	m.use(secret)
	file, err := dir.OpenFile(tableName, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		file, err = dir.OpenFile(tableName, os.O_RDONLY, 0)
		m.readOnly = err == nil
	}
	if err != nil {
		return // another process has not written it yet, or it cannot be used
	}
	m.file = file
}

// use sets the secret.
func (m *Memo) use(secret []byte) {
	m.macs = &sync.Pool{New: func() any {
		return hmac.New(sha256.New, secret)
	}}
}

// flush writes the pending facts. The caller holds m.mu.
func (m *Memo) flush() {
	pending := m.pending
	m.pending = nil
	if len(pending) == 0 || !m.writable() {
		return
	}
	tags := make([]tag, len(pending))
	for i, f := range pending {
		tags[i] = tagOf(m.macs, f)
	}
	slices.SortFunc(tags, func(a, b tag) int {
		return a.bucket() - b.bucket()
	})
	for len(tags) > 0 {
		page := tags[0].page()
		n := 1
		for n < len(tags) && tags[n].page() == page {
			n++
		}
		if m.writePage(page, tags[:n]) != nil {
			return // a full disk, for example: the facts will be computed again
		}
		tags = tags[n:]
	}
}

// writable creates what is missing and reports whether facts can be written.
func (m *Memo) writable() bool {
	m.open()
	if m.refused != nil || m.readOnly {
		return false
	}
	if m.macs == nil {
		secret, err := makeSecret(m.dir, m.rand)
		if err != nil {
			m.refused = err
			return false
		}
		m.use(secret)
	}
	if m.file == nil {
		f, err := atomicfile.Private(m.dir).OpenFile(tableName, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			m.refused = err
			return false
		}
		m.file = f
	}
	return true
}

// writePage adds tags to one page. Another process may write the page at the same time:
// then tags of one of them are lost. A page of which a crash wrote a part has tags that
// equal none.
func (m *Memo) writePage(page int, tags []tag) error {
	var b [pageSize]byte
	at := int64(page) * pageSize
	n, _ := m.file.ReadAt(b[:], at)
	if n < pageSize {
		clear(b[n:])
	}
	for _, t := range tags {
		from := t.bucket()*bucketSize - int(at)
		insert(b[from:from+bucketSize], t)
	}
	_, err := m.file.WriteAt(b[:], at)
	return err
}

// insert adds a tag to a bucket. In a full one it replaces a tag that its own bytes
// choose, so that damaged tags do not stay.
func insert(bucket []byte, t tag) {
	if slot(bucket, t) >= 0 {
		return
	}
	at := slot(bucket, tag{})
	if at < 0 {
		at = int(t[tagSize-1]) % (bucketSize / tagSize)
	}
	copy(bucket[at*tagSize:], t[:])
}

// slot returns the position of a tag in a bucket, -1 if it is not there.
func slot(bucket []byte, t tag) int {
	for i := range bucketSize / tagSize {
		if tag(bucket[i*tagSize:]) == t {
			return i
		}
	}
	return -1
}

func (t tag) bucket() int {
	return int(binary.LittleEndian.Uint32(t[:]) % buckets)
}

func (t tag) page() int {
	return t.bucket() * bucketSize / pageSize
}

// tagOf returns the keyed hash of a fact. It is never the tag of an empty slot.
func tagOf(macs *sync.Pool, f fact) tag {
	h := macs.Get().(hash.Hash)
	defer macs.Put(h)
	h.Reset()
	var in [1 + sha256.Size]byte
	in[0] = byte(f.kind)
	copy(in[1:], f.digest[:])
	h.Write(in[:])
	var out [sha256.Size]byte
	t := tag(h.Sum(out[:0]))
	if t == (tag{}) {
		t[0] = 1
	}
	return t
}
