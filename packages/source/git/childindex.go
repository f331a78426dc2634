package git

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

const (
	// maxDepth is the number of deltas between an object and its base; git itself writes at
	// most 4,095.
	maxDepth = 4095
	// maxWork is the number of bytes that all objects of a pack may inflate to. A pack of
	// 1 MiB can inflate to 1 GiB, and deltas can multiply that again.
	maxWork = 16 << 30
)

// errDamaged is wrapped by the error for a pack that git never writes.
var errDamaged = errors.New("the pack is damaged")

// beyondError is the error for a pack beyond a limit.
type beyondError struct{ text string }

func (e *beyondError) Error() string {
	return e.text
}

func beyond(format string, args ...any) error {
	return &beyondError{fmt.Sprintf(format, args...)}
}

// packed is one object of a pack.
type packed struct {
	off   int64
	base  int32 // the object that a delta changes, noBase for a whole object
	crc   uint32
	name  plumbing.Hash
	depth int16 // the number of deltas before it
	kind  plumbing.ObjectType
}

const noBase = -1

// indexer names the objects of a pack by the scanner of go-git. The parser of go-git reads
// each object into memory, also files that no bundle has.
type indexer struct {
	ctx     context.Context
	s       *packfile.Scanner
	objects []packed                  // by offset
	byName  map[plumbing.Hash][]int32 // deltas that state the name of their base
	changed map[int32][]int32         // deltas that change an object
	bases   *cache.BufferLRU
	left    int64 // bytes that the objects may still inflate to
}

// indexPack returns the index of a pack of size bytes. Whole objects are streamed; deltas are
// applied in memory.
func indexPack(ctx context.Context, r io.ReadSeeker, size int64) (*idxfile.MemoryIndex, error) {
	return indexWithin(ctx, r, size, maxWork)
}

func indexWithin(ctx context.Context, r io.ReadSeeker, size, work int64) (*idxfile.MemoryIndex, error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	x := &indexer{
		ctx:     ctx,
		s:       packfile.NewScanner(r),
		left:    work,
		byName:  map[plumbing.Hash][]int32{},
		changed: map[int32][]int32{},
		bases:   cache.NewBufferLRU(basesSize),
	}
	sum, err := x.scan(size)
	if err == nil {
		err = x.resolve()
	}
	if err != nil {
		return nil, packError(err)
	}
	return newIndex(x.objects, sum), nil
}

// newIndex returns the index of objects, which it sorts. The writer of go-git takes twice the
// memory.
func newIndex(objects []packed, sum plumbing.Hash) *idxfile.MemoryIndex {
	slices.SortFunc(objects, func(a, b packed) int {
		return bytes.Compare(a.name[:], b.name[:])
	})
	objects = slices.CompactFunc(objects, func(a, b packed) bool {
		return a.name == b.name
	})
	out := &idxfile.MemoryIndex{Version: idxfile.VersionSupported, PackfileChecksum: sum}
	first := 0
	for b := range out.Fanout {
		last := first
		for last < len(objects) && int(objects[last].name[0]) == b {
			last++
		}
		out.Fanout[b] = uint32(last)
		out.FanoutMapping[b] = len(out.Names)
		if first == last {
			out.FanoutMapping[b] = -1 // as go-git marks a byte without names
			continue
		}
		n := last - first
		names := make([]byte, 0, n*len(sum))
		crcs := make([]byte, 0, 4*n)
		offsets := make([]byte, 0, 4*n)
		for _, o := range objects[first:last] {
			names = append(names, o.name[:]...)
			crcs = binary.BigEndian.AppendUint32(crcs, o.crc)
			offset := uint32(o.off)
			if o.off > math.MaxInt32 {
				offset = 1<<31 | uint32(len(out.Offset64)/8)
				out.Offset64 = binary.BigEndian.AppendUint64(out.Offset64, uint64(o.off))
			}
			offsets = binary.BigEndian.AppendUint32(offsets, offset)
		}
		out.Names = append(out.Names, names)
		out.CRC32 = append(out.CRC32, crcs)
		out.Offset32 = append(out.Offset32, offsets)
		first = last
	}
	return out
}

// packError returns the error for a pack that go-git cannot read.
func packError(err error) error {
	var limit *beyondError
	switch {
	case errors.As(err, &limit),
		errors.Is(err, errDamaged),
		errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends too early", errDamaged)
	}
	return fmt.Errorf("%w: %.200s", errDamaged, err)
}

// counted passes bytes on and counts them.
type counted struct {
	x *indexer
	w io.Writer
}

func (c counted) Write(b []byte) (int, error) {
	if err := c.x.add(len(b)); err != nil {
		return 0, err
	}
	return c.w.Write(b)
}

func (x *indexer) add(n int) error {
	if x.left -= int64(n); x.left < 0 {
		return beyond("its objects inflate to more than %d bytes", int64(maxWork))
	}
	return x.ctx.Err()
}

