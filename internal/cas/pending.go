package cas

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/owner"
	"golang.org/x/sync/errgroup"
)

// snapshots is the directory of sets of files that have a key of the caller.
const snapshots = "cas"

// flushers is the number of files that are synced at once: a journal combines
// several syncs.
const flushers = 16

// Pending is a directory that receives files one by one. Only one goroutine may use
// it. Other processes do not see it before Commit.
type Pending struct {
	s    *Store
	tmp  string
	dirs map[string]bool
	rels []string
}

// Begin starts a new directory.
func (s *Store) Begin() (*Pending, error) {
	root, err := s.open(snapshots)
	if err != nil {
		return nil, err
	}
	root.Close()
	s.sweep.Do(s.sweepAll)
	tmp, err := os.MkdirTemp(filepath.Join(s.Dir, snapshots), temporary+"*")
	if err != nil {
		return nil, unwritable("creating a directory in the cache", err)
	}
	return &Pending{s: s, tmp: tmp, dirs: map[string]bool{".": true}}, nil
}

func unwritable(doing string, err error) error {
	return diag.New(diag.FileSystemError, "%s: %w", doing, err).WithReason("cache")
}

// Add writes one file. It is an error if two paths name one file on this file
// system.
func (p *Pending) Add(f TreeFile) error {
	if err := openat.CheckRel(f.Rel); err != nil {
		return err
	}
	err := p.folder(path.Dir(f.Rel))
	if err != nil {
		return err
	}
	if err := p.write(f); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return diag.New(diag.PathEscape, "writing %s into the cache: another path names the same file on this file system", f.Rel)
		}
		return unwritable("writing "+f.Rel+" into the cache", err)
	}
	p.rels = append(p.rels, f.Rel)
	return nil
}

func (p *Pending) folder(rel string) error {
	if p.dirs[rel] {
		return nil
	}
	if err := p.folder(path.Dir(rel)); err != nil {
		return err
	}
	switch err := os.Mkdir(p.at(rel), 0o700); {
	case errors.Is(err, fs.ErrExist):
		return diag.New(diag.PathEscape, "writing %s into the cache: another path names the same file on this file system", rel)
	case err != nil:
		return unwritable("writing "+rel+" into the cache", err)
	}
	p.dirs[rel] = true
	return nil
}

func (p *Pending) at(rel string) string {
	return filepath.Join(p.tmp, filepath.FromSlash(rel))
}

func (p *Pending) write(f TreeFile) (err error) {
	w, err := os.OpenFile(
		p.at(f.Rel),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL,
		0o600,
	)
	if err != nil {
		return err
	}
	defer func() {
		if e := w.Close(); err == nil {
			err = e
		}
	}()
	if _, err = w.Write(f.Bytes); err != nil {
		return err
	}
	return w.Chmod(modeOf(f))
}

// Commit syncs the files and moves the directory to cas/key in one step. It keeps an
// existing directory for which intact returns true and replaces any other; a nil
// intact replaces all. The Pending cannot be used afterwards.
func (p *Pending) Commit(
	ctx context.Context,
	key string,
	intact func(dir string) bool,
) (string, error) {
	defer p.Discard()
	if key == "" || strings.HasPrefix(key, ".") || strings.ContainsAny(key, `/\`) {
		return "", diag.New(diag.Internal, "storing a snapshot: %q is not a valid key", key)
	}
	target := filepath.Join(p.s.Dir, snapshots, key)
	if present(target, intact) {
		return target, nil
	}
	if err := p.flush(ctx); err != nil {
		return "", unwritable("writing the cache", err)
	}
	for range 20 {
		if os.Rename(p.tmp, target) == nil {
			return target, syncDir(filepath.Dir(target))
		}
		if present(target, intact) {
			return target, nil
		}
		aside := p.tmp + ".old"
		err := openat.Swap(p.tmp, target, aside)
		discard(aside)
		if err == nil {
			return target, syncDir(filepath.Dir(target))
		}
	}
	return "", diag.New(diag.FileSystemError, "storing %s: another process keeps changing it", target)
}

func present(target string, intact func(string) bool) bool {
	_, err := os.Lstat(target)
	return err == nil && intact != nil && owner.Private(target, "") == nil && intact(target)
}

// flush syncs the files, then the directories: a directory must not name a file that
// is not on the disk.
func (p *Pending) flush(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(flushers)
	for _, rel := range p.rels {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return syncFile(p.at(rel))
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for rel := range p.dirs {
		if rel != "." {
			if err := seal(p.at(rel)); err != nil {
				return err
			}
		}
	}
	return seal(p.tmp)
}

// Discard removes a Pending that was not committed.
func (p *Pending) Discard() {
	if _, err := os.Lstat(p.tmp); err == nil {
		discard(p.tmp)
	}
}

// SnapshotDir returns the path of cas/key, which need not exist.
func (s *Store) SnapshotDir(key string) string {
	return filepath.Join(s.Dir, snapshots, key)
}

// Remove removes cas/key in one step: a reader sees all of it or nothing.
func (s *Store) Remove(key string) error {
	return s.in(snapshots, func(dir *openat.Folder) error {
		_ = dir.RemoveAll(temporary + key) // of a process that was stopped here
		if err := dir.Rename(key, dir, temporary+key); err != nil {
			return err
		}
		_ = dir.RemoveAll(temporary + key) // what cannot be removed now is swept later
		return nil
	})
}

// Snapshots returns the keys in cas.
func (s *Store) Snapshots() (out []string, err error) {
	err = s.in(snapshots, func(dir *openat.Folder) error {
		des, err := dir.Entries()
		for _, de := range des {
			if !strings.HasPrefix(de.Name(), ".") {
				out = append(out, de.Name())
			}
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return out, err
}
