package workcopy

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/internal/openat"
)

// Judge returns why a path is applied only if a person names it, "" if it is not.
type Judge func(rel string) string

// Reasons for which a path is not applied, also if a person names it.
const (
	whyLink   = "it is a link that leads out of the project"
	whyModule = "it is in a submodule, which has a repository of its own"
	whyLarge  = "it has more than 256 MiB"
	whyName   = "its name is not UTF-8, or has a character or form that rye does not write"
)

// Diff returns the changes in the copy. New files that git ignores are left out, unless the
// copy began with such files.
func (c *Copy) Diff(
	ctx context.Context,
	environ []string,
	judge Judge,
) ([]Change, error) {
	is, err := list(ctx, c.Dir(), c.Files)
	if err != nil {
		return nil, err
	}
	all := compare(c.Files, is)
	ignored, err := c.ignored(ctx, environ, all)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(c.Dir())
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading a working copy: %w", err)
	}
	defer root.Close()
	out := []Change{}
	for _, ch := range all {
		if ch.Kind == Added {
			if ignored[ch.Path] {
				continue
			}
			if ch.is, _, err = read(root, ch.Path); err != nil {
				return nil, diag.New(diag.FileSystemError, "reading a working copy: %w", err)
			}
		}
		ch.Why = judge(ch.Path)
		if ch.is.Kind == Large {
			ch.Why = whyLarge
		}
		if openat.CheckRel(ch.Path) != nil {
			ch.Why = whyName
		}
		if c.inModule(ch.Path) {
			ch.Why = whyModule
		}
		if ch.is.Kind == Link && leaves(ch.Path, ch.is.Target) {
			ch.Why = whyLink
		}
		out = append(out, ch)
	}
	return out, nil
}

// inModule reports whether a path is in a submodule.
func (c *Copy) inModule(rel string) bool {
	return slices.ContainsFunc(c.Modules, func(m string) bool {
		return rel == m || strings.HasPrefix(rel, m+"/")
	})
}

// leaves reports whether a link at a path leads out of the project, as it is spelled.
func leaves(rel, target string) bool {
	if target == "" ||
		filepath.IsAbs(target) ||
		strings.HasPrefix(target, "/") ||
		strings.Contains(target, `\`) {
		return true
	}
	depth := strings.Count(rel, "/")
	for name := range strings.SplitSeq(target, "/") {
		switch {
		case name == "..":
			if depth--; depth < 0 {
				return true
			}
		case isGit(name):
			return true // what is written through it would reach the settings of git
		case name != "" && name != ".":
			depth++
		}
	}
	return false
}

// ignored returns which of the new files the rules of git exclude: the rules of the project's
// repository and the .gitignore files of the copy.
func (c *Copy) ignored(
	ctx context.Context,
	environ []string,
	all []Change,
) (map[string]bool, error) {
	var added []string
	for _, ch := range all {
		if ch.Kind == Added && !c.inModule(ch.Path) {
			added = append(added, ch.Path)
		}
	}
	if len(added) == 0 || c.All {
		return nil, nil
	}
	g, err := gitcmd.New(gitcmd.Params{Dir: c.Project, Environ: environ})
	if err != nil {
		return nil, err
	}
	repo, err := g.Repo(ctx)
	if err != nil {
		return nil, err
	}
	top := filepath.Join(c.dir, treeDir)
	paths := make([]string, len(added))
	for i, rel := range added {
		paths[i] = c.Prefix + rel
	}
	found, err := repo.Over(top).Ignored(ctx, paths)
	if found == nil && err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for i, rel := range added {
		out[rel] = found[paths[i]]
	}
	return out, nil
}

// Text returns the change in the unified format.
func (c *Copy) Text(ctx context.Context, environ []string, ch *Change) (string, error) {
	show := func(f File, content func() ([]byte, bool, error)) ([]byte, bool, error) {
		switch f.Kind {
		case Regular:
			return content()
		case Link:
			return []byte("link to " + f.Target + "\n"), true, nil
		case Large:
			return nil, false, nil
		}
		return nil, true, nil
	}
	was, known, err := show(ch.was, func() ([]byte, bool, error) {
		return c.base(ctx, environ, ch)
	})
	if err != nil {
		return "", err
	}
	is, whole, err := show(ch.is, func() ([]byte, bool, error) { b, err := c.content(ch); return b, true, err })
	if err != nil {
		return "", err
	}
	if !known || !whole || !isText(was) || !isText(is) {
		return "Binary file " + ch.Path + " differs\n", nil
	}
	from := "a/" + ch.Path
	to := "b/" + ch.Path
	if ch.was.Kind == Absent {
		from = os.DevNull
	}
	if ch.is.Kind == Absent {
		to = os.DevNull
	}
	return linediff.Unified(from, to, was, is), nil
}

func isText(b []byte) bool {
	return utf8.Valid(b) && !bytes.ContainsRune(b, 0)
}

// content returns the content that a file has in the copy: the one that was compared.
func (c *Copy) content(ch *Change) ([]byte, error) {
	root, err := os.OpenRoot(c.Dir())
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading a working copy: %w", err)
	}
	defer root.Close()
	f, b, err := read(root, ch.Path)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading a working copy: %w", err)
	}
	if f != ch.is {
		return nil, diag.New(diag.ThreadState, "reading the working copy %s: %s changed while it was read", c.ID, ch.Path).WithReason("copy_in_use")
	}
	return b, nil
}

// base returns the content that a file had when the copy began. ok is false if neither
// the copy nor the commit has it: a filter of git had changed it, git ignores it, or the copy
// has no repository.
func (c *Copy) base(
	ctx context.Context,
	environ []string,
	ch *Change,
) (b []byte, ok bool, err error) {
	kept := filepath.Join(c.dir, baseDir, ch.was.Digest)
	if b, err := openat.ReadRegular(kept, maxFile); err == nil && digest(b) == ch.was.Digest {
		return b, true, nil
	}
	if c.Commit == "" {
		return nil, false, nil
	}
	g, err := gitcmd.New(gitcmd.Params{Dir: c.Project, Environ: environ})
	if err != nil {
		return nil, false, err
	}
	entries, err := g.Tree(ctx, c.Commit, c.Prefix+ch.Path)
	if err != nil {
		return nil, false, err
	}
	i := slices.IndexFunc(entries, func(e gitcmd.Entry) bool {
		return e.Path == c.Prefix+ch.Path && e.IsFile()
	})
	if i < 0 {
		return nil, false, nil
	}
	batch, err := g.Batch(ctx)
	if err != nil {
		return nil, false, err
	}
	defer batch.Close()
	err = batch.Read(
		[]string{entries[i].OID},
		maxFile,
		func(_ int, o gitcmd.Object) { b = o.Data },
	)
	return b, err == nil && digest(b) == ch.was.Digest, err
}
