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
)

// WriteBlobs stores blobs, byte for byte. If the settings ask for nothing special, they
// are written as files; git itself needs five times as long for them. Else they are sent
// to git as one pack on stdin, which needs one process.
func (r *Repo) WriteBlobs(ctx context.Context, blobs []*Blob) error {
	if len(blobs) == 0 {
		return nil
	}
	list, err := r.readSettings(ctx)
	if err != nil {
		return err
	}
	if plainObjects(list) && r.writeLoose(blobs) == nil {
		return nil
	}
	_, err = r.run(ctx, bytes.NewReader(r.pack(blobs)), "unpack-objects", "-q")
	return err
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
func (r *Repo) pack(blobs []*Blob) []byte {
	const typeBlob = 3
	size := 64
	for _, b := range blobs {
		size += len(b.data) + 32 + 5*(len(b.data)/maxStored)
	}
	out := append(make([]byte, 0, size), "PACK"...)
	out = binary.BigEndian.AppendUint32(out, 2)
	out = binary.BigEndian.AppendUint32(out, uint32(len(blobs)))
	for _, blob := range blobs {
		b := blob.data
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
