package githook

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/lock"
)

// pendingFile is in the git directory of a work tree. It lists the files that are
// signed in the index and may be unsigned in the work tree: as long as rye writes
// them, after it was killed, and after it signed the index only.
const pendingFile = "rye-pending"

// maxPending is the maximum size in bytes of that file.
const maxPending = 64 << 20

// fields is the number of fields of one record, each ended by NUL.
const fields = 5

// IsPending reports whether Finish has work in a git directory.
func IsPending(gitDir string) bool {
	return exists(filepath.Join(gitDir, pendingFile))
}

// savePending writes the list. With add, it keeps the files that are listed already.
func savePending(repo *gitcmd.Repo, list []change, add bool) error {
	if add {
		before, err := readPending(repo)
		if err != nil {
			return err
		}
		replaced := map[string]bool{}
		for _, c := range list {
			replaced[c.path] = true
		}
		before = slices.DeleteFunc(before, func(c change) bool {
			return replaced[c.path]
		})
		list = append(before, list...)
	}
	var b strings.Builder
	for _, c := range list {
		b.WriteString(
			strings.Join(
				[]string{c.path, c.was, c.now, c.signed, c.blob},
				"\x00",
			) + "\x00",
		)
	}
	return atomicfile.Git(repo.GitDir).Replace(pendingFile, []byte(b.String()), 0o644)
}

// readPending returns the list. A file that rye did not write is an empty list: it
// is only a convenience, and signing must not depend on it.
func readPending(repo *gitcmd.Repo) ([]change, error) {
	file := filepath.Join(repo.GitDir, pendingFile)
	fi, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist),
		err == nil && (!fi.Mode().IsRegular() || fi.Size() > maxPending):
		return nil, nil
	case err != nil:
		return nil, diag.New(diag.FileSystemError, "reading %s: %w", pendingFile, err)
	}
	b, err := openat.ReadRegular(file, openat.MaxText)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading %s: %w", pendingFile, err)
	}
	words := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	if len(words)%fields != 0 {
		return nil, nil
	}
	var list []change
	for w := range slices.Chunk(words, fields) {
		if filepath.IsLocal(filepath.FromSlash(w[0])) &&
			(w[3] == "" || filepath.IsLocal(filepath.FromSlash(w[3]))) {
			list = append(list, change{
				path:   w[0],
				was:    w[1],
				now:    w[2],
				signed: w[3],
				blob:   w[4],
				left:   w[0],
			})
		}
	}
	return list, nil
}

func removePending(repo *gitcmd.Repo) error {
	err := atomicfile.Git(repo.GitDir).Remove(pendingFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diag.New(diag.FileSystemError, "removing %s: %w", pendingFile, err)
	}
	return nil
}

// Finish writes the files of the work tree that an earlier call of Sign signed in
// the index only. A file is written if the index has the signed blob still and the
// work tree has the bytes that were signed; any other file stays as it is. The list is
// checked as one that another program wrote: an item gets a signature and no other text.
func Finish(ctx context.Context, repo *gitcmd.Repo) error {
	if !IsPending(repo.GitDir) {
		return nil
	}
	list, err := readPending(repo)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		if list, err = current(ctx, repo, list); err != nil {
			return err
		}
		if _, err := workTree(repo, list); err != nil {
			return err
		}
	}
	return removePending(repo)
}

// current returns the changes that are still in the index, with their bytes.
func current(ctx context.Context, repo *gitcmd.Repo, list []change) ([]change, error) {
	there, err := indexed(ctx, repo, list)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(c change) bool {
		return there[c.path] != c.now
	})
	for i := range list {
		list[i].same = list[i].signed == "" &&
			path.Base(list[i].path) != lock.LockFile
	}
	if len(list) == 0 {
		return nil, nil
	}
	batch, err := repo.Batch(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = batch.Close() }()
	oids := make([]string, len(list))
	for i, c := range list {
		oids[i] = c.now
	}
	err = batch.Read(oids, lock.MaxLock, func(i int, o gitcmd.Object) {
		list[i].bytes = o.Data
	})
	return slices.DeleteFunc(list, func(c change) bool {
		return c.bytes == nil
	}), err
}

// indexed returns the blobs that the index has at the paths of the changes. git
// gets the directories of the projects: there may be too many paths for a command.
func indexed(
	ctx context.Context,
	repo *gitcmd.Repo,
	list []change,
) (map[string]string, error) {
	var paths []string
	for _, c := range list {
		at := c.path
		if prefix, _, ok := projectOf(c.path); ok {
			at = prefix + ".ai"
		}
		paths = append(paths, at)
	}
	slices.Sort(paths)
	entries, err := repo.Indexed(ctx, slices.Compact(paths)...)
	if err != nil {
		return nil, err
	}
	there := make(map[string]string, len(entries))
	for _, e := range entries {
		there[e.Path] = e.OID
	}
	return there, nil
}
