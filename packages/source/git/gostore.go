package git

import (
	"context"
	"errors"
	"io"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/ryeos/rye/diag"
)

// cacheSize is the memory, in bytes, for delta bases while a store is read.
const cacheSize = 16 << 20

// openStorage opens a bare repository for its objects. It does not read the
// configuration and runs no program.
func openStorage(dir string) *filesystem.Storage {
	return filesystem.NewStorageWithOptions(osfs.New(dir), cache.NewObjectLRU(cacheSize),
		filesystem.Options{KeepDescriptors: true})
}

// Open implements Remote.
func (r *goHTTP) Open(_ context.Context, store string) (Objects, error) {
	return &goObjects{openStorage(store)}, nil
}

// goObjects reads a repository by go-git.
type goObjects struct{ st *filesystem.Storage }

// Close implements Objects.
func (g *goObjects) Close() error { return g.st.Close() }

// Read implements Objects.
func (g *goObjects) Read(ctx context.Context, oids []string, limit int64, each func(i int, o Object) error) error {
	for i, oid := range oids {
		if ctx.Err() != nil {
			return diag.New(diag.Cancelled, "reading objects: %w", context.Cause(ctx))
		}
		if len(oid) != 40 {
			return diag.New(diag.Network, "reading object %s: %w", oid, errUnsupported)
		}
		o, err := g.read(oid, limit)
		if err != nil {
			return err
		}
		if err := each(i, o); err != nil {
			return err
		}
	}
	return nil
}

func (g *goObjects) read(oid string, limit int64) (Object, error) {
	obj, err := g.st.EncodedObject(plumbing.AnyObject, plumbing.NewHash(oid))
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return Object{}, diag.New(diag.Network, "reading object %s: %w", oid, errMissing)
	}
	if err != nil {
		return Object{}, broken(oid, err)
	}
	if obj.Size() > limit {
		return Object{}, diag.New(diag.TooLarge, "reading object %s: it has %d bytes, at most %d are allowed", oid, obj.Size(), limit)
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

// broken is the error for a damaged store.
func broken(oid string, err error) error {
	return diag.New(diag.HashMismatch, "reading object %s: %w", oid, err)
}
