package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// itemAt returns the item that a ref, an id or a path names, whatever its
// verdict.
func (c *call) itemAt(ctx context.Context, h *house, word string) (*resolve.Item, error) {
	if root, rel, ok := c.placeOf(h, word); ok {
		it, err := h.resolver.File(ctx, root, rel)
		if err == nil && it.Ref.IsZero() {
			err = diag.New(diag.ItemNotFound, "reading %s: it is no item: its name, ending or folder is outside the grammar of ids", it.Path())
		}
		return it, err
	}
	ref, err := h.resolver.Ref(ctx, word)
	if err != nil {
		return nil, noFile(err, word)
	}
	return h.resolver.Inspect(ctx, ref)
}

// noFile adds to the error about a word that is no id what else it may have
// been meant to be.
func noFile(err error, word string) error {
	var e *diag.Error
	if errors.As(err, &e) && e.Code == diag.Usage && filepath.Ext(word) != "" {
		e.Hint = fmt.Sprintf("there is no file %q here; %s", word, e.Hint)
	}
	return err
}

// shown turns a path as messages show it, from the project's folder, into one
// that counts from where the user stands. Any other word stays as it is.
func (c *call) shown(h *house, word string) string {
	if !strings.HasPrefix(filepath.ToSlash(word), space.Dir+"/") || h.spaces.ProjectDir == "" {
		return word
	}
	if exists(c.path(word)) {
		return word
	}
	if p := filepath.Join(h.spaces.ProjectDir, word); exists(p) {
		return p
	}
	return word
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// placeOf returns the root and the relative path of an existing path inside a
// space.
func (c *call) placeOf(h *house, word string) (*space.Root, string, bool) {
	p := c.path(c.shown(h, word))
	if !exists(p) {
		return nil, "", false
	}
	return h.spaces.Locate(p)
}

// refArgs reads "KIND ID rest…" or "REF rest…".
func refArgs(ctx context.Context, h *house, args []string) (item.Ref, []string, error) {
	if len(args) > 1 && !strings.Contains(args[0], ":") && !strings.ContainsAny(args[1], "=") {
		if kind, ok := knownKind(ctx, h, args[0]); ok {
			ref, err := item.ParseRef(args[1], kind)
			return ref, args[2:], err
		}
	}
	ref, err := h.resolver.Ref(ctx, args[0])
	return ref, args[1:], err
}

// knownKind reports whether word names a kind. The four of the boot table
// always count, so that an item of theirs is looked for even when its
// extractor is missing.
func knownKind(ctx context.Context, h *house, word string) (item.Kind, bool) {
	k := item.Kind(word)
	switch k {
	case item.Directive, item.Tool, item.Knowledge, item.Config:
		return k, true
	}
	ext, err := h.resolver.Extractor(ctx, k)
	return k, err == nil && ext != nil
}

// ask reads one line at a terminal; elsewhere it is an error.
func (c *call) ask(prompt string) (string, error) {
	if !c.Isatty(c.Stdin) {
		return "", diag.New(diag.Usage, "asking for %s: there is no terminal to ask at", strings.TrimSpace(prompt))
	}
	_ = c.ui.out.Flush() // what is asked about is seen before the question
	fmt.Fprint(c.Stderr, hidden.Visible(prompt))
	line, err := bufio.NewReader(c.Stdin).ReadString('\n')
	if err != nil && line == "" {
		return "", diag.New(diag.Usage, "asking for %s: no answer", strings.TrimSpace(prompt))
	}
	return strings.TrimSpace(line), nil
}

// needProject returns the project's root, or the error that there is none.
func (h *house) needProject() (*space.Root, error) {
	if root := h.spaces.Of(space.Project); root != nil {
		if _, err := os.Stat(root.Path(".")); err == nil {
			return root, nil
		}
	}
	if dir := h.spaces.ProjectDir; dir != "" {
		return nil, diag.New(diag.ItemNotFound, "finding the project: %s holds no %s", dir, space.Dir).
			WithHint("--project names the folder that holds %s; rye init makes one", space.Dir)
	}
	return nil, diag.New(diag.ItemNotFound, "finding the project: no folder from here upwards holds %s", space.Dir).
		WithHint("rye init makes a project here")
}
