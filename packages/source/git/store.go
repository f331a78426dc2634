package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/packages/source"
)

// store is the directory of one remote in the cache:
//
//	url            the address, for people
//	refs.json      the refs of the last time, for --offline
//	sums/…         commit and folder -> tree and sum of the snapshot
//	files.git      commits with their files, without history
//	partial.git    the same with the files of some directories only
//	history.git    all commits, without files
//	all.git        everything, for remotes that cannot send less
//
// Writers hold the lock file next to it. Everything in it can be fetched again.
type store struct {
	cache *source.Cache
	dir   string
	url   string
}

// The repositories of a store.
const (
	filesGit   = "files.git"
	partialGit = "partial.git"
	historyGit = "history.git"
	allGit     = "all.git"
)

func newStore(c *source.Cache, url string) *store {
	sum := sha256.Sum256([]byte(url))
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' ||
			r >= '0' && r <= '9' ||
			r == '.' ||
			r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(url[strings.Index(url, "://")+1:]))
	return &store{cache: c, dir: filepath.Join(c.GitDir(), fmt.Sprintf(
		"%s-%x",
		strings.Trim(safe[:min(60, len(safe))], "._-"),
		sum[:8],
	)), url: url}
}

// base returns the base for writing into the store. rel is the store's own path, or
// the path of a file next to it with a suffix, below the cache.
func (s *store) base() atomicfile.Base {
	return s.cache.Base().Below(s.rel(""))
}

func (s *store) rel(suffix string) string {
	return "git/" + filepath.Base(s.dir) + suffix
}

// with calls fn while this process has the lock of the store.
func (s *store) with(ctx context.Context, fn func() error) error {
	l, err := s.cache.Base().Lock(ctx, s.rel(".lock"))
	if err != nil {
		if ctx.Err() != nil {
			return stopped(ctx, "waiting for another process that fetches", s.url)
		}
		return s.unwritable(err)
	}
	defer l.Release()
	if err := s.base().MkdirAll("sums"); err != nil {
		return s.unwritable(err)
	}
	return fn()
}

func (s *store) unwritable(err error) error {
	return diag.New(diag.FileSystemError, "writing the cache for %s: %w", s.url, err).WithReason("cache")
}

// maxSmallFile bounds the files that are read into memory: refs, settings and
// records. Large repositories have packed-refs of some megabytes.
const maxSmallFile = 256 << 20

// repository returns the path of one of the store's bare repositories, and creates it
// if it is missing. HEAD is written last: without it, a killed process left the rest.
func (s *store) repository(name string, isSHA256 bool) (string, error) {
	dir := filepath.Join(s.dir, name)
	if b, err := openat.ReadRegular(filepath.Join(dir, "config"), maxSmallFile); err == nil {
		_, err := os.Stat(filepath.Join(dir, "HEAD"))
		if err == nil && strings.Contains(string(b), configOf(isSHA256)) {
			return dir, s.clearLocks(name)
		}
		if err := s.base().RemoveAll(name); err != nil { // unfinished, or the remote has another format now
			return "", s.unwritable(err)
		}
	}
	for _, sub := range []string{"objects/pack", "objects/info", "refs/heads", "refs/tags"} {
		err := s.base().MkdirAll(name + "/" + sub)
		if err != nil {
			return "", s.unwritable(err)
		}
	}
	s.save("url", []byte(s.url+"\n"))
	err := plainConfig(dir, isSHA256)
	if err == nil {
		err = s.base().Write(name+"/HEAD", []byte("ref: refs/heads/main\n"), 0o600)
	}
	if err != nil {
		return "", s.unwritable(err)
	}
	return dir, nil
}

// clearLocks removes the lock files that git left in a repository when it was killed
// with its rye. No other rye uses the repository: this process has the lock of the store.
// A git that outlived its rye is about to end and removes its own.
func (s *store) clearLocks(name string) error {
	var left []string
	for range lockTries {
		if left = s.lockFiles(name); len(left) == 0 {
			return nil
		}
		time.Sleep(lockPause)
	}
	for _, at := range left {
		err := s.base().Remove(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.unwritable(err)
		}
	}
	return nil
}

const (
	lockTries = 10
	lockPause = 20 * time.Millisecond
)

// lockFiles returns the paths of the files that git creates to change the grafts, the refs
// and the settings of a repository.
func (s *store) lockFiles(name string) []string {
	var out []string
	for _, sub := range []string{"", "/refs/rye"} {
		entries, _ := os.ReadDir(filepath.Join(s.dir, name+sub))
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".lock") {
				out = append(out, name+sub+"/"+e.Name())
			}
		}
	}
	return out
}

func configOf(isSHA256 bool) string {
	format := "sha1"
	if isSHA256 {
		format = "sha256"
	}
	return "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = " + format + "\n"
}

// plainConfig writes the settings of a repository of the store, without a remote.
func plainConfig(dir string, isSHA256 bool) error {
	return atomicfile.Private(filepath.Dir(dir)).Write(
		filepath.Base(dir)+"/config",
		[]byte(configOf(isSHA256)),
		0o600,
	)
}

// discard removes a damaged repository of the store.
func (s *store) discard(name string) error {
	if err := s.base().RemoveAll(name); err != nil {
		return s.unwritable(err)
	}
	return nil
}

// saveRefs saves the refs for --offline. It reports no errors: nothing depends on it.
func (s *store) saveRefs(r *Refs) {
	b, err := json.Marshal(r)
	if err == nil {
		s.save("refs.json", b)
	}
}

// save writes a file that may be lost, unless it has the same text. Both count as a
// use of the store for GC.
func (s *store) save(rel string, b []byte) {
	was, err := openat.ReadRegular(filepath.Join(s.dir, filepath.FromSlash(rel)), maxSmallFile)
	if err == nil && bytes.Equal(was, b) {
		s.cache.Used(s.dir)
		return
	}
	_ = s.base().Replace(rel, b, 0o600)
}

func (s *store) loadRefs() (*Refs, error) {
	b, err := openat.ReadRegular(filepath.Join(s.dir, "refs.json"), maxSmallFile)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 { // empty after a power loss
		return nil, source.NotCached("the versions of " + s.url)
	}
	var r Refs
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading the cache for %s: %w", s.url, err)
	}
	r.sort()
	return &r, nil
}

// fetched is the record of a snapshot in the store.
type fetched struct {
	Tree string `json:"tree"`
	Sum  string `json:"sum"`
	Time int64  `json:"time"`
	// Left is Snapshot.Left: without it a link would be missing where the cache is read.
	Left []treehash.File `json:"left,omitempty"`
}

// sumFile returns the path of the record of a snapshot, relative to the store.
func (s *store) sumFile(o source.Origin) string {
	text := o.TagObject + "\n" + o.Commit + "\n" + o.Subdir
	if o.Whole {
		text += "\nwhole"
	}
	sum := sha256.Sum256([]byte(text))
	return "sums/" + hex.EncodeToString(sum[:16])
}

func (s *store) saveSum(o source.Origin, f fetched) {
	if b, err := json.Marshal(f); err == nil {
		s.save(s.sumFile(o), b)
	}
}

func (s *store) loadSum(o source.Origin) (f fetched, ok bool) {
	b, err := openat.ReadRegular(
		filepath.Join(s.dir, filepath.FromSlash(s.sumFile(o))),
		maxSmallFile,
	)
	return f, err == nil && json.Unmarshal(b, &f) == nil
}
