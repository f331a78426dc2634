package client

import (
	"context"
	"path"
	"strings"
	"sync"

	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

// tileCache reads tiles of a log and keeps those that a reader verified. What it reads is
// not verified: log.Reader does that for every use.
type tileCache struct {
	h       *Host
	mu      sync.Mutex
	fetched map[string][]byte // since the last flush
	skip    bool              // do not use the files: one of them was wrong
}

func newTileCache(h *Host) *tileCache {
	return &tileCache{h: h, fetched: map[string][]byte{}}
}

const tilesDir = "tiles"

// read implements log.Source.
func (t *tileCache) read(ctx context.Context, p string, limit int64) ([]byte, error) {
	t.mu.Lock()
	b, ok := t.fetched[p]
	skip := t.skip
	t.mu.Unlock()
	if ok {
		return b, nil
	}
	if !skip {
		b, err := openat.ReadRegular(t.h.dir.Path(tilesDir+"/"+p), limit)
		if err == nil {
			return b, nil
		}
	}
	err := t.h.remote.get(
		ctx,
		wire.LogPath+"/"+p,
		limit,
		"",
		func(f file) error { b = f.body; return nil },
	)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.fetched[p] = b
	t.mu.Unlock()
	return b, nil
}

// flush writes what was fetched, after a reader verified it. The cache saves requests
// only, so an error is not one of the caller.
func (t *tileCache) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, b := range t.fetched {
		if dir, _, partial := strings.Cut(p, ".p/"); partial {
			_ = t.h.dir.RemoveAll(tilesDir + "/" + dir + ".p") // narrower ones
		}
		_ = t.h.dir.Replace(path.Join(tilesDir, p), b, 0o600)
	}
	clear(t.fetched)
}

// drop forgets what was fetched and reads the server instead of the files from now on.
// It reports whether files were in use before.
func (t *tileCache) drop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	had := !t.skip
	clear(t.fetched)
	t.skip = true
	return had
}

// proven calls fn with a reader of a tree. If a proof fails with files of the cache, it
// tries once with files of the server: a damaged file must not look like an attack.
func (h *Host) proven(t log.Tree, fn func(r *log.Reader) error) error {
	err := fn(log.NewReader(h.tiles.read, t))
	if isProof(err) && h.tiles.drop() && !h.c.p.Offline {
		err = fn(log.NewReader(h.tiles.read, t))
	}
	if err == nil {
		h.tiles.flush()
	}
	return err
}
