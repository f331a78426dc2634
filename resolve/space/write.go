package space

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
)

// Write replaces the file at rel, whole at every instant; its mode stays.
func (r *Root) Write(rel string, b []byte) error {
	return r.write(rel, func(file string) error { return atomicfile.Write(file, b, 0) })
}

// Replace is Write for content that is stored elsewhere too, such as in git: it
// does not wait for the disk.
func (r *Root) Replace(rel string, b []byte) error {
	return r.write(rel, func(file string) error { return atomicfile.Replace(file, b, 0) })
}

// Create writes a new file at rel and the folders above it. A file that exists
// stays and is an error.
func (r *Root) Create(rel string, b []byte) error { return r.create(rel, b, 0o644) }

// CreatePrivate is Create for what only the user may read.
func (r *Root) CreatePrivate(rel string, b []byte) error { return r.create(rel, b, 0o600) }

func (r *Root) create(rel string, b []byte, perm fs.FileMode) error {
	return r.write(rel, func(file string) error {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return atomicfile.CreateExclusive(file, b, perm)
	})
}

// write refuses a path that passes through a link, as reading does, and keeps
// the code of what refuses.
func (r *Root) write(rel string, do func(file string) error) error {
	if !r.OnDisk() {
		return diag.New(diag.PermissionDenied, "writing %s: the %s space is read-only here", r.Display(rel), r.Space)
	}
	if r.ReadOnly() {
		return diag.New(diag.PermissionDenied, "writing %s: the files of an installed bundle are never edited", r.Display(rel)).
			WithHint("rye load REF --to project makes a copy of one item that is yours")
	}
	err := r.linkless(rel)
	if err == nil {
		err = do(r.Path(rel))
	}
	if err == nil {
		return nil
	}
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.FileSystemError
	}
	return diag.New(code, "writing %s: %w", r.Display(rel), err)
}

func (r *Root) linkless(rel string) error {
	if err := openat.CheckRel(rel); err != nil {
		return err
	}
	if _, err := r.open(); err != nil && !IsMissing(err) {
		return err
	}
	for at := rel; at != "."; at = path.Dir(at) {
		if fi, err := os.Lstat(r.Path(at)); err == nil && fi.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return diag.New(diag.PathEscape, "%s is a link", r.Display(at)).WithHint("replace the link by the file or folder itself")
		}
	}
	return nil
}

// Locate finds the root on disk that a path lies in, as it is spelled or with
// the links above it followed, and the path below the root's .ai folder, "."
// for the folder itself. It says nothing about what stands there.
func (s *Spaces) Locate(file string) (root *Root, rel string, ok bool) {
	spellings := []string{file}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		spellings = append(spellings, filepath.Join(dir, filepath.Base(file)))
	}
	for _, file := range spellings {
		for _, r := range s.Roots {
			// A bundle's folder lies below that of its space: the deepest counts.
			if at, below := r.below(file); below && (!ok || len(at) < len(rel)) {
				root, rel, ok = r, at, true
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
	bases := []string{r.aiDir}
	if dir, err := filepath.EvalSymlinks(r.aiDir); err == nil {
		bases = append(bases, dir)
	}
	for _, base := range bases {
		rel, err := filepath.Rel(base, file)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}
