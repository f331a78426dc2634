package lock

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
)

// Files reads the directory that contains rye.yaml, rye.lock and rye.sum: on
// disk, in a git revision or in the index.
type Files interface {
	// ReadFile returns the content of a regular file of at most limit bytes.
	// The error for a missing file satisfies errors.Is(err, fs.ErrNotExist).
	ReadFile(name string, limit int64) ([]byte, error)
	// Glob returns the paths below the directory that match a pattern of
	// path.Match, with slashes and without "./". The order is undefined.
	Glob(pattern string) ([]string, error)
}

// Dir is a directory on disk. It implements Files.
type Dir string

// ReadFile reads a file and passes no symbolic link.
func (d Dir) ReadFile(name string, limit int64) ([]byte, error) {
	b, _, err := openat.Read(string(d), name, limit)
	return b, err
}

// Glob matches below the directory. The path of the directory itself is not part
// of the pattern: filepath.Glob would read a "[" in it as a character class.
func (d Dir) Glob(pattern string) ([]string, error) {
	return fs.Glob(os.DirFS(string(d)), path.Clean(pattern))
}

// Unchanged reports whether a file still has the text that was read from it before.
func Unchanged(files Files, name string, text []byte) bool {
	if d, ok := files.(Dir); ok { // without memory for another copy
		same, err := openat.Same(string(d), name, text)
		return err == nil && same
	}
	b, err := files.ReadFile(name, int64(len(text)))
	return err == nil && bytes.Equal(b, text)
}

// Known is a lock that was read before.
type Known struct {
	Text  []byte // of rye.lock
	Lock  *Lock
	Notes []diag.Finding // its warnings
}

// clone returns a copy whose lock the caller may change.
func (k *Known) clone() *Known {
	return &Known{Text: k.Text, Lock: k.Lock.Clone(), Notes: slices.Clone(k.Notes)}
}

// State is what rye.yaml, rye.lock and rye.sum contain. The texts are nil for
// files that do not exist.
// An empty rye.lock is an error: it would be read as a lock without entries. An empty rye.yaml
// has no requirements.
type State struct {
	ProjectText, LockText, SumText []byte

	ProjectFile *ProjectFile // empty without rye.yaml
	Members     []MemberFile
	Lock        *Lock          // nil without rye.lock
	Theirs      *Lock          // the other side of a merge whose conflict markers are in rye.lock
	Notes       []diag.Finding // warnings about the text of rye.lock
	Sum         *Sum           // empty without rye.sum
}

// ReadState reads the three files and the members of the workspace. Unlike
// Read it accepts a lock with conflict markers, so that both sides can be
// resolved again. While rye.lock has the text of known, which may be nil, it is not parsed
// again.
func ReadState(files Files, known *Known) (*State, error) {
	s := &State{}
	var err error
	if s.ProjectFile, s.ProjectText, err = ReadProjectFile(files, ""); err != nil {
		return nil, err
	}
	if s.ProjectFile == nil {
		s.ProjectFile = &ProjectFile{}
	}
	if known != nil && Unchanged(files, LockFile, known.Text) {
		k := known.clone()
		s.LockText = k.Text
		s.Lock = k.Lock
		s.Notes = k.Notes
	} else {
		s.LockText, err = read(files, LockFile, MaxLock)
	}
	switch {
	case err != nil:
		return nil, err
	case s.Lock != nil:
	case Conflicted(s.LockText):
		s.Lock, s.Theirs, s.Notes = ParseLockConflict(s.LockText)
	case s.LockText != nil:
		s.Lock, s.Notes = ParseLock(s.LockText)
	}
	s.Notes = diag.WithPath(s.Notes, LockFile)
	if err := diag.FromFindings("reading "+LockFile, s.Notes); err != nil {
		return nil, err
	}
	if s.Sum, s.SumText, err = ReadSum(files); err != nil {
		return nil, err
	}
	s.Members, err = Members(files, s.ProjectFile)
	return s, err
}

// ReadProjectFile reads rye.yaml; where is written before its name in errors. The
// ProjectFile is nil if the file does not exist, and empty if the file is empty.
func ReadProjectFile(files Files, where string) (*ProjectFile, []byte, error) {
	return readManifest(files, ProjectFileName, where)
}

func readManifest(files Files, name, where string) (*ProjectFile, []byte, error) {
	b, err := read(files, name, MaxProjectFile)
	switch {
	case b == nil || err != nil:
		return nil, nil, err
	case len(b) == 0:
		return &ProjectFile{}, b, nil
	}
	m, fs := ParseProjectFile(b)
	return m, b, diag.FromFindings("reading "+where+name, diag.WithPath(fs, name))
}

// Read reads rye.lock; where is written before its name in errors. It returns nil if the file
// does not exist. While the file has the text of known, which may be nil, it is not parsed
// again.
func Read(files Files, where string, known *Known) (*Known, error) {
	if known != nil && Unchanged(files, LockFile, known.Text) {
		return known.clone(), nil
	}
	b, err := read(files, LockFile, MaxLock)
	if b == nil || err != nil {
		return nil, err
	}
	l, notes := ParseLock(b)
	notes = diag.WithPath(notes, LockFile)
	if err := diag.FromFindings("reading "+where+LockFile, notes); err != nil {
		return nil, err
	}
	return &Known{Text: b, Lock: l, Notes: notes}, nil
}

// ReadSum reads rye.sum. The Sum is empty if the file does not exist.
func ReadSum(files Files) (*Sum, []byte, error) {
	b, err := read(files, SumFile, MaxSum)
	if err != nil {
		return nil, nil, err
	}
	s, fs := ParseSum(b)
	return s, b, diag.FromFindings("reading "+SumFile, diag.WithPath(fs, SumFile))
}

// Members reads the project files of the directories that the patterns of
// workspace match, sorted by path. A directory without one is not a member.
func Members(files Files, m *ProjectFile) ([]MemberFile, error) {
	var out []MemberFile
	for _, pattern := range m.Workspace {
		dirs, err := files.Glob(pattern)
		if err != nil {
			return nil, diag.New(diag.ValidationFailed, "reading the workspace pattern %q: %w", pattern, err)
		}
		for _, dir := range dirs {
			m, _, err := readManifest(files, path.Join(dir, ProjectFileName), "")
			if err != nil {
				return nil, err
			}
			if m != nil {
				out = append(out, MemberFile{Path: "./" + dir, Manifest: m})
			}
		}
	}
	slices.SortFunc(out, func(a, b MemberFile) int {
		return cmp.Compare(a.Path, b.Path)
	})
	return slices.CompactFunc(out, func(a, b MemberFile) bool {
		return a.Path == b.Path
	}), nil
}

// read returns nil if the file does not exist, and a non-nil slice if it does.
func read(files Files, name string, limit int64) ([]byte, error) {
	b, err := files.ReadFile(name, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil && diag.CodeOf(err) == "":
		return nil, diag.New(diag.FileSystemError, "reading %s: %w", name, err)
	case err != nil:
		return nil, err
	case b == nil:
		return []byte{}, nil
	}
	return b, nil
}
