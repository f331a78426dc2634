package gitcmd

import (
	"bytes"
	"compress/zlib"
	"context"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/proc"
)

// Blobs returns a Batch that reads blobs from files of their own itself, which git add
// writes, and starts git for the first object that is not in such a file.
func (r *Repo) Blobs(ctx context.Context) *Batch {
	b := &Batch{}
	b.later = func() error {
		return b.start(r.command(ctx, "cat-file", "--batch"))
	}
	if _, set := proc.Lookup(r.env, "GIT_OBJECT_DIRECTORY"); !set {
		b.loose = &looseReader{repo: r}
	}
	return b
}

// looseReader reads blobs from files of their own.
type looseReader struct {
	repo *Repo
	in   bytes.Reader
	z    io.ReadCloser // of in, for one file after the other
	text bytes.Buffer  // header and data
}

// maxLooseHead is the length of the longest header: a kind, a number and NUL.
const maxLooseHead = 32

// read returns a blob of at most limit bytes. ok is false if it is not in a file that has
// exactly the bytes of that name: git then reads it, or reports the error.
func (l *looseReader) read(oid string, limit int64) (o Object, ok bool) {
	if len(oid) != 2*l.repo.hash().Size() ||
		strings.Trim(oid, "0123456789abcdef") != "" {
		return o, false
	}
	file, err := openat.ReadRegular(
		filepath.Join(l.repo.Objects(), oid[:2], oid[2:]),
		limit+maxLooseHead,
	)
	if err != nil || l.inflate(file, limit) != nil {
		return o, false
	}
	head, data, _ := bytes.Cut(l.text.Bytes(), []byte{0})
	if string(head) != "blob "+strconv.Itoa(len(data)) ||
		int64(len(data)) > limit ||
		l.repo.BlobName(data) != oid {
		return o, false
	}
	return Object{
		OID:  oid,
		Kind: "blob",
		Size: int64(len(data)),
		Data: bytes.Clone(data),
	}, true
}

// inflate reads the zlib stream of a file into text, and not more than an object of limit
// bytes has.
func (l *looseReader) inflate(file []byte, limit int64) (err error) {
	l.in.Reset(file)
	l.text.Reset()
	if l.z == nil {
		l.z, err = zlib.NewReader(&l.in)
	} else {
		err = l.z.(zlib.Resetter).Reset(&l.in, nil)
	}
	if err == nil {
		_, err = l.text.ReadFrom(io.LimitReader(l.z, limit+maxLooseHead+1))
	}
	return err
}
