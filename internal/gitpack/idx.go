package gitpack

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // as git does
	"encoding/binary"
	"io"
	"math"
	"sort"
)

// idxMagic begins an index of version 2.
const idxMagic = "\xfftOc\x00\x00\x00\x02"

const fanout = 256 * 4

// WriteIndex writes the index of a pack in the format of git, without checksums of
// single objects. Git refuses it if objects were skipped.
func (t *Table) WriteIndex(to io.Writer) error {
	sum := sha1.New() //nolint:gosec // as git does
	w := io.MultiWriter(to, sum)
	counts := make([]byte, 0, fanout)
	for first, n := 0, 0; first < 256; first++ {
		for n < len(t.entries) && int(t.entries[n].name[0]) <= first {
			n++
		}
		counts = binary.BigEndian.AppendUint32(counts, uint32(n))
	}
	if _, err := io.WriteString(w, idxMagic+string(counts)); err != nil {
		return err
	}
	for _, part := range []func(e entry) []byte{
		func(e entry) []byte { return e.name[:] },
		func(entry) []byte { return make([]byte, 4) },
		func(e entry) []byte { return binary.BigEndian.AppendUint32(nil, uint32(e.off)) },
	} {
		for _, e := range t.entries {
			if e.off > math.MaxInt32 {
				return beyond("it has more than %d bytes", int64(math.MaxInt32))
			}
			if _, err := w.Write(part(e)); err != nil {
				return err
			}
		}
	}
	if _, err := w.Write(t.sum[:]); err != nil {
		return err
	}
	_, err := to.Write(sum.Sum(nil))
	return err
}

// index finds objects in the index of a pack. It keeps nothing in memory but the
// counts by first byte.
type index struct {
	r      io.ReaderAt
	size   int64
	hash   int
	counts [257]uint32 // counts[b] objects have names below the byte b
}

func openIndex(r io.ReaderAt, size int64, hash int) (*index, error) {
	x := &index{r: r, size: size, hash: hash}
	head := make([]byte, len(idxMagic)+fanout)
	if err := x.read(head, 0); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(head, []byte(idxMagic)) {
		return nil, ErrFormat
	}
	for i := range 256 {
		x.counts[i+1] = binary.BigEndian.Uint32(head[len(idxMagic)+4*i:])
		if x.counts[i+1] < x.counts[i] {
			return nil, broken("an index is not sorted")
		}
	}
	if x.offsets()+4*int64(x.counts[256])+2*int64(hash) > size {
		return nil, broken("an index is shorter than its objects")
	}
	return x, nil
}

// names and offsets return where these parts of the file begin.
func (x *index) names() int64   { return int64(len(idxMagic)) + fanout }
func (x *index) offsets() int64 { return x.names() + int64(x.counts[256])*int64(x.hash+4) }

func (x *index) read(b []byte, off int64) error {
	if _, err := x.r.ReadAt(b, off); err != nil && err != io.EOF {
		return err
	} else if off+int64(len(b)) > x.size {
		return broken("an index ends too early")
	}
	return nil
}

// find returns the offset of an object in the pack.
func (x *index) find(id string) (off int64, ok bool, err error) {
	from, to := int(x.counts[id[0]]), int(x.counts[int(id[0])+1])
	b := make([]byte, x.hash)
	at := from + sort.Search(to-from, func(i int) bool {
		if err == nil {
			err = x.read(b, x.names()+int64(from+i)*int64(x.hash))
		}
		return err != nil || string(b) >= id
	})
	if err != nil || at == to {
		return 0, false, err
	}
	if err := x.read(b, x.names()+int64(at)*int64(x.hash)); err != nil || string(b) != id {
		return 0, false, err
	}
	var n [8]byte
	if err := x.read(n[:4], x.offsets()+4*int64(at)); err != nil {
		return 0, false, err
	}
	off = int64(binary.BigEndian.Uint32(n[:4]))
	if off&(1<<31) != 0 { // the position of a longer offset
		long := x.offsets() + 4*int64(x.counts[256]) + 8*(off&^(1<<31))
		if err := x.read(n[:], long); err != nil {
			return 0, false, err
		}
		off = int64(binary.BigEndian.Uint64(n[:]) & math.MaxInt64)
	}
	return off, true, nil
}
