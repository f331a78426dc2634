package mcpclient

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/stagedir"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// Store adds, changes and removes the servers of one space with the items of
// their tools. Close must be called.
type Store struct {
	p    StoreParams
	lock *filelock.Lock
}

// StoreParams are the parameters of OpenStore. Sign is required by Write only.
type StoreParams struct {
	Resolver *resolve.Resolver
	Root     *space.Root // the space's own root
	// Sign returns the given files, which are below .ai, with signatures. A file
	// that has a trusted signature is returned unchanged.
	Sign func(ctx context.Context, files map[string][]byte) (map[string][]byte, error)
}

// lockWait bounds the wait for another process that changes the servers.
const lockWait = 2 * time.Minute

// OpenStore waits until no other process changes the servers of the space.
func OpenStore(ctx context.Context, p StoreParams) (*Store, error) {
	base := p.Root.WriteBase()
	base.Sweep()
	l, err := base.LockWithin(ctx, "cache/mcp.lock", lockWait)
	if err != nil {
		return nil, diag.Doing("waiting for another rye", err)
	}
	stagedir.SweepOld(base, "cache", "mcp-")
	s := &Store{p, l}
	s.removeEmpty() // what a killed Remove left
	return s, nil
}

// Close permits other processes to change the servers of the space.
func (s *Store) Close() {
	_ = s.lock.Release()
}

// ServerPath returns the path of a server's item below .ai.
func ServerPath(server string) string {
	return "tools/" + ServerRef(server).ID + ".yaml"
}

// ToolPath returns the path of the item of a tool below .ai.
func ToolPath(server, tool string) string {
	return "tools/" + ToolRef(server, tool).ID + ".yaml"
}

// toolDir returns the directory of the items of a server's tools below .ai.
func toolDir(server string) string {
	return path.Join("tools", Folder, server)
}

// Find returns a server of this space; its Err may be set.
func (s *Store) Find(ctx context.Context, name string) (*Listed, error) {
	all, err := List(ctx, s.p.Resolver, false)
	if err != nil {
		return nil, err
	}
	e := diag.New(diag.ItemNotFound, "finding MCP server %q: not found in the %s space", name, s.p.Root.Space).WithReason("mcp_unknown")
	var names []string
	elsewhere := ""
	for i, l := range all {
		switch {
		case l.Root == s.p.Root && l.Name == name:
			return &all[i], nil
		case l.Root == s.p.Root:
			names = append(names, l.Name)
		case l.Name == name && elsewhere == "":
			elsewhere = l.Path
		}
	}
	if elsewhere != "" {
		return nil, e.WithReason("mcp_other_space").WithDetail("path", elsewhere)
	}
	if near := suggest.Nearest(name, names); near != "" {
		return nil, e.WithReason("nearest").WithDetail("nearest", near)
	}
	return nil, e
}

// CheckNew returns an error if the space has a server of that name, in any case:
// some file systems do not distinguish case.
func (s *Store) CheckNew(ctx context.Context, name string) error {
	all, err := List(ctx, s.p.Resolver, false)
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.Root == s.p.Root && strings.EqualFold(l.Name, name) {
			return diag.New(diag.AmbiguousItem, "adding MCP server %s: %s exists", name, l.Path).
				WithReason("mcp_exists").WithDetail("server", l.Name)
		}
	}
	return s.CheckTools(ctx, name)
}

// Items returns the refs of a server and of its tools in the space.
func (s *Store) Items(name string) ([]item.Ref, error) {
	out := []item.Ref{ServerRef(name)}
	err := s.p.Root.Walk(toolDir(name), func(e space.Entry) error {
		if e.Err == nil && path.Ext(e.Rel) == ".yaml" {
			out = append(out, item.Ref{Kind: item.Tool, ID: IDOf(e.Rel)})
		}
		return nil
	})
	return out, err
}

// CheckTools returns an error if the directory of a server's tools contains any
// other file: Write and Remove replace the whole directory.
func (s *Store) CheckTools(ctx context.Context, name string) error {
	return s.p.Root.Walk(toolDir(name), func(e space.Entry) error {
		if e.Err == nil && path.Dir(e.Rel) == toolDir(name) {
			it, err := s.p.Resolver.File(ctx, s.p.Root, e.Rel)
			if err == nil && it.Meta.Config["server"] == ServerRef(name).ID {
				return nil
			}
		}
		return diag.New(diag.AmbiguousItem, "changing MCP server %s: %s is not one of its tools", name, s.p.Root.Display(e.Rel)).
			WithReason("mcp_foreign_file").WithDetail("directory", s.p.Root.Display(toolDir(name)))
	})
}

// Write signs the items of a server and its tools, given by path below .ai, and
// replaces the existing ones. The directory of the tools is replaced first: a
// server must not be listed before its tools exist.
func (s *Store) Write(ctx context.Context, name string, files map[string][]byte) error {
	files, err := s.p.Sign(ctx, files)
	if err != nil {
		return err
	}
	fail := func(err error) error {
		return diag.Doing("writing the tools of MCP server "+name, err)
	}
	stage, err := stagedir.New(s.p.Root.WriteBase())
	if err != nil {
		return fail(err)
	}
	defer stage.Close()
	server := ServerPath(name)
	dir := stage.Replace(toolDir(name))
	if err := stage.MkdirAll(dir); err != nil {
		return fail(err)
	}
	for _, rel := range slices.Sorted(maps.Keys(files)) {
		if rel == server {
			continue
		}
		err := stage.WriteFile(dir, path.Base(rel), files[rel], 0o644)
		if err != nil {
			return fail(err)
		}
	}
	if err := stage.Commit(); err != nil {
		return fail(err)
	}
	put := s.p.Root.Create
	if s.p.Root.Exists(server) {
		put = s.p.Root.Write
	}
	if err := put(server, files[server]); err != nil {
		stage.Undo()
		return err
	}
	return nil
}

// Remove removes a server and its tools.
func (s *Store) Remove(l *Listed) error {
	fail := func(err error) error {
		return diag.Doing("removing MCP server "+l.Name, err)
	}
	stage, err := stagedir.New(s.p.Root.WriteBase())
	if err != nil {
		return fail(err)
	}
	defer stage.Close()
	if s.p.Root.Exists(toolDir(l.Name)) {
		stage.Remove(toolDir(l.Name))
	}
	if err := stage.Commit(); err != nil {
		return fail(err)
	}
	err = s.p.Root.Remove(ServerPath(l.Name))
	if err != nil {
		stage.Undo()
		return fail(err)
	}
	s.removeEmpty()
	return nil
}

// removeEmpty removes the directories of servers and tools if they are empty.
func (s *Store) removeEmpty() {
	for _, dir := range []string{path.Dir(ServerPath("x")), path.Join("tools", Folder)} {
		_ = s.p.Root.Remove(dir) // fails unless it is empty
	}
}
