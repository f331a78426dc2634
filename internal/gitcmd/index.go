package gitcmd

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/openat"
)

// Indexed lists the files of the index at or below some paths relative to the top, in
// the byte order of their paths; "" lists all. An entry that is not merged has mode 0.
// Entries that are only intended to be added are left out.
//
// It reads the file itself: for a large index, git and the pipe from it need five times
// as long. What it does not know (a split or sparse index, entries that are not merged,
// an extension that may change the list, a file that is damaged) is left to git.
func (r *Repo) Indexed(ctx context.Context, paths ...string) ([]Entry, error) {
	if wanted, ok := literal(paths); ok {
		b, err := openat.ReadRegular(r.Index(), maxIndex)
		if err == nil {
			list, ok := parseIndex(b, r.hash().Size(), wanted)
			if ok {
				return list, nil
			}
		}
	}
	list, err := r.Staged(ctx, r.EmptyTree(), paths...)
	entries := make([]Entry, len(list))
	for i, c := range list {
		entries[i] = c.Entry
	}
	return entries, err
}

// literal returns the paths without "", which means everything. It reports whether git
// would take each as it is written.
func literal(paths []string) ([]string, bool) {
	wanted := withoutRoot(paths)
	for _, p := range wanted {
		if p == "." ||
			path.Clean(p) != p ||
			!filepath.IsLocal(filepath.FromSlash(p)) {
			return nil, false
		}
	}
	return wanted, true
}

// indexReader reads the entries of an index file one by one. The format is described in
// gitformat-index(5).
type indexReader struct {
	text    string // the whole file
	at      int    // of the next entry
	end     int    // of the entries and extensions
	hash    int    // the length of a name of an object
	version uint32
	name    string // of the last entry
}

// indexEntry is one entry.
type indexEntry struct {
	mode     uint32
	oid      string // binary
	name     string
	intended bool // only its name is in the index
}

const (
	indexHeader  = 12
	statLength   = 40 // before the name of the object: times, device, inode, mode, owner, size
	modeOffset   = 24
	maxNameField = 0xfff

	flagExtended = 0x4000
	flagStage    = 0x3000
	flagIntended = 0x2000 // of the extended flags
	flagsKnown   = 0x6000 // of the extended flags: intended, and skip-worktree
)

// parseIndex returns the entries at or below the wanted paths, all if there are none. ok
// is false for an index that only git can read, or that is not one.
func parseIndex(b []byte, hash int, wanted []string) (list []Entry, ok bool) {
	if len(b) < indexHeader+hash || string(b[:4]) != "DIRC" {
		return nil, false
	}
	r := &indexReader{
		text:    string(b),
		at:      indexHeader,
		end:     len(b) - hash,
		hash:    hash,
		version: binary.BigEndian.Uint32(b[4:]),
	}
	count := int(binary.BigEndian.Uint32(b[8:]))
	if r.version < 2 ||
		r.version > 4 ||
		count > len(b)/(statLength+hash) {
		return nil, false
	}
	list = make([]Entry, 0, count)
	names := make([]byte, 0, count*2*hash) // of objects
	for range count {
		e, ok := r.entry()
		if !ok {
			return nil, false
		}
		if !e.intended && isWanted(e.name, wanted) {
			list = append(list, Entry{Mode: e.mode, Path: e.name})
			names = hex.AppendEncode(names, []byte(e.oid))
		}
	}
	all := string(names)
	for i := range list {
		list[i].OID = all[i*2*hash : (i+1)*2*hash]
	}
	return list, r.optional()
}

// entry reads the next entry. ok is false for one that is not merged.
func (r *indexReader) entry() (e indexEntry, ok bool) {
	start := r.at
	fixed := statLength + r.hash + 2
	if r.end-start < fixed {
		return e, false
	}
	e.mode = r.uint32(start + modeOffset)
	e.oid = r.text[start+statLength : start+fixed-2]
	flags := r.uint16(start + fixed - 2)
	if flags&flagExtended != 0 {
		if r.version == 2 || r.end-start < fixed+2 {
			return e, false
		}
		extended := r.uint16(start + fixed)
		if extended&^flagsKnown != 0 { // git refuses the others
			return e, false
		}
		e.intended = extended&flagIntended != 0
		fixed += 2
	}
	switch e.mode {
	case ModeFile, ModeExecutable, ModeLink, ModeSubmodule:
	default:
		return e, false
	}
	r.at = start + fixed
	if r.version == 4 {
		ok = r.compressed(int(flags & maxNameField))
	} else {
		ok = r.padded(start, int(flags&maxNameField))
	}
	if !ok || flags&flagStage != 0 {
		return e, false
	}
	e.name = r.name
	return e, true
}

