package main

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/lock"
)

// lockFiles is the folder that holds rye.yaml, rye.lock and rye.sum: on a disk,
// or in git's objects.
type lockFiles interface {
	// read returns the bytes of a file below the folder. A missing one satisfies
	// errors.Is(err, fs.ErrNotExist).
	read(name string, limit int64) ([]byte, error)
	// folders returns the folders below it that a pattern names, as "a/b".
	folders(pattern string) ([]string, error)
}

// diskFiles is a folder of this machine.
type diskFiles string

func (d diskFiles) read(name string, limit int64) ([]byte, error) {
	b, _, err := openat.Read(string(d), name, limit)
	return b, err
}

func (d diskFiles) folders(pattern string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(escapeGlob(string(d)), filepath.FromSlash(pattern)))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, dir := range found {
		if rel, err := filepath.Rel(string(d), dir); err == nil {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out, nil
}

// readManifest returns nil when the folder has no rye.yaml.
func readManifest(dir string) (*lock.Manifest, error) {
	return manifestIn(diskFiles(dir), ".", filepath.Join(dir, lock.ManifestFile))
}

// manifestIn reads the rye.yaml of a folder below that of the lock, nil when
// there is none.
func manifestIn(files lockFiles, dir, show string) (*lock.Manifest, error) {
	b, err := files.read(path.Join(dir, lock.ManifestFile), lock.MaxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError(lock.ManifestFile, err)
	}
	m, found := lock.ParseManifest(b)
	return m, diag.FromFindings("reading "+show, diag.WithPath(found, path.Join(dir, lock.ManifestFile)))
}

// sumIn reads rye.sum, which may be absent.
func sumIn(files lockFiles) (*lock.Sum, error) {
	b, err := files.read(lock.SumFile, lock.MaxSum)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fileError(lock.SumFile, err)
	}
	s, found := lock.ParseSum(b)
	return s, diag.FromFindings("reading "+lock.SumFile, diag.WithPath(found, lock.SumFile))
}

// membersIn returns the folders of a workspace with their manifests.
func membersIn(files lockFiles, m *lock.Manifest) ([]lock.MemberManifest, error) {
	var out []lock.MemberManifest
	for _, pattern := range m.Workspace {
		dirs, err := files.folders(pattern)
		if err != nil {
			return nil, diag.New(diag.ConfigError, "reading workspace %q: %w", pattern, err)
		}
		for _, dir := range dirs {
			m, err := manifestIn(files, dir, path.Join(dir, lock.ManifestFile))
			if err != nil {
				return nil, err
			}
			if m != nil {
				out = append(out, lock.MemberManifest{Path: "./" + dir, Manifest: m})
			}
		}
	}
	slices.SortFunc(out, func(a, b lock.MemberManifest) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(out, func(a, b lock.MemberManifest) bool { return a.Path == b.Path }), nil
}

// escapeGlob takes the meaning from the characters of a folder's name.
func escapeGlob(dir string) string {
	if filepath.Separator == '\\' {
		return dir // there is no escape there
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}
