package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// ItemAt returns the item that a ref, an id or a path names, whatever its
// verdict.
func (p *Project) ItemAt(ctx context.Context, word string) (*resolve.Item, error) {
	if root, rel, ok := p.PlaceOf(word); ok {
		it, err := p.Resolver.File(ctx, root, rel)
		if err == nil && it.Ref.IsZero() {
			err = notAnItem(it.Path(), it.Rel)
		}
		return it, err
	}
	ref, err := p.Resolver.Ref(ctx, word)
	if err != nil {
		return nil, NoFile(p.Env, err, word)
	}
	return p.Resolver.Inspect(ctx, ref)
}

// Shown returns a path relative to the project, as messages print it, as a path
// from the user's working directory. It returns any other word unchanged.
func (h *Project) Shown(word string) string {
	if !strings.HasPrefix(filepath.ToSlash(word), space.Dir+"/") ||
		h.Spaces.ProjectDir == "" {
		return word
	}
	if exists(h.Env.Path(word)) {
		return word
	}
	p := filepath.Join(h.Spaces.ProjectDir, word)
	if exists(p) {
		return p
	}
	return word
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// PlaceOf returns the root and the relative path of an existing path inside a
// space.
func (h *Project) PlaceOf(word string) (*space.Root, string, bool) {
	p := h.Env.Path(h.Shown(word))
	if !exists(p) {
		return nil, "", false
	}
	return h.Spaces.Locate(p)
}

// RefArgs reads the item that a command line names and returns the words after
// it: "KIND ID rest…", "REF rest…" or "PATH rest…".
func RefArgs(
	ctx context.Context,
	p *Project,
	args []string,
) (item.Ref, []string, error) {
	if len(args) > 1 &&
		!strings.Contains(args[0], ":") &&
		!strings.ContainsAny(args[1], "=") {
		if kind, ok := KnownKind(ctx, p, args[0]); ok {
			ref, err := item.ParseRef(args[1], kind)
			return ref, args[2:], err
		}
	}
	// Ids have no dots, and the file of every item has an extension: a directory
	// with the name of an id does not hide the item.
	if strings.Contains(args[0], ".") {
		if root, rel, ok := p.PlaceOf(args[0]); ok {
			ref, err := p.fileRef(ctx, root, rel)
			return ref, args[1:], err
		}
	}
	ref, err := p.Resolver.Ref(ctx, args[0])
	if err != nil {
		kind, ok := KnownKind(ctx, p, args[0])
		if ok && diag.CodeOf(err) == diag.ItemNotFound {
			err = diag.New(diag.Usage, "reading arguments: %q is a kind, and no item of it is named", kind).
				WithReason("kind_alone").
				WithDetail("name", string(kind))
		}
		err = NoFile(p.Env, err, args[0])
	}
	return ref, args[1:], err
}

// fileRef returns the ref of an item's file. It returns an error if the ref
// resolves to another file: a run would use that one.
func (p *Project) fileRef(
	ctx context.Context,
	root *space.Root,
	rel string,
) (item.Ref, error) {
	table, err := p.Resolver.Readable(ctx)
	if err == nil {
		err = p.Resolver.Refused(rel)
	}
	if err != nil {
		return item.Ref{}, err
	}
	at, _ := table.Classify(rel)
	if at.Ref.IsZero() {
		return item.Ref{}, notAnItem(root.Display(rel), rel)
	}
	entries, err := p.Resolver.Shadows(ctx, at.Ref)
	if err != nil {
		return item.Ref{}, err
	}
	if len(entries) > 0 &&
		(entries[0].Root != root || entries[0].Rel != rel) {
		used := entries[0]
		return item.Ref{}, diag.New(
			diag.AmbiguousItem,
			"finding %s: %s is used for %s",
			root.Display(rel),
			used.Root.Display(used.Rel),
			at.Ref,
		)
	}
	return at.Ref, nil
}

func notAnItem(path, rel string) error {
	why, _ := extract.NoItem(rel)
	return diag.New(diag.ItemNotFound, "reading %s: it is not an item: %s", path, why)
}

// OneRef is RefArgs for a command line that names one item and nothing else.
func OneRef(ctx context.Context, p *Project, args []string) (item.Ref, error) {
	ref, rest, err := RefArgs(ctx, p, args)
	if len(rest) > 0 {
		return item.Ref{}, diag.New(diag.Usage, "reading arguments: %q is not a kind, and %q is one argument too many", args[0], rest[0])
	}
	return ref, err
}

// OneItem is OneRef for items with any verdict. A path names its own file, also
// one that another item shadows.
func OneItem(ctx context.Context, p *Project, args []string) (*resolve.Item, error) {
	if len(args) == 1 {
		return p.ItemAt(ctx, args[0])
	}
	ref, err := OneRef(ctx, p, args)
	if err != nil {
		return nil, err
	}
	return p.Resolver.Inspect(ctx, ref)
}

// KnownKind reports whether word names a kind. The four kinds of the boot table
// are always known, so that a missing extractor is reported as such.
func KnownKind(ctx context.Context, p *Project, word string) (item.Kind, bool) {
	k := item.Kind(word)
	switch k {
	case item.Directive, item.Tool, item.Knowledge, item.Config:
		return k, true
	}
	ext, err := p.Resolver.Extractor(ctx, k)
	return k, err == nil && ext != nil
}

// NeedProject returns the project's root, or the error that there is none.
func (p *Project) NeedProject() (*space.Root, error) {
	root := p.Spaces.Of(space.Project)
	dir := p.Spaces.ProjectDir
	switch {
	case root != nil && space.IsProject(dir):
		return root, nil
	case root != nil:
		return nil, diag.New(diag.ItemNotFound, "finding the project: %s has no %s and no %s directory", dir, space.ProjectFile, space.Dir).
			WithReason("not_a_project")
	}
	err := diag.New(diag.ItemNotFound, "finding the project: no %s or %s directory in this directory or its parents", space.ProjectFile, space.Dir).WithReason("no_project")
	home := p.Env.Home()
	if home != "" && filepath.Clean(p.Env.Base) == filepath.Clean(home) {
		return nil, err.WithReason("home_project")
	}
	return nil, err
}

// NoFile marks the error about a word that is not an id and that looks like the
// name of a file.
func NoFile(env *Env, err error, word string) error {
	var e *diag.Error
	if !errors.As(err, &e) ||
		e.Code != diag.Usage ||
		filepath.Ext(word) == "" {
		return err
	}
	if exists(env.Path(word)) {
		e.Message += fmt.Sprintf("; the file %q is not below .ai, so it is not an item", word)
	} else {
		e.Message += fmt.Sprintf("; there is no file %q", word)
	}
	return err
}
