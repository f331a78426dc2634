package git

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/ryeos/rye/diag"
)

const (
	// basesSize is the memory, in bytes, for the bases of deltas.
	basesSize = 16 << 20
	// largeObject is the size, in bytes, above which an object is read from its pack as a
	// stream.
	largeObject = 1 << 20
)

// objects reads a repository by go-git.
type objects struct {
	st *filesystem.ObjectStorage
}

// openObjects opens a repository for its objects. It reads no configuration.
func openObjects(dir string) *objects {
	options := filesystem.Options{KeepDescriptors: true, LargeObjectThreshold: largeObject}
	return &objects{filesystem.NewObjectStorageWithOptions(
		dotgit.New(osfs.New(dir)),
		cache.NewObjectLRU(basesSize),
		options,
	)}
}

// Close implements Objects.
func (g *objects) Close() error {
	return g.st.Close()
}

// Read implements Objects.
func (g *objects) Read(
	ctx context.Context,
	oids []string,
	limit int64,
	each func(i int, o Object) error,
) error {
	for i, oid := range oids {
		if ctx.Err() != nil {
			return stopped(ctx, "reading", "the cache")
		}
		o, err := g.one(oid, limit)
		if err != nil {
			return err
		}
		if err := each(i, o); err != nil {
			return err
		}
	}
	return nil
}

func (g *objects) one(oid string, limit int64) (Object, error) {
	if len(oid) != 40 {
		return Object{}, diag.New(diag.Network, "reading object %s: %w", oid, errUnsupported)
	}
	obj, err := g.st.EncodedObject(plumbing.AnyObject, plumbing.NewHash(oid))
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return Object{}, missing(oid)
	}
	if err != nil {
		return Object{}, broken(oid, err)
	}
	if obj.Size() > limit {
		return Object{}, objectTooLarge(oid, obj.Size(), limit)
	}
	r, err := obj.Reader()
	if err != nil {
		return Object{}, broken(oid, err)
	}
	defer r.Close()
	data := make([]byte, obj.Size())
	if _, err := io.ReadFull(r, data); err != nil {
		return Object{}, broken(oid, err)
	}
	return Object{OID: oid, Kind: obj.Type().String(), Data: data}, nil
}

// has reports whether the repository has an object.
func (g *objects) has(oid string) (bool, error) {
	err := g.st.HasEncodedObject(plumbing.NewHash(oid))
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return false, nil
	}
	if err != nil {
		return false, broken(oid, err)
	}
	return true, nil
}

// missingObjects returns the wanted objects that a repository does not have.
func missingObjects(repository string, w Want) ([]string, error) {
	g := openObjects(repository)
	defer g.Close()
	var out []string
	for _, oid := range w.OIDs {
		if !isOID(oid) || len(oid) != 40 {
			return nil, diag.New(diag.Internal, "fetching %q: it is not the name of an object", oid)
		}
		found, err := g.has(oid)
		if err != nil {
			return nil, err
		}
		if !found {
			out = append(out, oid)
		}
	}
	return slices.Compact(out), nil
}

// packHead is the length of the header of a pack.
const packHead = 12

// maxObjects is the number of objects of one pack.
const maxObjects = 1 << 20

// checkHead checks the header of a pack.
func checkHead(head []byte) error {
	if string(head[:4]) != "PACK" {
		return fmt.Errorf("%w: it does not begin as a pack does", errDamaged)
	}
	return checkNumber(binary.BigEndian.Uint32(head[8:]))
}

func checkNumber(objects uint32) error {
	if objects > maxObjects {
		return beyond("its pack states %d objects, at most %d are allowed", objects, maxObjects)
	}
	return nil
}

// writePack writes a pack and its index into a repository. The files of a broken transfer
// are removed: rye has the lock of the repository.
func writePack(ctx context.Context, repository string, pack io.Reader, limit int64) error {
	dir := filepath.Join(repository, "objects", "pack")
	f, err := os.CreateTemp(dir, "tmp_pack_*")
	if err != nil {
		return unwritable(err)
	}
	defer removeTemporary(repository)
	defer f.Close()
	head := make([]byte, packHead)
	if _, err := io.ReadFull(pack, head); err != nil {
		return err
	}
	if err := checkHead(head); err != nil {
		return err // before anything is stored
	}
	if _, err := f.Write(head); err != nil {
		return unwritable(err)
	}
	n, err := io.Copy(unwritableFile{f}, pack)
	if err != nil {
		return err
	}
	index, err := indexPack(ctx, f, n+packHead)
	if err != nil {
		return err
	}
	if err := keepPack(dir, f, index); err != nil {
		return unwritable(err)
	}
	debug.FreeOSMemory() // before files are read: both together could reach the limit
	return nil
}

// keepPack gives a pack and its index their names, the pack last: go-git reads a pack
// without an index as a damaged one.
func keepPack(dir string, f *os.File, index *idxfile.MemoryIndex) error {
	base := filepath.Join(dir, "pack-"+plumbing.Hash(index.PackfileChecksum).String())
	idx, err := os.CreateTemp(dir, "tmp_idx_*")
	if err != nil {
		return err
	}
	_, err = idxfile.NewEncoder(idx).Encode(index)
	if err = errors.Join(err, idx.Close(), f.Close()); err != nil {
		return err
	}
	err = os.Rename(idx.Name(), base+".idx")
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), base+".pack")
}

func unwritable(err error) error {
	return diag.New(diag.FileSystemError, "writing the cache: %w", err).WithReason("cache")
}

// unwritableFile makes a full disk an error of the file and not of the network.
type unwritableFile struct{ f *os.File }

func (w unwritableFile) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	if err != nil {
		err = unwritable(err)
	}
	return n, err
}

// damaged is the error for a pack that is not stored.
func damaged(ctx context.Context, url string, err error) error {
	var limit *beyondError
	if errors.As(err, &limit) {
		return overLimit(url, err)
	}
	err = network(ctx, "fetching", url, fmt.Errorf("the pack is not usable: %w", err))
	var e *diag.Error
	if errors.Is(err, errDamaged) && errors.As(err, &e) {
		e.Retryable = false // it would be sent again
	}
	return err
}

// removeTemporary removes the files of a transfer that did not finish.
func removeTemporary(repository string) {
	found, _ := filepath.Glob(filepath.Join(repository, "objects", "pack", "tmp_*"))
	for _, path := range found {
		_ = os.Remove(path)
	}
}
