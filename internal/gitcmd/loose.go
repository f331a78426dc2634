package gitcmd

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/proc"
)

// Blob is a blob that is ready to be stored.
type Blob struct {
	OID    string
	data   []byte
	object []byte // as a file: the zlib stream of a header and the data
}

// Encoder makes blobs of a repository. It is safe for concurrent use.
type Encoder struct {
	repo *Repo
	mu   sync.Mutex
	z    *flate.Writer // for one blob after the other: each writer takes a megabyte
}

// Encoder returns an encoder of blobs, which works before anything is stored.
func (r *Repo) Encoder() *Encoder {
	return &Encoder{repo: r}
}

// largeBlob is the length in bytes from which two processors compress a blob.
const largeBlob = 256 << 10

// Blob compresses data as git does for an object in a file of its own, and computes the
// name.
func (e *Encoder) Blob(data []byte) *Blob {
	head := fmt.Appendf(nil, "blob %d\x00", len(data))
	b := &Blob{data: data}
	if len(data) < largeBlob {
		b.OID = e.repo.BlobName(data)
		b.object = zlibStream(e.deflate(true, head, data), head, data)
		return b
	}
	var first, second []byte // two streams of blocks, the second with the last block, are one
	var wg sync.WaitGroup
	some := len(data) * 2 / 5 // the name and the checksum take as long as the difference
	wg.Go(func() {
		second = e.repo.Encoder().deflate(true, data[some:])
	})
	first = e.deflate(false, head, data[:some])
	b.OID = e.repo.BlobName(data)
	wg.Wait()
	b.object = zlibStream(append(first, second...), head, data)
	return b
}

// deflate compresses some texts, and with last ends the stream of blocks.
func (e *Encoder) deflate(last bool, texts ...[]byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := new(bytes.Buffer)
	out.Grow(64 + len(texts[len(texts)-1])/2)
	if e.z == nil {
		e.z, _ = flate.NewWriter(out, flate.BestSpeed) // the level is valid
	} else {
		e.z.Reset(out)
	}
	for _, b := range texts { // writing to memory never fails
		_, _ = e.z.Write(b)
	}
	if last {
		_ = e.z.Close()
	} else {
		_ = e.z.Flush()
	}
	return out.Bytes()
}

// zlibStream frames the blocks of some texts.
func zlibStream(blocks []byte, texts ...[]byte) []byte {
	sum := adler32.New()
	for _, b := range texts {
		_, _ = sum.Write(b)
	}
	out := make([]byte, 0, len(blocks)+6)
	out = append(append(out, 0x78, 0x01), blocks...)
	return binary.BigEndian.AppendUint32(out, sum.Sum32())
}

// plainObjects reports whether git would store a new object of the repository as a file
// that any user of the directory writes: compressed fast, not flushed, with the
// permissions that the umask gives. Other wishes are left to git.
func plainObjects(list []setting) bool {
	for _, s := range list {
		switch s.name {
		case "core.sharedrepository", "core.compression", "core.loosecompression", "core.fsync", "core.fsyncmethod", "core.fsyncobjectfiles":
			return false
		case "core.repositoryformatversion":
			if s.value != "0" && s.value != "1" {
				return false
			}
		case "extensions.objectformat", "extensions.worktreeconfig", "extensions.partialclone", "extensions.refstorage", "extensions.preciousobjects":
		default:
			if strings.HasPrefix(s.name, "extensions.") {
				return false
			}
		}
	}
	return true
}

// writeLoose stores blobs as git does: each is a file that appears with its whole
// content.
func (r *Repo) writeLoose(blobs []*Blob) error {
	if dir, set := proc.Lookup(r.env, "GIT_OBJECT_DIRECTORY"); set {
		return fmt.Errorf("the objects are in %s", dir)
	}
	objects, err := atomicfile.Git(r.CommonDir).Open("objects")
	if err != nil {
		return err
	}
	defer objects.Close()
	errs := make([]error, 2) // one for each writer: they wait for the file system
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(blobs) && errs[w] == nil; i = int(next.Add(1)) - 1 {
				errs[w] = blobs[i].store(objects)
			}
		})
	}
	wg.Wait()
	return firstError(errs[0], errs[1])
}

// looseTemp begins the names of git's own temporary files, which git gc removes if a process
// was killed. They are in the directory of the object: in a new directory, the file system
// may search long for each new file.
const looseTemp = "tmp_obj_"

// store writes the file of the object and moves it to its name.
func (b *Blob) store(objects *openat.Folder) error {
	dir, err := objects.Sub(b.OID[:2], 0o777)
	if err != nil {
		return err
	}
	defer dir.Close()
	tmp := looseTemp + rand.Text()
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	_, err = f.Write(b.object)
	if err = errors.Join(err, f.Close()); err == nil {
		err = dir.Rename(tmp, dir, b.OID[2:])
	}
	if err != nil {
		_ = dir.Remove(tmp)
	}
	return err
}
