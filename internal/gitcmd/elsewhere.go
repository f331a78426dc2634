package gitcmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
)

// Elsewhere selects the blobs that a commit outside of the history of HEAD contains in any
// directory, and returns each with the newest such commit. It reads the commits of all refs
// but the stash, and of the last fetch. blobs is called when git has listed the objects of
// these commits.
//
// The hook leaves such a blob unsigned and names the commit, whatever command staged it. It does
// not ask: a question in every commit is answered without reading, and a hook may have no
// terminal.
func (r *Repo) Elsewhere(ctx context.Context, blobs func() []string) (map[string]string, error) {
	fetched, err := r.fetched()
	if err != nil {
		return nil, err
	}
	args := []string{"rev-list", "--objects", "--in-commit-order", "--full-history", "--missing=allow-any", "--ignore-missing",
		"--exclude=refs/stash", "--all", "--stdin", "--"}
	out, err := r.top().run(
		ctx,
		strings.NewReader(strings.Join(append(fetched, "^HEAD"), "\n")+"\n"),
		args...,
	)
	if err != nil {
		_, unborn := r.Commit(ctx, "HEAD")
		if diag.CodeOf(unborn) != diag.VersionNotFound {
			return nil, err
		}
		if out, err = r.top().run(ctx, strings.NewReader(strings.Join(fetched, "\n")+"\n"), args...); err != nil {
			return nil, err
		}
	}
	asked := map[string]bool{}
	for _, oid := range blobs() {
		asked[oid] = true
	}
	found := map[string]string{}
	commit := ""
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		oid, _, object := strings.Cut(lines.Text(), " ") // the objects of a commit follow it
		switch {
		case !object:
			commit = oid
		case asked[oid]:
			found[oid] = commit
		}
	}
	return found, nil
}

// fetched returns the commits of the last git fetch, which no ref may name.
func (r *Repo) fetched() ([]string, error) {
	b, err := openat.ReadRegular(filepath.Join(r.GitDir, "FETCH_HEAD"), openat.MaxText)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.FileSystemError, "reading FETCH_HEAD: %w", err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		oid, _, _ := strings.Cut(line, "\t")
		if len(oid) >= 40 && strings.Trim(oid, "0123456789abcdef") == "" {
			out = append(out, oid)
		}
	}
	return out, nil
}
