// Package commitindex gives a program that may commit an index of its own, and has the index of
// the repository follow its commits.
//
// The program never writes the index of the repository: what a person finds staged there, and
// what a hook signs, is what the person staged.
package commitindex

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/runsoutside"
)

// Index is the index of one run.
type Index struct {
	top, gitDir, common string
	dir                 string
	head                string // the commit before the run, "" without one
}

const (
	maxIndex = 1 << 30
	maxRef   = 1 << 12
	maxRefs  = 64 << 20
)

// New copies the index of the repository of a work tree into a new directory. It returns nil if
// there is no repository.
func New(top string) (*Index, error) {
	at := filepath.Join(top, ".git")
	if _, err := os.Lstat(at); err != nil {
		return nil, nil
	}
	x := &Index{top: top}
	x.gitDir, x.common = runsoutside.GitDirs(at)
	x.head = x.commit()
	dir, err := os.MkdirTemp("", "rye-index-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	x.dir = dir
	err = copyFile(filepath.Join(x.gitDir, "index"), filepath.Join(dir, "index"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return x, nil
}

func copyFile(from, to string) error {
	in, err := openat.OpenRegular(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxIndex))
	return errors.Join(err, out.Close())
}

// Dir is the directory that the program must be able to write.
func (x *Index) Dir() string {
	return x.dir
}

// Environ has git use the index.
func (x *Index) Environ() []string {
	return []string{"GIT_INDEX_FILE=" + filepath.Join(x.dir, "index")}
}

// Close removes the index. If the program made a commit, the index of the repository follows
// it: entries that are as in the commit before become the entries of the new one, and the
// person's staged changes stay. An error states that it could not follow, and remains as it
// was.
func (x *Index) Close(ctx context.Context, environ []string) error {
	if x == nil {
		return nil
	}
	defer os.RemoveAll(x.dir)
	now := x.commit()
	if now == x.head || now == "" {
		return nil
	}
	g, err := gitcmd.New(gitcmd.Params{Dir: x.top, Cwd: x.top, Environ: environ})
	if err != nil {
		return err
	}
	return g.Follow(ctx, x.head, now)
}

// commit returns the commit that HEAD names, "" if there is none or it cannot be read.
func (x *Index) commit() string {
	text := read(filepath.Join(x.gitDir, "HEAD"), maxRef)
	ref, symbolic := strings.CutPrefix(text, "ref: ")
	if !symbolic {
		return oid(text)
	}
	if !strings.HasPrefix(ref, "refs/") || strings.Contains(ref, "..") {
		return ""
	}
	text = oid(read(filepath.Join(x.common, filepath.FromSlash(ref)), maxRef))
	if text != "" {
		return text
	}
	for line := range strings.Lines(read(filepath.Join(x.common, "packed-refs"), maxRefs)) {
		id, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && name == ref {
			return oid(id)
		}
	}
	return ""
}

// oid returns the name of an object, or "".
func oid(s string) string {
	if (len(s) == 40 || len(s) == 64) &&
		strings.Trim(s, "0123456789abcdef") == "" {
		return s
	}
	return ""
}

func read(path string, most int64) string {
	b, err := openat.ReadRegular(path, most)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
