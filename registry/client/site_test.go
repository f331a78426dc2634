package client

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

const (
	siteHost = "rye.example"
	siteKey  = "ed25519:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

// site is a registry of static files whose files a test changes.
type site struct {
	t     *testing.T
	log   *memory
	w     *log.Writer
	key   string
	url   string
	state string // of the account

	mu    sync.Mutex
	files map[string][]byte
	asked []string // paths with the status

	fresh    map[string][]byte // files of the registry that differ from those of a cache on the way
	redirect string            // where every request is sent
}

func newSite(t *testing.T) *site {
	t.Helper()
	m, w, keys := newLog(t)
	_, key, _ := strings.Cut(keys, "\n")
	s := &site{t: t, log: m, w: w, key: key, state: t.TempDir(), files: map[string][]byte{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// ServeHTTP implements http.Handler.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b, ok := s.files[r.URL.Path]
	if x := s.fresh[r.URL.Path]; x != nil && r.Header.Get("Cache-Control") == "no-cache" {
		b, ok = x, true
	}
	s.mu.Unlock()
	status := http.StatusOK
	tag := `"` + item.DigestOf(b).Hex()[:16] + `"`
	switch {
	case s.redirect != "":
		http.Redirect(w, r, s.redirect, http.StatusFound)
	case !ok:
		s.log.ServeHTTP(w, r)
	case r.Header.Get("If-None-Match") == tag:
		status = http.StatusNotModified
		w.WriteHeader(status)
	default:
		w.Header().Set("ETag", tag)
		_, _ = w.Write(b)
	}
	s.mu.Lock()
	s.asked = append(s.asked, fmt.Sprintf("%s %d", r.URL.Path, status))
	s.mu.Unlock()
}

func (s *site) put(path string, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[path] = b; b == nil {
		delete(s.files, path)
	}
}

// append adds an entry to the log.
func (s *site) append(e *log.Entry) int64 {
	s.t.Helper()
	e.Time = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	b, err := e.Render()
	if err != nil {
		s.t.Fatal(err)
	}
	n, err := s.w.Append(s.t.Context(), b)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// host opens the registry as a new process of the account does.
func (s *site) host() *Host {
	s.t.Helper()
	h, err := clientOf(s.state, s.key, s.url).Host(s.t.Context(), siteHost)
	if err != nil {
		s.t.Fatal(err)
	}
	return h
}

// release publishes a version of acme/tools and returns its line.
func (s *site) release(version string, lines ...*wire.Line) []*wire.Line {
	s.t.Helper()
	digest := func(what string) string { return item.DigestOf([]byte(version + what)).String() }
	l := &wire.Line{V: 1, ID: "acme/tools", Version: version, Sum: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", Archive: digest("archive"), Size: 1,
		Manifest: digest("manifest"), Signers: []string{siteKey}, Publisher: siteKey, Published: "2026-11-22T10:00:00Z", State: wire.StateOK}
	l.Log = s.append(&log.Entry{Type: log.Release, ID: l.ID, Version: version, Sum: l.Sum, Archive: l.Archive, Manifest: l.Manifest, Signers: l.Signers, Publisher: siteKey, Statement: digest("statement")})
	lines = append(lines, l)
	s.index(lines)
	return lines
}

const siteIndex = "/index/acme/tools.jsonl"

func (s *site) index(lines []*wire.Line) { s.put(siteIndex, rendered(lines)) }

func rendered(lines []*wire.Line) (b []byte) {
	for _, l := range lines {
		b = append(b, l.Render()...)
	}
	return b
}

func (s *site) id() wire.ID { return wire.ID{NS: "acme", Name: "tools"} }
