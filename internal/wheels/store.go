package wheels

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/openat"
)

// MaxWheel is the largest wheel in bytes.
const MaxWheel = 256 << 20

// Store has the wheels of one Python and platform as files DIGEST.whl.
type Store struct{ Dir string }

// NewStore returns the store below a cache directory for a Python (see Python.Tag).
func NewStore(cache, tag string) Store {
	return Store{filepath.Join(cache, "wheels", tag)}
}

// Has reports whether a wheel is in the store with the bytes of its digest.
func (s Store) Has(digest string) bool {
	_, err := s.Read(digest)
	return err == nil
}

// Read returns the bytes of a wheel, whose SHA-256 is digest.
func (s Store) Read(digest string) ([]byte, error) {
	path := filepath.Join(s.Dir, digest+".whl")
	b, err := openat.ReadRegular(path, MaxWheel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil && sum(b) == digest {
		return b, nil
	}
	return nil, diag.New(diag.HashMismatch, "reading %s: it is not the wheel that is locked", path).WithReason("wheel_changed")
}

// Used records that a wheel is used now. The cache is cleaned of the wheels that were
// not used for long. A cache that cannot be written is not an error.
func (s Store) Used(digest string, now time.Time) {
	path := filepath.Join(s.Dir, digest+".whl")
	fi, err := os.Lstat(path)
	if err == nil && now.Sub(fi.ModTime()) > time.Hour {
		_ = os.Chtimes(path, time.Time{}, now)
	}
}

func sum(b []byte) string {
	d := sha256.Sum256(b)
	return hex.EncodeToString(d[:])
}

// Fetch downloads a wheel that is not in the store. The bytes must have its SHA-256.
func (s Store) Fetch(ctx context.Context, w Wheel, proxy string) error {
	if _, err := s.Read(w.SHA256); err == nil {
		return nil
	}
	u, err := url.Parse(w.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return diag.New(diag.Network, "fetching %s %s: %q is not an address of HTTP", w.Name, w.Version, w.URL)
	}
	doing := "fetching " + w.Name + " " + w.Version + " from " + u.Host
	// The index is the user's own setting and may be in a private network.
	c, err := httpx.New(httpx.Params{AllowPrivate: []string{u.Hostname()}, Proxy: proxy})
	if err != nil {
		return err
	}
	res, err := c.Do(ctx, httpx.Request{
		Method:       "GET",
		URL:          w.URL,
		MaxBytes:     MaxWheel,
		MaxRedirects: 5,
		Retry:        httpx.Retry{Attempts: 3},
	})
	switch {
	case err != nil:
		return diag.New(diag.Network, "%s: %w", doing, err)
	case res.Status != 200:
		return diag.New(diag.Network, "%s: status %d", doing, res.Status)
	case res.Truncated:
		return diag.New(diag.TooLarge, "%s: it is larger than %d MiB", doing, MaxWheel>>20)
	case sum(res.Body) != w.SHA256:
		return diag.New(diag.HashMismatch, "%s: the file has SHA-256 %s, not the locked %s", doing, sum(res.Body), w.SHA256).
			WithReason("wheel_changed").
			WithDetail("expected", w.SHA256).
			WithDetail("found", sum(res.Body))
	}
	return atomicfile.Private(s.Dir).Write(w.SHA256+".whl", res.Body, 0o600)
}
