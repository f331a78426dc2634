package githook

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/openat"
)

// patchAge is the highest age of a patch of the hook manager pre-commit that may belong to the
// commit that is made: pre-commit keeps every patch.
const patchAge = time.Hour

// maxPatch is the maximum size in bytes of a patch that is read.
const maxPatch = 64 << 20

// hiddenEdits reports whether a hook manager has removed edits of a file that are not
// staged, and will restore them after the commit: the file then equals the staged text,
// whatever its user sees in it.
func (s *session) hiddenEdits(path string) bool {
	for line := range bytes.Lines(s.patches()) {
		names, ok := strings.CutPrefix(strings.TrimRight(string(line), "\r\n"), "diff --git ")
		if ok && strings.HasSuffix(names, "/"+path) {
			return true
		}
	}
	return false
}

// readPatches returns the patches with the edits that hook managers have removed:
// lefthook has one file, pre-commit one for each of its runs.
func (s *session) readPatches() []byte {
	files := []string{
		filepath.Join(s.Repo.CommonDir, "info", "lefthook-unstaged.patch"),
		filepath.Join(s.Repo.GitDir, "info", "lefthook-unstaged.patch"),
	}
	if s.Getenv != nil && s.Getenv("PRE_COMMIT") != "" {
		dir := s.Getenv("PRE_COMMIT_HOME")
		if dir == "" {
			cache := s.Getenv("XDG_CACHE_HOME")
			if cache == "" {
				cache = filepath.Join(s.Getenv("HOME"), ".cache")
			}
			dir = filepath.Join(cache, "pre-commit")
		}
		found, _ := filepath.Glob(filepath.Join(dir, "patch*"))
		for _, f := range found {
			fi, err := os.Stat(f)
			if err == nil && time.Since(fi.ModTime()) < patchAge {
				files = append(files, f)
			}
		}
	}
	var all []byte
	for _, f := range files {
		b, err := openat.ReadRegular(f, maxPatch)
		if err == nil {
			all = append(append(all, b...), '\n')
		}
	}
	return all
}
