package exec

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cas"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// MaxAnchorFiles is the largest number of files that an anchor holds.
const MaxAnchorFiles = 5000

// anchor is the directory that a tool of several files runs in. It is a read-only
// copy of verified files: the original files can change after verification.
type anchor struct {
	dir      string // of the copy
	original string // the directory as messages name it
	tool     string // the tool's file in the copy
	env      map[string]envPath
	with     []*resolve.Item // the files of the copy other than the tool
}

// envPath is the directories that env_paths adds to one variable.
type envPath struct{ prepend, append []string }

// anchorRules are the anchor and verify_deps of an element.
type anchorRules struct {
	mode       string // auto, always, never
	markers    []string
	root       string // tool_dir, tool_parent
	env        map[string]envPath
	verify     bool
	scope      string // anchor, tool_dir
	extensions []string
	exclude    []string
}

// anchorSet is the verified files of an anchor, before they are copied.
// The root is the directory of the tool or its parent, never the project or all of tools: the
// files are copied and verified for each run.
type anchorSet struct {
	rules *anchorRules
	base  string          // the directory, below .ai
	with  []*resolve.Item // the files other than the tool
}

// anchored reads the files of a tool's anchor, nil if none applies.
func (e *Executor) anchored(ctx context.Context, c *Chain) (*anchorSet, error) {
	rules, err := readAnchor(c)
	if err != nil || rules == nil {
		return nil, err
	}
	tool := c.Tool()
	if rules.mode == "never" || rules.mode == "auto" && !marked(tool, rules.markers) {
		return nil, nil
	}
	base := path.Dir(tool.Rel)
	if rules.root == "tool_parent" {
		base = path.Dir(base)
	}
	if !strings.Contains(base, "/") { // tools/ itself: every tool of the space
		return nil, diag.New(diag.ConfigError, "anchoring %s: its anchor would be all of %s", tool.Ref, tool.Root.Display(base)).
			WithReason("anchor_too_wide")
	}
	with, err := e.anchorFiles(ctx, tool, rules, base)
	return &anchorSet{rules, base, with}, err
}

// anchor returns the anchor of a tool, nil if none applies.
func (e *Executor) anchor(ctx context.Context, c *Chain) (*anchor, error) {
	set, err := e.anchored(ctx, c)
	if err != nil || set == nil {
		return nil, err
	}
	tool := c.Tool()
	base := set.base
	with := set.with
	var files []cas.TreeFile
	for _, it := range append([]*resolve.Item{tool}, with...) {
		files = append(files, cas.TreeFile{Rel: strings.TrimPrefix(it.Rel, base+"/"), Bytes: it.Bytes})
	}
	dir, err := e.store.Tree(files)
	if err != nil {
		return nil, err
	}
	rel := strings.TrimPrefix(tool.Rel, base+"/")
	return &anchor{
		dir:      dir,
		original: tool.Root.Display(base),
		tool:     filepath.Join(dir, filepath.FromSlash(rel)),
		env:      set.rules.env,
		with:     with,
	}, nil
}

// marked reports whether the tool's directory has a marker.
func marked(tool *resolve.Item, markers []string) bool {
	dir := path.Dir(tool.Rel)
	return slices.ContainsFunc(markers, func(m string) bool {
		return path.Base(m) == m && tool.Root.Exists(path.Join(dir, m))
	})
}

// anchorFiles reads and verifies the other files below base. A file with a listed
// extension must be trusted. Any other file is copied only if it is trusted, for
// example by a bundle manifest.
func (e *Executor) anchorFiles(
	ctx context.Context,
	tool *resolve.Item,
	r *anchorRules,
	base string,
) ([]*resolve.Item, error) {
	var files []*resolve.Item
	if !r.verify {
		return files, nil
	}
	scope := base
	if r.scope == "tool_dir" {
		scope = path.Dir(tool.Rel)
	}
	var bad []error
	err := tool.Root.Walk(scope, func(entry space.Entry) error {
		if entry.Rel == tool.Rel ||
			path.Ext(entry.Rel) == extract.DetachedExt ||
			r.excludes(strings.TrimPrefix(entry.Rel, base+"/")) {
			return ctx.Err()
		}
		if len(files) == MaxAnchorFiles-1 {
			return diag.New(diag.TooLarge, "anchoring %s: %s has more than %d files", tool.Ref, tool.Root.Display(scope), MaxAnchorFiles)
		}
		f, err := e.anchorFile(ctx, tool.Root, entry, r)
		if err != nil {
			bad = append(bad, err)
		} else if f != nil {
			files = append(files, f)
		}
		return ctx.Err()
	})
	if err == nil && len(bad) > 0 {
		err = diag.Join("verifying the files of "+tool.Ref.String(), bad)
	}
	return files, err
}

