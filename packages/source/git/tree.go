package git

import (
	"context"
	"github.com/ryeos/rye/lock/treehash"
	"path"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/packages/source"
)

// maxTagDepth is the maximum number of tags between a ref and a commit.
const maxTagDepth = 5

// peel follows tags to their commit, and returns its name and fields.
func peel(ctx context.Context, objs Objects, oid string) (string, commit, error) {
	for range maxTagDepth {
		var c commit
		next := ""
		err := objs.Read(ctx, []string{oid}, maxCommit, func(_ int, o Object) (err error) {
			if got := name(o, len(oid) == 64); got != oid {
				return diag.New(diag.HashMismatch, "reading object %s: its bytes have the name %s", oid, got)
			}
			switch o.Kind {
			case "commit":
				c, err = parseCommit(oid, o.Data)
			case "tag":
				next, _, err = parseTag(oid, o.Data)
			default:
				err = diag.New(diag.VersionNotFound, "reading object %s: it is a %s, not a commit", oid, o.Kind)
			}
			return err
		})
		if err != nil || next == "" {
			return oid, c, err
		}
		oid = next
	}
	return "", commit{}, diag.New(diag.VersionNotFound, "reading tag %s: more than %d tags precede its commit", oid, maxTagDepth)
}

// descend returns the tree of a directory below a tree.
func descend(ctx context.Context, objs Objects, tree, dir string) (string, error) {
	if dir == "" {
		return tree, nil
	}
	for elem := range strings.SplitSeq(dir, "/") {
		next := ""
		err := read(ctx, objs, "tree", []string{tree}, maxTree, func(_ int, data []byte) error {
			return eachEntry(tree, data, func(e entry) error {
				if e.name == elem && e.mode == modeTree {
					next = e.oid
				}
				return alias(e.name, elem)
			})
		})
		if err != nil {
			return "", err
		}
		if tree = next; tree == "" {
			return "", diag.New(diag.SourceNotFound, "looking for the folder %q: the commit does not have it", dir)
		}
	}
	return tree, nil
}

// alias returns the error for a name that some file system treats as another.
func alias(name, of string) error {
	if gitcmd.Alias(name, of) {
		return diag.New(diag.PathEscape, "reading the files: %q is the same name as %q on some systems", name, of).WithReason("git_tree")
	}
	return nil
}

// file is one carried file.
type file struct {
	path string
	mode uint32
	oid  string
}

// list returns the carried files of a tree, level by level. If one of them cannot be
// in a bundle, it returns an error with every such file. With whole, it returns all files,
// links and submodules; usable divides them.
func list(ctx context.Context, objs Objects, tree string, whole bool) ([]file, error) {
	files := []file{}
	level := []file{{path: "", oid: tree}}
	for len(level) > 0 {
		var next []file
		oids := make([]string, len(level))
		for i, t := range level {
			oids[i] = t.oid
		}
		err := read(ctx, objs, "tree", oids, maxTree, func(i int, data []byte) error {
			return eachEntry(oids[i], data, func(e entry) error {
				if len(files) > bundle.MaxFiles || len(next) > bundle.MaxFiles {
					return diag.New(diag.TooLarge, "reading tree %s: it has more than %d files", tree, bundle.MaxFiles)
				}
				entry := carriedEntry
				if whole {
					entry = anyEntry
				}
				at, isFolder, err := entry(level[i].path, oids[i], e)
				switch {
				case err != nil:
					return err
				case at == nil:
				case isFolder:
					next = append(next, *at)
				default:
					files = append(files, *at)
				}
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
		level = next
	}
	if whole {
		return files, nil
	}
	return files, check(files)
}

// anyEntry returns the file or directory of an entry.
func anyEntry(dir, tree string, e entry) (f *file, isFolder bool, err error) {
	at := path.Join(dir, e.name)
	if dir != "" && path.Base(at) != e.name || dir == "" && at != e.name {
		return nil, false, diag.New(diag.PathEscape, "reading tree %s: it has the name %q", tree, e.name)
	}
	return &file{at, e.mode, e.oid}, e.mode == modeTree, nil
}

// usable divides the files of a whole commit: into regular files that every system can
// store, and the others. It has one result for one list, on both sides of a child process.
func usable(files []file) (out []file, left []treehash.File) {
	entries := make([]treehash.File, len(files))
	for i, f := range files {
		mode := treehash.Mode(f.mode)
		if mode == 0o100664 { // written by old versions of git for 100644
			mode = treehash.Regular
		}
		entries[i] = treehash.File{Path: f.path, Mode: mode}
	}
	refused := map[string]bool{}
	for _, f := range treehash.Check(entries) {
		refused[f.Path] = true
	}
	for i, f := range files {
		if refused[f.path] {
			left = append(left, entries[i])
			continue
		}
		out = append(out, f)
	}
	return out, left
}

// carriedEntry returns the file or directory of an entry, nil if bundles do not have it.
func carriedEntry(dir, tree string, e entry) (f *file, isFolder bool, err error) {
	at := path.Join(dir, e.name)
	if dir != "" && path.Base(at) != e.name || dir == "" && at != e.name {
		return nil, false, diag.New(diag.PathEscape, "reading tree %s: it has the name %q", tree, e.name)
	}
	if dir == "" {
		for _, name := range []string{".ai", "rye.yaml"} {
			if err := alias(e.name, name); err != nil {
				return nil, false, err
			}
		}
	}
	f = &file{at, e.mode, e.oid}
	switch {
	case len(at) > bundle.MaxPath && source.Carried(at):
		f.mode = uint32(treehash.Regular) // check refuses it by its path
		return f, false, nil
	case e.mode == modeTree && source.CarriedFolder(at):
		return f, true, nil
	case e.mode != modeTree && (source.Carried(at) || at == ".ai"):
		return f, false, nil
	}
	return nil, false, nil
}

// check returns an error with every file that cannot be in a bundle.
func check(files []file) error {
	var out []diag.Finding
	entries := make([]treehash.File, 0, len(files))
	for i, f := range files {
		if f.mode == 0o100664 { // written by old versions of git for 100644
			files[i].mode = uint32(treehash.Regular)
		}
		entries = append(entries, treehash.File{Path: f.path, Mode: treehash.Mode(files[i].mode)})
	}
	out = treehash.Check(entries)
	if len(out) == 0 {
		for _, f := range files {
			if err := source.CheckPath(f.path); err != nil {
				fd := diag.Errorf(diag.CodeOf(err), 0, 0, "%s", err)
				fd.Path = f.path
				out = append(out, fd)
			}
		}
	}
	return diag.FromFindings("reading the bundle's files", out)
}
