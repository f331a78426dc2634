package gitcmd

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // the names of git's objects
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/ryeos/rye/diag"
)

// WriteBlobs stores blobs, byte for byte, and returns their names in the same
// order. They are sent to git as one pack on stdin, which needs one process; hash-object
// would need a file for each blob.
func (r *Repo) WriteBlobs(ctx context.Context, blobs [][]byte) ([]string, error) {
	if len(blobs) == 0 {
		return nil, nil
	}
	pack, err := r.pack(blobs)
	if err != nil {
		return nil, diag.New(diag.Internal, "packing blobs: %w", err)
	}
	if _, err := r.run(ctx, bytes.NewReader(pack), "unpack-objects", "-q"); err != nil {
		return nil, err
	}
	oids := make([]string, len(blobs))
	for i, b := range blobs {
		oids[i] = r.BlobName(b)
	}
	return oids, nil
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

// pack renders a pack of version 2: a header, the compressed blobs, a checksum.
func (r *Repo) pack(blobs [][]byte) ([]byte, error) {
	const typeBlob = 3
	var out bytes.Buffer
	out.WriteString("PACK")
	out.Write(binary.BigEndian.AppendUint32(nil, 2))
	out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(blobs))))
	z, err := zlib.NewWriterLevel(&out, zlib.NoCompression) // git compresses what it stores
	if err != nil {
		return nil, err
	}
	for _, b := range blobs {
		// Four bits of the length are in the byte of the type, then seven per byte.
		n := len(b)
		c := byte(typeBlob<<4 | n&15)
		for n >>= 4; n > 0; n >>= 7 {
			out.WriteByte(c | 0x80)
			c = byte(n & 0x7f)
		}
		out.WriteByte(c)
		z.Reset(&out)
		_, err := z.Write(b)
		if err == nil {
			err = z.Close()
		}
		if err != nil {
			return nil, err
		}
	}
	h := r.hash()
	h.Write(out.Bytes())
	return h.Sum(out.Bytes()), nil
}
