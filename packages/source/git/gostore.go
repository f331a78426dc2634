package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitpack"
)

// packsDir is the directory of a store with the packs that rye indexed. It is not
// that of git, which refuses an index without the largest objects.
const packsDir = "packs"

// openStore opens a repository of the cache for its objects.
func openStore(dir string, isSHA256 bool) *gitpack.Store {
	return gitpack.Open(isSHA256, filepath.Join(dir, "objects"), filepath.Join(dir, packsDir))
}

// Open implements Remote.
func (r *goHTTP) Open(_ context.Context, store string) (Objects, error) {
	return &objects{openStore(store, false)}, nil
}

// objects reads a repository.
type objects struct{ st *gitpack.Store }

// Close implements Objects.
func (g *objects) Close() error { return g.st.Close() }

// Read implements Objects.
func (g *objects) Read(ctx context.Context, oids []string, limit int64, each func(i int, o Object) error) error {
	for i, oid := range oids {
		if ctx.Err() != nil {
			return stopped(ctx, "reading", "the cache")
		}
		kind, data, err := g.st.Read(oid, limit)
		if err != nil {
			return unread(oid, err)
		}
		if err := each(i, Object{OID: oid, Kind: kind.String(), Data: data}); err != nil {
			return err
		}
	}
	return nil
}

// unread is the error for an object that was not read.
func unread(oid string, err error) error {
	switch {
	case errors.Is(err, gitpack.ErrLimit):
		return diag.New(diag.TooLarge, "reading object %s: %w", oid, err)
	case errors.Is(err, gitpack.ErrMissing):
		return diag.New(diag.Network, "reading object %s: %w", oid, errMissing)
	case errors.Is(err, gitpack.ErrFormat):
		return diag.New(diag.Network, "reading object %s: %w", oid, errUnsupported)
	}
	return broken(oid, err)
}

// broken is the error for a damaged store.
func broken(oid string, err error) error {
	return diag.New(diag.HashMismatch, "reading object %s: %w", oid, err)
}

// writePack writes a pack and its index into the store. The files of a broken transfer
// are removed: the caller has the lock of the store. Heavy is held while the pack is
// indexed.
func writePack(ctx context.Context, store string, pack io.Reader, limit int64, heavy *sync.Mutex) error {
	dir := filepath.Join(store, packsDir, "pack")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return unwritable(err)
	}
	f, err := os.CreateTemp(dir, "tmp_pack_*")
	if err != nil {
		return unwritable(err)
	}
	defer removeTemporary(store)
	defer f.Close()
	head := make([]byte, 12)
	if _, err := io.ReadFull(pack, head); err != nil {
		return err
	}
	if _, err := gitpack.Count(head, limit); err != nil {
		return err // before anything is stored
	}
	if _, err := f.Write(head); err != nil {
		return unwritable(err)
	}
	n, err := io.Copy(unwritableFile{f}, pack)
	if err != nil {
		return err
	}
	heavy.Lock()
	defer heavy.Unlock()
	t, err := gitpack.Index(ctx, f, n+int64(len(head)))
	if err != nil {
		return err
	}
	return keepPack(dir, f, t)
}

// keepPack gives a pack and its index their names, the index last: a pack without one
// is not read.
func keepPack(dir string, f *os.File, t *gitpack.Table) error {
	base := filepath.Join(dir, "pack-"+t.Sum)
	idx, err := os.CreateTemp(dir, "tmp_idx_*")
	if err != nil {
		return unwritable(err)
	}
	defer idx.Close()
	if err = t.WriteIndex(idx); err == nil && t.Skipped() > 0 {
		err = os.WriteFile(base+gitpack.Large, nil, 0o600)
	}
	for _, done := range []func() error{f.Close, idx.Close, func() error { return os.Rename(f.Name(), base+".pack") },
		func() error { return os.Rename(idx.Name(), base+".idx") }} {
		if err == nil {
			err = done()
		}
	}
	if err != nil {
		return unwritable(err)
	}
	return nil
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

func removeTemporary(store string) {
	for _, sub := range []string{"objects", packsDir} {
		found, _ := filepath.Glob(filepath.Join(store, sub, "pack", "tmp_*"))
		for _, path := range found {
			_ = os.Remove(path)
		}
	}
}

// damaged is the error for a pack that is not stored.
func damaged(ctx context.Context, url string, err error) error {
	if errors.Is(err, gitpack.ErrLimit) {
		return overLimit(url, err)
	}
	err = network(ctx, "fetching", url, fmt.Errorf("the pack is not usable: %w", err))
	var e *diag.Error
	if errors.Is(err, gitpack.ErrBroken) && errors.As(err, &e) {
		e.Retryable = false // it would be sent again
	}
	return err
}
