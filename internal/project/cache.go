package project

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/memo"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/owner"
)

// envCache names the cache directory itself.
const envCache = "RYE_CACHE"

// CacheDir is the directory of the content-addressed store.
type CacheDir struct {
	Dir     string // "" if there is none
	Refused error  // why Dir is not the user's cache directory but a temporary one; nil if it is
}

// Cache returns the cache directory: RYE_CACHE, the user's cache directory, or a
// private one below the temporary directory. What runs is a file of the cache, so
// one that another user controls is not used: RYE_CACHE is an error then, because
// the user named it, and the user's cache directory is replaced by the temporary
// one.
func (e *Env) Cache() (CacheDir, error) {
	if dir := e.Getenv(envCache); dir != "" {
		dir = e.Path(dir)
		if err := cacheProblem(dir); err != nil {
			return CacheDir{}, notMine(dir, err)
		}
		return CacheDir{Dir: dir}, nil
	}
	dir := e.UserDirs().Cache
	if dir == "" {
		return CacheDir{Dir: privateTemp("rye-cache-" + userID())}, nil
	}
	if err := cacheProblem(dir); err != nil {
		if temp := privateTemp("rye-cache-" + userID()); temp != "" {
			return CacheDir{Dir: temp, Refused: err}, nil
		}
		return CacheDir{}, notMine(dir, fmt.Errorf("%w, and there is no private temporary directory", err))
	}
	return CacheDir{Dir: dir}, nil
}

func notMine(dir string, why error) error {
	return diag.New(diag.ConfigError, "opening the cache %s: %w", dir, why).WithReason("cache_owner").
		WithDetail("path", dir).WithDetail("variable", envCache)
}

// cacheProblem returns an error if another user controls a cache directory or a
// directory in it. Other errors are left to the code that opens the cache.
func cacheProblem(dir string) error {
	var unsafe *owner.Unsafe
	if err := owner.Sealed(dir); errors.As(err, &unsafe) {
		return err
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type().IsRegular() {
			continue
		}
		err := owner.Private(filepath.Join(dir, e.Name()), "")
		if errors.As(err, &unsafe) {
			return err
		}
	}
	return nil
}

// privateTemp returns a directory below the temporary directory that no other user
// can have prepared or can change, "" if that is impossible.
func privateTemp(name string) string {
	dir := filepath.Join(os.TempDir(), name)
	// An existing directory is accepted only if it passes the check below: another
	// user may have made it first.
	_ = os.Mkdir(dir, 0o700)
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() || owner.Sealed(dir) != nil {
		return ""
	}
	return dir
}

// ownFiles are files of the user's state that this program alone writes. They need no trust: the
// memo knows which bytes it wrote.
type ownFiles struct {
	memo  *memo.Memo
	kind  memo.Kind
	dir   string
	build [sha256.Size]byte
}

func (p *Project) ownFiles(dir string, kind memo.Kind) ownFiles {
	return ownFiles{p.memo, kind, filepath.Join(p.Dirs.State, dir), p.Env.program()}
}

// Load implements runsoutside.Store.
func (k ownFiles) Load(name string) []byte {
	dir, err := openat.OpenFolder(k.dir)
	if err != nil {
		return nil
	}
	defer dir.Close()
	f, err := dir.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || fi.Size() > maxListings {
		return nil
	}
	b := make([]byte, fi.Size())
	_, err = io.ReadFull(f, b)
	if err != nil || !k.memo.Known(k.kind, k.fact(name, b)) {
		return nil
	}
	return b
}

// Save implements runsoutside.Store.
func (k ownFiles) Save(name string, b []byte) {
	if len(b) <= maxListings &&
		atomicfile.Private(k.dir).Write(name, b, 0o600) == nil {
		k.memo.Add(k.kind, k.fact(name, b))
	}
}

// fact names the program too: which entries are kept depends on its table of protected
// paths.
func (k ownFiles) fact(name string, b []byte) [sha256.Size]byte {
	sum := sha256.Sum256(b)
	return sha256.Sum256(append(append(k.build[:], name...), sum[:]...))
}
