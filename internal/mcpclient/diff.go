package mcpclient

import (
	"bytes"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
)

// Diff is the difference between the items of a server and what it offers now.
// Paths are below .ai.
type Diff struct {
	Added   []string
	Removed []string
	Changed []Change
	Files   map[string][]byte // every item after the change
	Tools   map[string]Tool   // the offered tools, by path
}

// Change is an item that is written again.
type Change struct {
	Path    string
	Parts   []string // the parts of the tool's definition that changed
	Problem string   // why the item was not trusted or invalid, or ""
	Diff    string   // unified
}

// Empty reports whether nothing has changed.
func (d *Diff) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed) == 0
}

// Compare returns the difference between the items of a server and an offer. An
// item that still matches the offer is kept as it is, with the user's own changes.
func (s *Store) Compare(ctx context.Context, l *Listed, offer *Offer) (*Diff, error) {
	files, err := offer.Items()
	if err != nil {
		return nil, err
	}
	d := &Diff{Files: files, Tools: map[string]Tool{}}
	for _, t := range offer.Tools {
		d.Tools[ToolPath(l.Name, t.Name)] = t
	}
	items := map[string]*resolve.Item{ServerPath(l.Name): l.Item}
	for _, e := range l.Files {
		if items[e.Rel], err = s.p.Resolver.Open(ctx, e); err != nil {
			return nil, err
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(files)) {
		it := items[rel]
		if it == nil {
			d.Added = append(d.Added, rel)
			continue
		}
		tool, isTool := d.Tools[rel]
		var change *Change
		switch {
		case isTool:
			change = toolChange(it, files[rel], offer.Server, tool)
		case !l.Server.Same(offer.Server):
			change = textChange(it, files[rel], it.Usable())
		}
		if change == nil {
			files[rel] = it.Bytes
		} else {
			d.Changed = append(d.Changed, *change)
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(items)) {
		if files[rel] == nil {
			d.Removed = append(d.Removed, rel)
		}
	}
	return d, nil
}

// toolChange returns how the item of a tool changes, or nil.
func toolChange(it *resolve.Item, now []byte, server *Server, tool Tool) *Change {
	problem := it.Usable()
	if problem == nil {
		stub, err := ReadStub(it)
		if err == nil &&
			it.Meta.ExecutorID == server.Runtime() &&
			stub.Matches(server, tool) {
			return nil
		}
		problem = err
	}
	change := textChange(it, now, problem)
	if change != nil {
		change.Parts = Differences(it, tool)
	}
	return change
}

// textChange returns how the text of an item changes, or nil if it does not and
// there is no problem.
func textChange(it *resolve.Item, now []byte, problem error) *Change {
	before := it.Bytes
	split, err := sign.SplitFile(it.Bytes, it.Type.Style)
	if err == nil {
		before = split.Body()
	}
	c := &Change{Path: it.Rel, Diff: linediff.Unified("signed", "now", before, now)}
	switch {
	case problem != nil:
		c.Problem = problem.Error()
	case bytes.Equal(before, now):
		return nil
	}
	return c
}

// Refs returns the refs of the items at paths below .ai.
func Refs(paths []string) []item.Ref {
	out := make([]item.Ref, len(paths))
	for i, p := range paths {
		out[i] = item.Ref{Kind: item.Tool, ID: IDOf(p)}
	}
	return out
}

// IDOf returns the id of the item at a path below .ai.
func IDOf(p string) string {
	return strings.TrimPrefix(strings.TrimSuffix(p, path.Ext(p)), "tools/")
}

// Data returns the difference as plain values.
func (d *Diff) Data(name string) map[string]any {
	ids := func(paths []string) []string {
		out := []string{}
		for _, p := range paths {
			out = append(out, IDOf(p))
		}
		return out
	}
	changed := []any{}
	for _, c := range d.Changed {
		m := map[string]any{"id": IDOf(c.Path), "diff": c.Diff}
		if len(c.Parts) > 0 {
			m["parts"] = c.Parts
		}
		if c.Problem != "" {
			m["problem"] = c.Problem
		}
		changed = append(changed, m)
	}
	var tools []Tool // the new and the changed ones
	for _, p := range slices.Sorted(maps.Keys(d.Tools)) {
		if slices.Contains(d.Added, p) ||
			slices.ContainsFunc(d.Changed, func(c Change) bool { return c.Path == p }) {
			tools = append(tools, d.Tools[p])
		}
	}
	return map[string]any{
		"name":    name,
		"added":   ids(d.Added),
		"removed": ids(d.Removed),
		"changed": changed,
		"tools":   ToolsData(name, tools),
	}
}
