package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// maxQuarantined bounds the list in an error.
const maxQuarantined = 64

// quarantine moves protected paths that appeared during a run out of a writable
// directory: an absent path cannot be protected in a directory that is writable. One in a
// directory that replaced another, which the program renamed, appeared too. The
// program has ended, and nothing of it runs. number is the first of the names.
func quarantine(project, root, to string, number int, before guarded, protect func(string) (policy.ProtectedPath, string, bool), seen *Listings) (moved []string, err error) {
	known := map[string]bool{}
	for _, p := range slices.Concat(before.fixed, before.secret) {
		known[p] = true
	}
	search := newGuard(protect, seen)
	search.ended, search.left = true, 10*protectedEntries // the program may have made many
	after := search.find(project, root)
	var added []string
	for _, p := range slices.Concat(after.fixed, after.secret) {
		if (!known[p] || !after.same(before, p)) && !below(p, to) { // the result directory may be in .ai, which a first run creates
			added = append(added, p)
		}
	}
	for p, target := range after.links {
		if was, ok := before.links[p]; (!ok || was != target || !after.same(before, p)) && !below(p, to) {
			added = append(added, p)
		}
	}
	added = slices.Compact(slices.Sorted(slices.Values(added)))
	if before.complete && !after.complete {
		err = fmt.Errorf("the program created more files or deeper directories in %q than are searched for protected paths", root)
	}
	if len(added) == 0 {
		return nil, err
	}
	if to == "" {
		return nil, fmt.Errorf("there is no directory for %s", added[0])
	}
	if made := os.MkdirAll(to, 0o700); made != nil {
		return nil, made
	}
	to, made := os.MkdirTemp(to, "run-") // what an earlier run created keeps its name
	if made != nil {
		return nil, made
	}
	for i, p := range added {
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return moved, err
		}
		name := fmt.Sprintf("%03d-%s", number+i, strings.ReplaceAll(filepath.ToSlash(rel), "/", "%"))
		if err := move(p, filepath.Join(to, name)); err != nil {
			return moved, err
		}
		moved = append(moved, p)
	}
	return moved, err
}

// move moves a file or directory. The target does not exist. Between file systems only
// files and directories are copied: links and special files are removed.
func move(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrPermission) { // the program made the directory read-only
		_ = os.Chmod(filepath.Dir(from), 0o700)
		_ = os.Chmod(from, 0o700)
		err = os.Rename(from, to)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if fi, err := os.Lstat(from); err == nil {
		// The copy is for inspection. That the file is gone does not depend on it.
		_ = copyTree(from, to, fi)
	}
	_ = filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(p, 0o700)
		}
		return err
	})
	return os.RemoveAll(from)
}

func copyTree(from, to string, fi fs.FileInfo) error {
	if fi.Mode().IsRegular() {
		b, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o600)
	}
	if !fi.IsDir() {
		return nil
	}
	return os.CopyFS(to, regularFS{os.DirFS(from)})
}

// regularFS is a file system without links and special files.
type regularFS struct{ fs.FS }

func (r regularFS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(r.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return !e.IsDir() && !e.Type().IsRegular() }), err
}

// quarantined returns POLICY_DENIED for paths that were moved, or for those that could
// not be.
func quarantined(moved []string, to string, failed error) error {
	if failed == nil && len(moved) == 0 {
		return nil
	}
	first := ""
	if len(moved) > 0 {
		first = moved[0]
	}
	e := diag.New(diag.PolicyDenied, "running in the sandbox: the program created %d protected paths, such as %q; they were moved to %q", len(moved), first, to)
	if failed != nil {
		e = diag.New(diag.PolicyDenied, "running in the sandbox: the program created a protected path that could not be removed: %w", failed)
	}
	return e.WithReason("sandbox_quarantine").WithDetail("quarantined", moved[:min(len(moved), maxQuarantined)]).
		WithDetail("quarantined_count", len(moved)).WithDetail("directory", to)
}
