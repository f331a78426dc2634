package gitcmd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
)

// CopyTo makes a repository with a work tree in an empty directory: a branch at a commit
// of this repository, whose objects it reads and does not copy. The new repository has no
// hooks and none of the settings of this one. Without files, the work tree stays empty.
func (r *Repo) CopyTo(
	ctx context.Context,
	dir, branch, commit string,
	files bool,
) (*Git, error) {
	g := r.In(dir)
	format := "sha1"
	if r.SHA256 {
		format = "sha256"
	}
	_, err := g.run(ctx, nil, "init", "-q", "--template=", "--object-format="+format)
	if err != nil {
		return nil, err
	}
	gitDir := filepath.Join(dir, ".git")
	var failed error
	for _, name := range []string{"hooks", "info", filepath.Join("objects", "info")} { // protected paths must exist to be protected
		failed = errors.Join(failed, os.MkdirAll(filepath.Join(gitDir, name), 0o700))
	}
	failed = errors.Join(failed, os.WriteFile(
		filepath.Join(gitDir, "objects", "info", "alternates"),
		[]byte(filepath.ToSlash(r.Objects())+"\n"),
		0o600,
	))
	b, err := openat.ReadRegular(filepath.Join(r.CommonDir, "shallow"), openat.MaxText)
	if err == nil {
		failed = errors.Join(failed, os.WriteFile(filepath.Join(gitDir, "shallow"), b, 0o600))
	} else if !errors.Is(err, fs.ErrNotExist) {
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return nil, diag.New(diag.FileSystemError, "making a repository: %w", failed)
	}
	_, err = g.run(ctx, nil, "update-ref", "refs/heads/"+branch, commit)
	if err != nil {
		return nil, err
	}
	_, err = g.run(ctx, nil, "symbolic-ref", "HEAD", "refs/heads/"+branch)
	if err != nil {
		return nil, err
	}
	read := []string{"read-tree", "--reset", "HEAD"}
	if files {
		read = []string{"read-tree", "-u", "--reset", "HEAD"}
	}
	_, err = g.guarded(ctx, nil, read...)
	return g, err
}

// Refresh has the index know the files of the work tree that do not differ from it.
func (g *Git) Refresh(ctx context.Context) error {
	_, err := g.guarded(ctx, nil, "update-index", "-q", "--refresh")
	if diag.CodeOf(err) == diag.ExecutionFailed {
		return nil // other files differ
	}
	return err
}

// Untracked returns the files below the directory of Git that git neither tracks nor ignores,
// relative to that directory.
func (g *Git) Untracked(ctx context.Context) ([]string, error) {
	out, err := g.guarded(ctx, nil, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
	return nulled(out), err
}

// nulled returns the names that git printed.
func nulled(out []byte) []string {
	return slices.DeleteFunc(
		strings.Split(string(out), "\x00"),
		func(s string) bool { return s == "" },
	)
}

// Objects returns the directory of the objects of the repository.
// They are mounted only while no element of the path is a link, because tools of other threads
// may write in .git/objects. Objects of a repository that borrows from a second repository are
// not: tools may write its alternates file too.
func (r *Repo) Objects() string {
	return filepath.Join(r.CommonDir, "objects")
}

// In returns a Git in another directory, whose repository no variable names.
func (g *Git) In(dir string) *Git {
	c := *g
	c.dir = dir
	c.env = slices.DeleteFunc(slices.Clone(g.env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(located(), name)
	})
	return &c
}

// Over returns a Git for another work tree with the rules and the index of this repository.
func (r *Repo) Over(tree string) *Git {
	g := r.In(tree)
	g.env = append(g.env, "GIT_DIR="+r.GitDir, "GIT_WORK_TREE="+tree)
	return g
}

// Changed returns the tracked files below the directory of Git that differ from a commit,
// relative to that directory. Submodules are left out.
func (r *Repo) Changed(ctx context.Context, commit string) ([]string, error) {
	out, err := r.guarded(ctx, nil, "diff-index", "-z", "--name-only", "--relative", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", commit, "--", ".")
	return nulled(out), err
}

// CommitAll commits everything of the work tree, by a person that the texts name.
func (g *Git) CommitAll(ctx context.Context, name, email, message string) error {
	_, err := g.guarded(ctx, nil, "add", "-A", "--", ".")
	if err != nil {
		return err
	}
	_, err = g.guarded(
		ctx,
		nil,
		"-c",
		"user.name="+name,
		"-c",
		"user.email="+email,
		"-c",
		"commit.gpgSign=false",
		"commit",
		"-q",
		"--no-verify",
		"--allow-empty",
		"-m",
		message,
	)
	return err
}
