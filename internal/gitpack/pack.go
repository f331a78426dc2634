package gitpack

import (
	"bufio"
	"compress/zlib"
	"container/list"
	"errors"
	"io"
)

// pack reads the objects of one pack at their offsets. It is not safe for concurrent
// use.
type pack struct {
	r    io.ReaderAt
	size int64 // without the checksum at the end
	hash int   // length of binary names
	// baseOf returns the offset of the base of a refDelta at an offset.
	baseOf func(off int64, name string) (int64, error)
	cache  cache
	work   *work

	in   *bufio.Reader
	z    io.ReadCloser
	data *bufio.Reader // of inflated bytes
}

// buffer returns a buffer of size bytes, if possible that of an object that left the
// cache: large ones would pile up until they are collected.
func (p *pack) buffer(size int64) []byte {
	if b := p.cache.spare; int64(cap(b)) >= size && int64(cap(b)) <= 2*size {
		p.cache.spare = nil
		return b[:size]
	}
	return make([]byte, size)
}

func newPack(r io.ReaderAt, size int64, hash int, w *work) *pack {
	return &pack{r: r, size: size, hash: hash, work: w,
		in: bufio.NewReaderSize(nil, 16<<10), data: bufio.NewReaderSize(nil, 16<<10)}
}

// at reads the header at an offset and begins to inflate what follows.
func (p *pack) at(off int64) (head, error) {
	if off < packHead || off >= p.size {
		return head{}, broken("an object is at offset %d of %d", off, p.size)
	}
	p.in.Reset(io.NewSectionReader(p.r, off, p.size-off))
	h, err := readHead(p.in, p.hash)
	if err != nil {
		return h, err
	}
	if p.z, err = inflate(p.z, p.in); err != nil {
		return h, err
	}
	p.data.Reset(p.z)
	return h, nil
}

// inflate returns a reader of the zlib stream in r, which reads no byte beyond it.
func inflate(z io.ReadCloser, r *bufio.Reader) (io.ReadCloser, error) {
	if z == nil {
		z, err := zlib.NewReader(r)
		return z, ended(err)
	}
	return z, ended(z.(zlib.Resetter).Reset(r, nil))
}

// link is one delta of a chain.
type link struct {
	off  int64
	size int64 // of the result
}

// object returns the object at an offset. Its bytes are valid until the next call. The error for one of more than limit bytes
// wraps ErrLimit.
func (p *pack) object(off, limit int64) (Kind, []byte, error) {
	var chain []link
	for {
		if o, ok := p.cache.get(off); ok {
			if len(chain) == 0 && int64(len(o.data)) > limit {
				return 0, nil, tooLong(int64(len(o.data)), limit)
			}
			return p.follow(o.kind, o.data, chain)
		}
		h, err := p.at(off)
		if err != nil {
			return 0, nil, err
		}
		most := int64(maxBase)
		if len(chain) == 0 {
			most = limit
		}
		if h.kind != ofsDelta && h.kind != refDelta {
			if h.size > most {
				return 0, nil, tooLong(h.size, most)
			}
			data, err := p.whole(h.size)
			if err != nil {
				return 0, nil, err
			}
			if len(chain) > 0 {
				p.cache.put(off, object{h.kind, data})
			}
			return p.follow(h.kind, data, chain)
		}
		size, err := p.resultSize()
		if err != nil {
			return 0, nil, err
		}
		if size > most {
			return 0, nil, tooLong(size, most)
		}
		if chain = append(chain, link{off, size}); len(chain) > MaxDepth {
			return 0, nil, beyond("more than %d deltas depend on each other", MaxDepth)
		}
		if off, err = p.base(off, h); err != nil {
			return 0, nil, err
		}
	}
}

// base returns the offset of the base of a delta. That of an ofsDelta is before it; a
// refDelta can name any object, also itself, which the depth of chains ends.
func (p *pack) base(off int64, h head) (int64, error) {
	if h.kind == refDelta {
		return p.baseOf(off, h.base)
	}
	if h.back <= 0 || h.back > off-packHead {
		return 0, broken("the base of a delta is outside the pack")
	}
	return off - h.back, nil
}

func tooLong(size, limit int64) error {
	return beyond("it has %d bytes, at most %d are allowed", size, limit)
}

// resultSize reads the sizes at the beginning of a delta and returns the second.
func (p *pack) resultSize() (int64, error) {
	if _, err := readSize(p.data); err != nil {
		return 0, err
	}
	return readSize(p.data)
}

// whole returns the inflated bytes, which must be size many.
func (p *pack) whole(size int64) ([]byte, error) {
	out := p.buffer(size) // at most a limit; a header that lies ends the reading
	n, err := io.ReadFull(p.data, out)
	if err == nil {
		_, err = p.data.ReadByte()
		n++
	}
	if adding := p.work.add(int64(n)); adding != nil {
		return nil, adding
	}
	switch {
	case err == nil || int64(n) <= size && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return nil, broken("an object does not have the %d bytes that its header states", size)
	case err != io.EOF:
		return nil, ended(err)
	}
	return out, nil
}

// follow applies the deltas of a chain, the last first.
func (p *pack) follow(kind Kind, data []byte, chain []link) (Kind, []byte, error) {
	for i := len(chain) - 1; i >= 0; i-- {
		var err error
		if data, err = p.delta(data, chain[i]); err != nil {
			return 0, nil, err
		}
		if i > 0 {
			p.cache.put(chain[i].off, object{kind, data})
		}
	}
	return kind, data, nil
}

func (p *pack) delta(base []byte, l link) ([]byte, error) {
	if _, err := p.at(l.off); err != nil {
		return nil, err
	}
	size, err := readSize(p.data)
	if err == nil && size != int64(len(base)) {
		err = broken("a delta is for a base of %d bytes, not %d", size, len(base))
	}
	if err == nil {
		_, err = readSize(p.data)
	}
	if err == nil {
		err = p.work.add(l.size)
	}
	if err != nil {
		return nil, err
	}
	return apply(p.buffer(l.size)[:0], base, l.size, p.data)
}

// cache keeps the objects of the last reads, at least the very last one.
type cache struct {
	at    map[int64]*list.Element
	order list.List // the last used first
	size  int64
	spare []byte // the buffer of the last object that left
}

type object struct {
	kind Kind
	data []byte
}

type cached struct {
	off int64
	object
}

func (c *cache) get(off int64) (object, bool) {
	e, ok := c.at[off]
	if !ok {
		return object{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).object, true
}

func (c *cache) put(off int64, o object) {
	if c.at == nil {
		c.at = map[int64]*list.Element{}
	}
	if _, ok := c.at[off]; ok {
		return
	}
	c.at[off] = c.order.PushFront(&cached{off, o})
	for c.size += cost(o); c.size > cacheSize && c.order.Len() > 1; {
		last := c.order.Remove(c.order.Back()).(*cached)
		c.size -= cost(last.object)
		delete(c.at, last.off)
		c.spare = last.data
	}
}

// cost is the memory of a cached object, with that of its entry.
func cost(o object) int64 { return int64(cap(o.data)) + 256 }
