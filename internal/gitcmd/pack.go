package gitcmd

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // the names of git's objects
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/adler32"
	"slices"
	"sync"
)

// largeBlob is the length in bytes from which a process of its own stores a blob: git
// compresses it, which takes as long as many small ones.
const largeBlob = 256 << 10

// WriteBlobs stores blobs, byte for byte, and returns their names in the same
// order. They are sent to git as one pack on stdin, which needs one process; hash-object
// would need a file for each blob. The largest is sent on its own if it is large.
func (r *Repo) WriteBlobs(ctx context.Context, blobs [][]byte) ([]string, error) {
	if len(blobs) == 0 {
		return nil, nil
	}
	packs := [][][]byte{blobs}
	if i := largest(blobs); len(blobs) > 1 && len(blobs[i]) >= largeBlob {
		packs = [][][]byte{{blobs[i]}, slices.Concat(blobs[:i], blobs[i+1:])}
	}
	errs := make([]error, len(packs))
	var wg sync.WaitGroup
	for i, some := range packs {
		wg.Go(func() { _, errs[i] = r.run(ctx, bytes.NewReader(r.pack(some)), "unpack-objects", "-q") })
	}
	oids := make([]string, len(blobs))
	for i, b := range blobs {
		oids[i] = r.BlobName(b)
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return oids, nil
}

func largest(blobs [][]byte) (at int) {
	for i, b := range blobs {
		if len(b) > len(blobs[at]) {
			at = i
		}
	}
	return at
}

func (r *Repo) hash() hash.Hash {
	if r.SHA256 {
		return sha256.New()
	}
	return sha1.New()
}

// BlobName returns the name that git gives to these bytes.
func (r *Repo) BlobName(b []byte) string {
	h := r.hash()
	fmt.Fprintf(h, "blob %d\x00", len(b))
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// pack renders a pack of version 2: a header, the blobs, a checksum.
func (r *Repo) pack(blobs [][]byte) []byte {
	const typeBlob = 3
	size := 64
	for _, b := range blobs {
		size += len(b) + 32 + 5*(len(b)/maxStored)
	}
	out := append(make([]byte, 0, size), "PACK"...)
	out = binary.BigEndian.AppendUint32(out, 2)
	out = binary.BigEndian.AppendUint32(out, uint32(len(blobs)))
	for _, b := range blobs {
		// Four bits of the length are in the byte of the type, then seven per byte.
		n := len(b)
		c := byte(typeBlob<<4 | n&15)
		for n >>= 4; n > 0; n >>= 7 {
			out = append(out, c|0x80)
			c = byte(n & 0x7f)
		}
		out = appendStored(append(out, c), b)
	}
	h := r.hash()
	h.Write(out)
	return h.Sum(out)
}

// maxStored is the length of a block of deflate that is not compressed.
const maxStored = 0xffff

// appendStored writes a zlib stream that is not compressed: git compresses what it stores.
func appendStored(out, b []byte) []byte {
	out = append(out, 0x78, 0x01)
	for rest, last := b, false; !last; {
		n := min(len(rest), maxStored)
		last = n == len(rest)
		final := byte(0)
		if last {
			final = 1
		}
		out = append(out, final)
		out = binary.LittleEndian.AppendUint16(out, uint16(n))
		out = binary.LittleEndian.AppendUint16(out, ^uint16(n))
		out = append(out, rest[:n]...)
		rest = rest[n:]
	}
	return binary.BigEndian.AppendUint32(out, adler32.Checksum(b))
}
