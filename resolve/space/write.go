package space

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
)

// Write replaces the file at rel atomically and keeps its mode.
func (r *Root) Write(rel string, b []byte) error {
	return r.write(rel, func(at atomicfile.Base) error {
		return at.Write(rel, b, 0)
	})
}

// Replace is Write without fsync, for content that can be restored, for example
// from git.
func (r *Root) Replace(rel string, b []byte) error {
	return r.write(rel, func(at atomicfile.Base) error {
		return at.Replace(rel, b, 0)
	})
}

// Create writes a new file at rel and its parent directories. A file that exists
// is an error and stays unchanged.
func (r *Root) Create(rel string, b []byte) error {
	return r.create(rel, b, 0o644)
}

// CreatePrivate is Create with mode 0600.
func (r *Root) CreatePrivate(rel string, b []byte) error {
	return r.create(rel, b, 0o600)
}

func (r *Root) create(rel string, b []byte, perm fs.FileMode) error {
	return r.write(rel, func(at atomicfile.Base) error {
		return at.Create(rel, b, perm)
	})
}

// Remove removes the file or empty directory at rel. If nothing is there the error
// satisfies IsMissing.
func (r *Root) Remove(rel string) error {
	return r.write(rel, func(at atomicfile.Base) error {
		return at.Remove(rel)
	})
}

// writeBase is Root.WriteBase: only the .ai of the user space may be a link.
func (d *diskFiles) writeBase() atomicfile.Base {
	if d.followAI {
		return atomicfile.Space(d.dir)
	}
	return atomicfile.Project(d.base).Below(Dir)
}

// WriteBase returns the base for writing below .ai. The root must be on disk.
func (r *Root) WriteBase() atomicfile.Base {
	return r.disk.writeBase().Shown(r.Display(""))
}

// write calls do unless the root is read-only. The code of an error is kept.
func (r *Root) write(rel string, do func(atomicfile.Base) error) error {
	if !r.OnDisk() {
		return diag.New(diag.PermissionDenied, "writing %s: the %s space is read-only here", r.Display(rel), r.Space)
	}
	if r.ReadOnly() {
		return diag.New(diag.PermissionDenied, "writing %s: the files of an installed bundle are read-only", r.Display(rel)).
			WithReason("installed_bundle")
	}
	return do(r.WriteBase())
}

func (r *Root) linkless(rel string) error {
	return r.disk.linkless(rel, r.Display)
}

// Locate returns the root on disk that contains a path, as it is spelled or with
// the links in its directory followed, and the path below the root's .ai
// directory ("." for the directory itself). The file need not exist.
func (s *Spaces) Locate(file string) (root *Root, rel string, ok bool) {
	spellings := []string{file}
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err == nil {
		spellings = append(spellings, filepath.Join(dir, filepath.Base(file)))
	}
	for _, file := range spellings {
		for _, r := range s.Roots {
			// An install directory is below the .ai of its space: the root with the
			// shortest remaining path is the right one.
			at, below := r.below(file)
			if below && (!ok || len(at) < len(rel)) {
				root = r
				rel = at
				ok = true
			}
		}
		if ok {
			return root, rel, true
		}
	}
	return nil, "", false
}

func (r *Root) below(file string) (string, bool) {
	if !r.OnDisk() {
		return "", false
	}
	bases := []string{r.disk.dir}
	if dir, err := filepath.EvalSymlinks(r.disk.dir); err == nil {
		bases = append(bases, dir)
	}
	for _, base := range bases {
		rel, err := filepath.Rel(base, file)
		if err == nil &&
			rel != ".." &&
			!strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}