// anchorFile returns one verified file, nil if it is left out.
// An untrusted file is refused by name if it has an extension that the runtime lists. Otherwise
// it is left out of the copy.
func (e *Executor) anchorFile(
	ctx context.Context,
	root *space.Root,
	entry space.Entry,
	r *anchorRules,
) (*resolve.Item, error) {
	required := slices.Contains(r.extensions, path.Ext(entry.Rel))
	it, err := e.p.Resolver.File(ctx, root, entry.Rel)
	if err == nil {
		err = it.Verdict.Err(it.Path())
	}
	switch {
	case err == nil:
		return it, nil
	// A link or a device is refused with any extension: the copy cannot have it,
	// and the tool would fail for a reason that no message states.
	case required || entry.Type != 0:
		return nil, err
	}
	return nil, nil
}

func (r *anchorRules) excludes(rel string) bool {
	return slices.ContainsFunc(
		strings.Split(path.Dir(rel), "/"),
		func(dir string) bool {
			return slices.Contains(r.exclude, dir)
		},
	)
}

// readAnchor returns the rules of the first element that has an anchor, with the
// verify_deps of the same element. It returns nil without an anchor.
func readAnchor(c *Chain) (*anchorRules, error) {
	i := slices.IndexFunc(c.Elements, func(el *resolve.Item) bool {
		return fieldsOf(el).Has("anchor")
	})
	if i < 0 {
		return nil, nil
	}
	el := c.Elements[i]
	r := fieldsOf(el)
	anchor := r.Map("anchor")
	deps := r.Map("verify_deps")
	anchor.Only("mode", "markers_any", "root", "env_paths")
	deps.Only("enabled", "scope", "extensions", "exclude_dirs")
	rules := &anchorRules{
		mode:       anchor.Enum("mode", "auto", "auto", "always", "never"),
		markers:    anchor.Texts("markers_any", nil),
		root:       anchor.Enum("root", "tool_dir", "tool_dir", "tool_parent"),
		env:        readEnvPaths(anchor.Map("env_paths")),
		verify:     deps.Bool("enabled", true),
		scope:      deps.Enum("scope", "anchor", "anchor", "tool_dir"),
		extensions: deps.Texts("extensions", nil),
		exclude:    deps.Texts("exclude_dirs", nil),
	}
	return rules, decodeError("reading the anchor of "+el.Ref.String(), el, r)
}

func readEnvPaths(r *tree.Reader) map[string]envPath {
	out := map[string]envPath{}
	for _, name := range r.Keys() {
		if msg := badName(name); msg != "" {
			r.Reject(name, "is not the name of a variable: %s", msg)
		}
		e := r.Map(name)
		e.Only("prepend", "append")
		out[name] = envPath{e.Texts("prepend", nil), e.Texts("append", nil)}
	}
	return out
}

// texts returns the templates of env_paths. The files that they name must be
// materialised.
func (a *anchor) texts() []string {
	if a == nil {
		return nil
	}
	var out []string
	for _, p := range a.env {
		out = append(append(out, p.prepend...), p.append...)
	}
	return out
}

// addPaths adds the anchor's directories before and after the values of the
// variables.
func (a *anchor) addPaths(env, vars map[string]string) error {
	if a == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(a.env)) {
		var dirs []string
		add := func(templates []string) error {
			for _, t := range templates {
				dir, err := tmpl.Expand(t, env, vars)
				if err != nil {
					return diag.New(diag.ConfigError, "filling in env_paths of %s: %w", name, err)
				}
				if dir != "" && !slices.Contains(dirs, dir) {
					dirs = append(dirs, dir)
				}
			}
			return nil
		}
		before := a.env[name]
		if err := add(before.prepend); err != nil {
			return err
		}
		dirs = append(dirs, filepath.SplitList(env[name])...)
		if err := add(before.append); err != nil {
			return err
		}
		env[name] = strings.Join(dirs, string(os.PathListSeparator))
	}
	return nil
}
