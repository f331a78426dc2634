package cas

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
)

// snapshots is the folder of sets of files that were named by their caller.
const snapshots = "cas"

// flushers is how many files are made durable at once: a journal takes several
// flushes together.
const flushers = 16

// Pending is a folder that is being filled, file by file. One goroutine uses
// it; until Commit nobody else sees it.
type Pending struct {
	s    *Store
	tmp  string
	dirs map[string]bool
	rels []string
}

// Begin starts a new folder.
func (s *Store) Begin() (*Pending, error) {
	root, err := s.open(snapshots)
	if err != nil {
		return nil, err
	}
	root.Close()
	s.sweep.Do(s.sweepAll)
	tmp, err := os.MkdirTemp(filepath.Join(s.Dir, snapshots), temporary+"*")
	if err != nil {
		return nil, unwritable("creating a folder in the cache", err)
	}
	return &Pending{s: s, tmp: tmp, dirs: map[string]bool{".": true}}, nil
}

func unwritable(doing string, err error) error {
	return diag.New(diag.FileSystemError, "%s: %w", doing, err).
		WithHint("RYE_CACHE names another folder for the cache; rye cache gc makes room in this one")
}

// Add writes one file. Paths that differ must not name one file here.
func (p *Pending) Add(f TreeFile) error {
	if err := openat.CheckRel(f.Rel); err != nil {
		return err
	}
	if err := p.folder(path.Dir(f.Rel)); err != nil {
		return err
	}
	if err := p.write(f); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return diag.New(diag.PathEscape, "writing %s into the cache: another path of the same files is the same here", f.Rel)
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
		return diag.New(diag.PathEscape, "writing %s into the cache: another path of the same files is the same here", rel)
	case err != nil:
		return unwritable("writing "+rel+" into the cache", err)
	}
	p.dirs[rel] = true
	return nil
}

func (p *Pending) at(rel string) string { return filepath.Join(p.tmp, filepath.FromSlash(rel)) }

func (p *Pending) write(f TreeFile) (err error) {
	w, err := os.OpenFile(p.at(f.Rel), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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

// Commit makes everything durable and puts the folder at cas/key in one step.
// What stood there is replaced when intact does not vouch for it; nil vouches
// for nothing. Afterwards the Pending is used up.
func (p *Pending) Commit(ctx context.Context, key string, intact func(dir string) bool) (string, error) {
	defer p.Discard()
	if key == "" || strings.HasPrefix(key, ".") || strings.ContainsAny(key, `/\`) {
		return "", diag.New(diag.Internal, "storing a snapshot: %q is no key", key)
	}
	target := filepath.Join(p.s.Dir, snapshots, key)
	if there(target, intact) {
		return target, nil
	}
	if err := p.flush(ctx); err != nil {
		return "", unwritable("writing the cache", err)
	}
	for range 20 {
		if os.Rename(p.tmp, target) == nil {
			return target, syncDir(filepath.Dir(target))
		}
		if there(target, intact) {
			return target, nil
		}
		aside := p.tmp + ".old"
		err := openat.Swap(p.tmp, target, aside)
		discard(aside)
		if err == nil {
			return target, syncDir(filepath.Dir(target))
		}
	}
	return "", diag.New(diag.FileSystemError, "storing %s: it changes as often as it is written", target)
}

func there(target string, intact func(string) bool) bool {
	_, err := os.Lstat(target)
	return err == nil && intact != nil && intact(target)
}

// flush makes the files durable, then the folders that name them.
func (p *Pending) flush(ctx context.Context) error {
	todo := make(chan string)
	errs := make([]error, flushers)
	var wg sync.WaitGroup
	for i := range flushers {
		wg.Go(func() {
			for rel := range todo {
				if errs[i] == nil {
					errs[i] = syncFile(p.at(rel))
				}
			}
		})
	}
	for _, rel := range p.rels {
		if ctx.Err() != nil {
			break
		}
		todo <- rel
	}
	close(todo)
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
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

// Discard removes what Commit did not take.
func (p *Pending) Discard() {
	if _, err := os.Lstat(p.tmp); err == nil {
		discard(p.tmp)
	}
}

// SnapshotDir returns where cas/key is, whether or not it exists.
func (s *Store) SnapshotDir(key string) string { return filepath.Join(s.Dir, snapshots, key) }

// Remove removes cas/key in one step, so that no reader sees half of it.
func (s *Store) Remove(key string) error {
	aside := filepath.Join(s.Dir, snapshots, temporary+key)
	if err := os.Rename(s.SnapshotDir(key), aside); err != nil {
		return err
	}
	discard(aside)
	return nil
}

// Snapshots lists the keys below cas.
func (s *Store) Snapshots() ([]string, error) {
	des, err := os.ReadDir(filepath.Join(s.Dir, snapshots))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, de := range des {
		if !strings.HasPrefix(de.Name(), ".") {
			out = append(out, de.Name())
		}
	}
	return out, err
}