// padded reads a name and its padding: the length of an entry is a multiple of eight,
// with at least one NUL.
func (r *indexReader) padded(start, length int) bool {
	if length == maxNameField { // or more
		if length = strings.IndexByte(r.text[r.at:r.end], 0); length < maxNameField {
			return false
		}
	}
	name := r.at
	next := start + (r.at+length-start+8)&^7
	if next > r.end {
		return false
	}
	r.at = next
	return r.follows(r.text[name:name+length]) &&
		strings.Trim(r.text[name+length:next], "\x00") == ""
}

// compressed reads how many bytes of the last name are dropped, and what follows the rest.
// The name has the given length, from which git computes where the next entry begins.
func (r *indexReader) compressed(length int) bool {
	drop, ok := r.number()
	if !ok || drop > len(r.name) {
		return false
	}
	n := strings.IndexByte(r.text[r.at:r.end], 0)
	if n < 0 {
		return false
	}
	name := r.name[:len(r.name)-drop] + r.text[r.at:r.at+n]
	r.at += n + 1
	return (length == len(name) || length == maxNameField) && r.follows(name)
}

// number reads the kind of number that git uses for offsets in packs.
func (r *indexReader) number() (n int, ok bool) {
	for first := true; r.at < r.end && n < 1<<24; first = false {
		c := r.text[r.at]
		r.at++
		if !first {
			n++
		}
		n = n<<7 | int(c&0x7f)
		if c < 0x80 {
			return n, true
		}
	}
	return 0, false
}

// follows takes a name, which must be after the last one.
func (r *indexReader) follows(name string) bool {
	if name <= r.name || strings.IndexByte(name, 0) >= 0 {
		return false
	}
	r.name = name
	return true
}

// optional reports whether only extensions follow that change neither what git lists nor
// whether it reads the index. The extensions of a split or sparse index, of the file system
// monitor and of reading with several threads do; so may one that this program does not know.
func (r *indexReader) optional() bool {
	for r.at < r.end {
		if r.end-r.at < 8 {
			return false
		}
		name := r.text[r.at : r.at+4]
		size := int64(r.uint32(r.at + 4))
		if r.at += 8; size > int64(r.end-r.at) {
			return false
		}
		data := r.text[r.at : r.at+int(size)]
		switch r.at += int(size); name {
		case "REUC", "UNTR", "EOIE": // of what a merge resolved, of untracked files, and where the entries end
		case "TREE":
			if !r.isTree(data) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isTree reports whether the extension TREE is one as git writes it: each directory with the
// number of its entries (-1 if it changed since), the number of its directories and the name of
// its tree. git refuses an index with a directory twice. It sorts them by length first.
func (r *indexReader) isTree(data string) bool {
	var open []treeLevel // of the directories whose directories follow
	for first := true; first || len(open) > 0; first = false {
		name, rest, ok := strings.Cut(data, "\x00")
		counts, rest, hasLine := strings.Cut(rest, "\n")
		entries, dirs, hasBoth := strings.Cut(counts, " ")
		n, err := strconv.Atoi(dirs)
		count, bad := strconv.Atoi(entries)
		if !ok ||
			!hasLine ||
			!hasBoth ||
			err != nil ||
			bad != nil ||
			n < 0 ||
			first != (name == "") {
			return false
		} else if count >= 0 {
			if len(rest) < r.hash {
				return false
			}
			rest = rest[r.hash:]
		}
		if data = rest; !first {
			above := &open[len(open)-1]
			if len(name) < len(above.last) ||
				len(name) == len(above.last) && name <= above.last {
				return false
			}
			above.last = name
			above.left--
		}
		open = append(open, treeLevel{left: n})
		for len(open) > 0 && open[len(open)-1].left == 0 {
			open = open[:len(open)-1]
		}
	}
	return data == ""
}

// treeLevel is a directory of the extension TREE: how many of its directories are not read
// yet, and the last one that was.
type treeLevel struct {
	left int
	last string
}

func (r *indexReader) uint16(at int) uint16 {
	return uint16(r.text[at])<<8 | uint16(r.text[at+1])
}

func (r *indexReader) uint32(at int) uint32 {
	return uint32(r.uint16(at))<<16 | uint32(r.uint16(at+2))
}

// isWanted reports whether a name is one of the paths, or below one.
func isWanted(name string, paths []string) bool {
	for _, p := range paths {
		rest, ok := strings.CutPrefix(name, p)
		if ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return len(paths) == 0
}

// maxIndex bounds the index of a repository. An index of a million files has about 100 MB.
const maxIndex = 2 << 30
