package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
)

// Base returns the base for writing below the directory of the cache.
func (c *Cache) Base() atomicfile.Base {
	return atomicfile.Private(c.Store.Dir)
}

// GitDir returns the directory of git sources.
func (c *Cache) GitDir() string {
	return filepath.Join(c.Store.Dir, "git")
}

// Info is the size of a cache.
type Info struct {
	Dir           string `json:"dir"`
	Snapshots     int    `json:"snapshots"`
	SnapshotBytes int64  `json:"snapshot_bytes"`
	Remotes       int    `json:"remotes"`
	RemoteBytes   int64  `json:"remote_bytes"`
	Wheels        int    `json:"wheels"` // packages of Python tools
	WheelBytes    int64  `json:"wheel_bytes"`
	OtherBytes    int64  `json:"other_bytes"` // materialised items, abandoned writes
}

// Info measures the cache. A cache that does not exist is empty.
func (c *Cache) Info(ctx context.Context) (Info, error) {
	in := Info{Dir: c.Store.Dir}
	err := filepath.WalkDir(c.Store.Dir, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		rel, _ := filepath.Rel(c.Store.Dir, p)
		in.count(strings.Split(filepath.ToSlash(rel), "/"), d)
		return nil
	})
	if err != nil {
		return in, diag.New(diag.FileSystemError, "measuring the cache: %w", err)
	}
	return in, nil
}

func (in *Info) count(at []string, d fs.DirEntry) {
	if d.IsDir() {
		switch {
		case len(at) == 2 && at[0] == "cas" && sumOfKey(at[1]) != "":
			in.Snapshots++
		case len(at) == 2 && at[0] == "git":
			in.Remotes++
		}
		return
	}
	fi, err := d.Info()
	switch {
	case err != nil:
	case at[0] == "cas" && sumOfKey(at[1]) != "":
		in.SnapshotBytes += fi.Size()
	case at[0] == "git":
		in.RemoteBytes += fi.Size()
	case isWheel(at):
		in.Wheels++
		in.WheelBytes += fi.Size()
	default:
		in.OtherBytes += fi.Size()
	}
}

// wheelDir is the directory of the packages of Python tools, with one directory for each
// Python. Package wheels writes them.
const wheelDir = "wheels"

// isWheel reports whether a path below the cache is the file of a package.
func isWheel(at []string) bool {
	return len(at) == 3 &&
		at[0] == wheelDir &&
		strings.HasSuffix(at[2], ".whl")
}

// GCParams selects what GC removes. The zero value removes entries that were not
// used for 30 days.
type GCParams struct {
	Unused time.Duration // the time without use; 0 means 30 days, negative removes everything
	DryRun bool          // remove nothing
}

// Freed counts what GC removed.
type Freed struct {
	Snapshots int   `json:"snapshots"`
	Remotes   int   `json:"remotes"`
	Wheels    int   `json:"wheels"`
	Bytes     int64 `json:"bytes"`
}

// GC removes unused entries. A snapshot that another process reads meanwhile fails
// verification there and is fetched again. A remote that is in use stays.
func (c *Cache) GC(ctx context.Context, p GCParams) (Freed, error) {
	if p.Unused == 0 {
		p.Unused = 30 * 24 * time.Hour
	}
	var freed Freed
	keys, err := c.Store.Snapshots()
	if err != nil {
		return freed, diag.New(diag.FileSystemError, "listing the cache: %w", err)
	}
	for _, key := range keys {
		if ctx.Err() != nil {
			return freed, cancelled(ctx)
		}
		dir := c.Store.SnapshotDir(key)
		if !c.unused(dir, p.Unused) {
			continue
		}
		size := sizeOf(dir)
		if !p.DryRun {
			if err := c.Store.Remove(key); err != nil {
				return freed, diag.New(diag.FileSystemError, "removing from the cache: %w", err)
			}
		}
		freed.Snapshots++
		freed.Bytes += size
	}
	if err := c.gcRemotes(ctx, p, &freed); err != nil {
		return freed, err
	}
	return freed, c.gcWheels(ctx, p, &freed)
}

