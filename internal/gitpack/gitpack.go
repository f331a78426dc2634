// Package gitpack reads the objects of git repositories: it indexes packs that a
// remote sent, and returns objects of packs and loose files.
//
// It expects every byte to be hostile. Each size is compared with a limit before
// memory is allocated for it, and the work of one index or one store is bounded. It
// does not compare objects of a store with their names, which its callers do.
//
// go-git's index of a pack allocates what the header states, and reads every object whole: 1.7
// MB took 3 GB. Here every size is limited before it is allocated, so the decoder needs no
// process of its own.
package gitpack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrLimit is wrapped by the error for data beyond a limit.
var ErrLimit = errors.New("a limit is exceeded")

// ErrMissing is wrapped by the error for an object that a store does not have.
var ErrMissing = errors.New("the object is missing")

// ErrFormat is wrapped by the error for a store in a format that this package does
// not read.
var ErrFormat = errors.New("this format is not supported")

// ErrBroken is wrapped by the error for data that git never writes.
var ErrBroken = errors.New("the pack is damaged")

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBroken, fmt.Sprintf(format, args...))
}

// over is the error for data beyond a limit.
type over struct{ text string }

func (e *over) Error() string        { return e.text }
func (e *over) Is(target error) bool { return target == ErrLimit }

func beyond(format string, args ...any) error { return &over{fmt.Sprintf(format, args...)} }

// Limits of a pack.
const (
	// MaxObjects is the number of objects of one pack. The index of a pack takes 70
	// bytes of memory for each.
	MaxObjects = 1 << 20
	// MaxDepth is the number of deltas between an object and its base; git itself
	// writes at most 4,095.
	MaxDepth = 4095
	// maxBase is the size, in bytes, of objects that deltas may change or result in.
	// Larger objects are streamed, so only their names are known.
	maxBase = 64 << 20
	// maxWork is the number of bytes that all objects together may inflate to. A pack
	// of 1 MiB can inflate to 1 GiB, and deltas can multiply that again.
	maxWork = 16 << 30
	// cacheSize is the memory, in bytes, for the bases of deltas.
	cacheSize = 16 << 20
)

// Kind is the type of an object in a pack.
type Kind byte

// The kinds of objects.
const (
	Commit   Kind = 1
	Tree     Kind = 2
	Blob     Kind = 3
	Tag      Kind = 4
	ofsDelta Kind = 6
	refDelta Kind = 7
)

// String returns the name that git uses.
func (k Kind) String() string {
	switch k {
	case Commit:
		return "commit"
	case Tree:
		return "tree"
	case Blob:
		return "blob"
	case Tag:
		return "tag"
	}
	return fmt.Sprintf("object of type %d", byte(k))
}

func kindOf(word string) (Kind, bool) {
	for _, k := range []Kind{Commit, Tree, Blob, Tag} {
		if k.String() == word {
			return k, true
		}
	}
	return 0, false
}

// work counts the bytes that were inflated or produced by deltas.
type work struct{ left int64 }

func (w *work) add(n int64) error {
	if w.left -= n; w.left < 0 {
		return beyond("its objects inflate to more than %d bytes", int64(maxWork))
	}
	return nil
}

// head is the header of an object in a pack.
type head struct {
	kind Kind
	size int64  // of the object, or of the instructions of a delta
	back int64  // ofsDelta: the distance to the base
	base string // refDelta: the binary name of the base
}

// readHead reads the header of an object. Hash is the length of binary names.
func readHead(r *bufio.Reader, hash int) (h head, err error) {
	c, err := r.ReadByte()
	if err != nil {
		return h, ended(err)
	}
	h.kind, h.size = Kind(c>>4&7), int64(c&15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, err = r.ReadByte(); err != nil {
			return h, ended(err)
		}
		if shift > 53 {
			return h, broken("an object has an impossible size")
		}
		h.size |= int64(c&0x7f) << shift
	}
	switch h.kind {
	case Commit, Tree, Blob, Tag:
	case ofsDelta:
		h.back, err = readBack(r)
	case refDelta:
		name := make([]byte, hash)
		_, err = io.ReadFull(r, name)
		h.base, err = string(name), ended(err)
	default:
		err = broken("an object has the type %d", byte(h.kind))
	}
	return h, err
}

// readBack reads the distance to the base of a delta.
func readBack(r *bufio.Reader) (n int64, err error) {
	c, err := r.ReadByte()
	n = int64(c & 0x7f)
	for err == nil && c&0x80 != 0 {
		if n > 1<<55 {
			return 0, broken("a delta has an impossible base")
		}
		c, err = r.ReadByte()
		n = (n+1)<<7 | int64(c&0x7f)
	}
	return n, ended(err)
}

// ended turns the end of data in the middle of an object into an error.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return broken("it ends too early")
	}
	if err != nil && strings.HasPrefix(err.Error(), "zlib: ") || err != nil && strings.HasPrefix(err.Error(), "flate: ") {
		return broken("%v", err)
	}
	return err
}
