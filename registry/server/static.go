package server

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

// Values of Cache-Control.
const (
	cacheIndex   = "public, max-age=60, stale-while-revalidate=600"
	cacheShort   = "public, max-age=60"
	cacheNewest  = "public, max-age=5"
	cacheForever = "public, max-age=31536000, immutable"
	cacheHosts   = "public, max-age=300"
)

// cacheOf returns the content type and the Cache-Control of a static path, "" for a path
// that is not one.
func cacheOf(p string) (kind, cache string) {
	switch {
	case p == wire.DiscoveryPath:
		return "application/json", cacheHosts
	case strings.HasPrefix(p, wire.IndexPath+"/") && strings.HasSuffix(p, ".jsonl"):
		return "application/jsonl", cacheIndex
	case strings.HasPrefix(p, wire.IndexPath+"/") && strings.HasSuffix(p, "/index.json"):
		return "application/json", cacheIndex
	case strings.HasPrefix(p, wire.ArchivePath+"/sha256/") && strings.HasSuffix(p, ".tgz"):
		return "application/gzip", cacheForever
	case p == wire.LogPath+"/checkpoint":
		return "text/plain; charset=utf-8", cacheNewest
	case strings.HasPrefix(p, wire.LogPath+"/tile/"):
		if strings.Contains(p, ".p/") {
			return "application/octet-stream", cacheNewest
		}
		return "application/octet-stream", cacheForever
	case strings.HasPrefix(p, wire.LogPath+"/rotation/") && strings.HasSuffix(p, ".toml"):
		return "application/toml", cacheHosts
	case p == wire.SearchPath+"/manifest.json":
		return "application/json", cacheShort
	case strings.HasPrefix(p, wire.SearchPath+"/") && strings.HasSuffix(p, ".seg"):
		return "application/gzip", cacheForever
	case strings.HasPrefix(p, wire.NamespacesPath+"/") && strings.HasSuffix(p, ".json"),
		p == wire.RevocationsPath:
		return "application/json", cacheShort
	case strings.HasPrefix(p, wire.StatementsPath+"/"):
		return "text/plain; charset=utf-8", cacheForever
	case strings.HasPrefix(p, "/revocations/") && strings.HasSuffix(p, ".toml"):
		return "application/toml", cacheForever
	}
	return "", ""
}

// static serves a file below public/.
func (s *Server) static(w http.ResponseWriter, h *http.Request) {
	p := h.URL.Path
	kind, cache := cacheOf(p)
	if kind == "" ||
		path.Clean(p) != p ||
		strings.ContainsAny(p, "\\:\x00") ||
		!filepath.IsLocal(filepath.FromSlash(p[1:])) {
		s.missing(w, h)
		return
	}
	file := s.base.Path(publicDir + p)
	b := s.shown.Load()
	err := error(nil)
	if b == nil || p != wire.LogPath+"/checkpoint" {
		b, err = s.cache.get(file)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.missing(w, h)
		return
	case err != nil:
		s.fail(w, h, rules.Unavailable("reading a file", err))
		return
	}
	header := w.Header()
	header["Content-Type"], header["Cache-Control"], header["Etag"] = []string{kind}, []string{cache}, b.etag
	header["X-Content-Type-Options"] = nosniff
	if h.Header.Get("If-None-Match") == b.etag[0] {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if b.data == nil {
		s.serveFile(w, h, file)
		return
	}
	if h.Header.Get("Range") != "" {
		http.ServeContent(
			w,
			h,
			"",
			time.Time{},
			strings.NewReader(string(b.data)),
		)
		return
	}
	_, _ = w.Write(b.data)
}

var nosniff = []string{"nosniff"}

func (s *Server) serveFile(w http.ResponseWriter, h *http.Request, file string) {
	f, err := os.Open(file)
	if err != nil {
		s.fail(w, h, rules.Unavailable("reading a file", err))
		return
	}
	defer f.Close()
	http.ServeContent(w, h, "", time.Time{}, f)
}

// missing answers for a path without a file. The archive of a deleted version is gone.
func (s *Server) missing(w http.ResponseWriter, h *http.Request) {
	if digest, ok := archiveDigest(h.URL.Path); ok {
		if v := s.snapshot().Deleted(digest); v != nil {
			writeFailure(w, http.StatusGone, diag.New(
				diag.VersionNotFound,
				"reading the archive: %s %s was deleted: %s",
				v.ID,
				v.Version,
				orNone(v.Reason),
			).
				WithDetail("tombstone", v))
			return
		}
	}
	w.Header().Set("Vary", "Accept") // a cache has both forms
	if strings.HasPrefix(h.URL.Path, "/b/") ||
		strings.Contains(h.Header.Get("Accept"), "text/html") {
		s.notFoundPage(w)
		return
	}
	writeFailure(w, http.StatusNotFound, diag.New(diag.SourceNotFound, "reading %s: the registry has no such file", h.URL.Path))
}

func writeFailure(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", cacheNewest)
	w.WriteHeader(status)
	_, _ = w.Write(wire.RenderFailure(err, 0))
}

func orNone(s string) string {
	if s == "" {
		return "no reason is given"
	}
	return s
}

func archiveDigest(p string) (string, bool) {
	rest, ok := strings.CutPrefix(p, wire.ArchivePath+"/sha256/")
	name, ok2 := strings.CutSuffix(path.Base(rest), ".tgz")
	return "sha256:" + name, ok && ok2
}

// fileCache keeps small files in memory, for as long as size and time on disk are the same.
type fileCache struct {
	mu    sync.RWMutex
	files map[string]*cachedFile
	size  int64
}

type cachedFile struct {
	info os.FileInfo
	data []byte // nil for a large file
	etag []string
}

// Limits of the cache.
const (
	maxCached     = 256 << 10 // bytes of one file
	maxCacheBytes = 32 << 20
)

func newFileCache() *fileCache {
	return &fileCache{files: map[string]*cachedFile{}}
}

func (c *fileCache) get(file string) (*cachedFile, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	c.mu.RLock()
	have := c.files[file]
	c.mu.RUnlock()
	if have != nil &&
		os.SameFile(have.info, info) &&
		have.info.Size() == info.Size() &&
		have.info.ModTime().Equal(info.ModTime()) {
		return have, nil
	}
	if info.Size() > maxCached {
		return &cachedFile{info: info, etag: []string{fmt.Sprintf(
			`"%x-%x"`,
			info.Size(),
			info.ModTime().UnixNano(),
		)}}, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f := newCachedFile(info, b)
	c.put(file, f)
	return f, nil
}

func newCachedFile(info os.FileInfo, b []byte) *cachedFile {
	sum := sha256.Sum256(b)
	return &cachedFile{info: info, data: b, etag: []string{`"` + hex.EncodeToString(sum[:16]) + `"`}}
}

// put keeps a file. A full cache is emptied: files that clients often read return at once.
func (c *fileCache) put(file string, f *cachedFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size+int64(len(f.data)) > maxCacheBytes {
		c.files = map[string]*cachedFile{}
		c.size = 0
	}
	c.files[file] = f
	c.size += int64(len(f.data))
}