// gcWheels removes packages of Python tools. rye sync fetches those that a lock has.
func (c *Cache) gcWheels(ctx context.Context, p GCParams, freed *Freed) error {
	files, err := filepath.Glob(filepath.Join(c.Store.Dir, wheelDir, "*", "*.whl"))
	if err != nil {
		return diag.New(diag.FileSystemError, "listing the cache: %w", err)
	}
	for _, file := range files {
		if ctx.Err() != nil {
			return cancelled(ctx)
		}
		fi, err := os.Lstat(file)
		if err != nil ||
			!fi.Mode().IsRegular() ||
			!c.unused(file, p.Unused) {
			continue
		}
		if !p.DryRun {
			rel := filepath.Join(wheelDir, filepath.Base(filepath.Dir(file)), filepath.Base(file))
			err := c.Base().Remove(filepath.ToSlash(rel))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return diag.New(diag.FileSystemError, "removing from the cache: %w", err)
			}
		}
		freed.Wheels++
		freed.Bytes += fi.Size()
	}
	return nil
}

func (c *Cache) unused(path string, d time.Duration) bool {
	fi, err := os.Stat(path)
	return err == nil && (d < 0 || c.now().Sub(fi.ModTime()) > d)
}

func (c *Cache) gcRemotes(ctx context.Context, p GCParams, freed *Freed) error {
	des, err := os.ReadDir(c.GitDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diag.New(diag.FileSystemError, "listing the cache: %w", err)
	}
	for _, de := range des {
		dir := filepath.Join(c.GitDir(), de.Name())
		if !de.IsDir() || !c.unused(dir, p.Unused) {
			continue
		}
		size := sizeOf(dir)
		if !p.DryRun {
			err := c.removeRemote(ctx, dir)
			if errors.Is(err, context.DeadlineExceeded) {
				continue
			} else if err != nil {
				return diag.New(diag.FileSystemError, "removing from the cache: %w", err)
			}
		}
		freed.Remotes++
		freed.Bytes += size
	}
	return nil
}

// removeRemote removes a remote unless another process has locked it. Its lock file
// stays: another process may wait for it.
func (c *Cache) removeRemote(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	base := c.Base()
	name := "git/" + filepath.Base(dir)
	l, err := base.Lock(ctx, name+".lock")
	if err != nil {
		return err
	}
	defer l.Release()
	return base.RemoveAll(name)
}

func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // unreadable entries do not count
		}
		if fi, err := d.Info(); err == nil && !d.IsDir() {
			n += fi.Size()
		}
		return nil
	})
	return n
}

// Checked is the result of Verify.
type Checked struct {
	Snapshots int            `json:"snapshots"`
	Findings  []diag.Finding `json:"findings"`
}

// Verify reads every file of every snapshot. With repair it removes damaged
// snapshots, which are fetched again when needed.
func (c *Cache) Verify(ctx context.Context, repair bool) (Checked, error) {
	var out Checked
	keys, err := c.Store.Snapshots()
	if err != nil {
		return out, diag.New(diag.FileSystemError, "listing the cache: %w", err)
	}
	for _, key := range keys {
		if ctx.Err() != nil {
			return out, cancelled(ctx)
		}
		out.Snapshots++
		s, err := c.Open(sumOfKey(key))
		if err == nil {
			err = s.verify(ctx)
		}
		if err == nil {
			continue
		}
		f := diag.Errorf(diag.HashMismatch, 0, 0, "%s", err)
		f.Path = "cas/" + key
		if repair && c.Store.Remove(key) == nil {
			f.Severity = diag.SeverityWarning
			f.Message += "; removed"
		} else {
			f.Reason = "cache"
		}
		out.Findings = append(out.Findings, f)
	}
	return out, nil
}