// scan reads the pack from its beginning to its end and returns its checksum.
func (x *indexer) scan(size int64) (sum plumbing.Hash, err error) {
	_, n, err := x.s.Header()
	if err == nil {
		err = checkNumber(n)
	}
	if err != nil {
		return sum, err
	}
	x.objects = make([]packed, 0, n)
	for range n {
		if err := x.next(); err != nil {
			return sum, err
		}
	}
	sum, err = x.s.Checksum()
	if err != nil {
		return sum, err
	}
	end, err := x.s.SeekFromStart(0)
	if err == nil && end != size {
		err = fmt.Errorf("%w: bytes follow its last object", errDamaged)
	}
	return sum, err
}

// next reads one object.
func (x *indexer) next() error {
	h, err := x.s.NextObjectHeader()
	if err != nil {
		return err
	}
	i := int32(len(x.objects))
	o := packed{off: h.Offset, base: noBase, kind: h.Type}
	hash := plumbing.NewHasher(h.Type, h.Length)
	to := io.Writer(hash)
	switch h.Type {
	case plumbing.OFSDeltaObject:
		base, ok := slices.BinarySearchFunc(x.objects, h.OffsetReference, func(o packed, off int64) int {
			return cmp.Compare(o.off, off)
		})
		if !ok {
			return fmt.Errorf("%w: a delta changes no object of the pack", errDamaged)
		}
		o.base = int32(base)
		x.changed[o.base] = append(x.changed[o.base], i)
		to = io.Discard
	case plumbing.REFDeltaObject:
		x.byName[h.Reference] = append(x.byName[h.Reference], i)
		to = io.Discard
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
	default:
		return fmt.Errorf("%w: an object has the type %d", errDamaged, h.Type)
	}
	read, crc, err := x.s.NextObject(counted{x, to})
	if err != nil {
		return err
	}
	if read != h.Length {
		return fmt.Errorf("%w: an object has %d bytes, its header states %d", errDamaged, read, h.Length)
	}
	o.crc = crc
	if to != io.Discard {
		o.name = hash.Sum()
	}
	x.objects = append(x.objects, o)
	return nil
}

// resolve names the deltas, each after its base, so that the base is still in memory.
func (x *indexer) resolve() error {
	named := 0
	var todo []int32
	for i := range x.objects {
		if x.objects[i].kind.IsDelta() {
			continue // reached from its base
		}
		todo = append(todo, int32(i))
		for len(todo) > 0 {
			last := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if err := x.name(last); err != nil {
				return err
			}
			named++
			todo = append(todo, x.changed[last]...)
			for _, delta := range x.byName[x.objects[last].name] {
				if x.objects[delta].base == noBase {
					x.objects[delta].base = last
					todo = append(todo, delta)
				}
			}
		}
	}
	if named < len(x.objects) {
		return fmt.Errorf("%w: a delta changes no object of the pack", errDamaged)
	}
	return nil
}

// name names a delta. Whole objects have been named.
func (x *indexer) name(i int32) error {
	o := &x.objects[i]
	if !o.kind.IsDelta() {
		return nil
	}
	if o.depth = x.objects[o.base].depth + 1; o.depth > maxDepth {
		return beyond("more than %d deltas depend on each other", maxDepth)
	}
	data, err := x.content(i)
	if err != nil {
		return err
	}
	o.kind = x.objects[o.base].kind // named before
	o.name = plumbing.ComputeHash(o.kind, data)
	return nil
}

// content returns the bytes of an object.
func (x *indexer) content(i int32) ([]byte, error) {
	var chain []int32
	var data []byte
	for {
		kept, ok := x.bases.Get(x.objects[i].off)
		if ok {
			data = kept
			break
		}
		if x.objects[i].base == noBase {
			whole, err := x.inflate(i)
			if err != nil {
				return nil, err
			}
			x.bases.Put(x.objects[i].off, whole)
			data = whole
			break
		}
		chain = append(chain, i)
		i = x.objects[i].base
	}
	for k := len(chain) - 1; k >= 0; k-- {
		delta, err := x.inflate(chain[k])
		if err != nil {
			return nil, err
		}
		if data, err = packfile.PatchDelta(data, delta); err != nil {
			return nil, err
		}
		if err := x.add(len(data)); err != nil {
			return nil, err
		}
		x.bases.Put(x.objects[chain[k]].off, data)
	}
	return data, nil
}

// inflate returns the bytes of an object in the pack, which of a delta are its instructions.
func (x *indexer) inflate(i int32) ([]byte, error) {
	h, err := x.s.SeekObjectHeader(x.objects[i].off)
	if err != nil {
		return nil, err
	}
	out := &filled{data: make([]byte, 0, h.Length)} // the scan has compared the length
	_, _, err = x.s.NextObject(counted{x, out})
	return out.data, err
}

// filled is a writer into memory that was allocated before.
type filled struct{ data []byte }

func (f *filled) Write(b []byte) (int, error) {
	f.data = append(f.data, b...)
	return len(b), nil
}
