package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// mcpStore is one space as the place where servers and their tools are kept.
type mcpStore struct {
	c     *cli.Call
	house *project.Project
	root  *space.Root
	key   sign.Signer
}

// inStore does something to the servers of the space that --scope names, while
// nobody else changes them.
func inStore(ctx context.Context, c *cli.Call, m project.Mode, do func(s *mcpStore) error) error {
	h, err := envOf(c).Open(ctx, m)
	if err != nil {
		return err
	}
	root, err := h.Verbs.Target(space.Name(c.Str("scope")))
	if err != nil {
		return err
	}
	s := &mcpStore{c: c, house: h, root: root}
	release, err := s.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	return do(s)
}

// Where a server and its tools lie, below .ai.
func serverRel(name string) string { return "tools/" + mcpclient.ServerRef(name).ID + ".yaml" }
func toolRel(server, tool string) string {
	return "tools/" + mcpclient.ToolRef(server, tool).ID + ".yaml"
}
func toolFolder(server string) string { return path.Join("tools", mcpclient.Folder, server) }

// dir is where servers of this space are started.
func (s *mcpStore) dir() string { return s.house.McpOptions().Dir }

func (s *mcpStore) signer(ctx context.Context) (err error) {
	if s.key == nil {
		s.key, err = s.house.Signer(ctx)
	}
	return err
}

// hold waits until nobody else changes the servers of the space.
func (s *mcpStore) hold(ctx context.Context) (release func(), err error) {
	if err := s.linkless("cache"); err != nil {
		return nil, err
	}
	l, err := filelock.Acquire(ctx, s.root.Path("cache/mcp.lock"))
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "waiting for another rye: %w", err)
	}
	// What a killed process left there is nobody's: whoever makes such a folder
	// holds the lock.
	entries, _ := os.ReadDir(s.root.Path("cache"))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagePrefix) {
			_ = os.RemoveAll(filepath.Join(s.root.Path("cache"), e.Name()))
		}
	}
	return func() { _ = l.Release() }, nil
}

// stagePrefix begins the names of folders in which items wait for their place.
const stagePrefix = "mcp-"

// servers returns those of this space, own items only, and those of others.
func (s *mcpStore) servers(ctx context.Context) (own, others []mcpclient.Listed, err error) {
	all, err := mcpclient.List(ctx, s.house.Resolver, false)
	for _, l := range all {
		if l.Root == s.root {
			own = append(own, l)
		} else {
			others = append(others, l)
		}
	}
	return own, others, err
}

// find returns a server of this space, whether or not it can be used.
func (s *mcpStore) find(ctx context.Context, name string) (*mcpclient.Listed, error) {
	own, others, err := s.servers(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(own))
	for i := range own {
		if names[i] = own[i].Name; names[i] == name {
			return &own[i], nil
		}
	}
	e := diag.New(diag.ItemNotFound, "finding MCP server %q: the %s space holds none of that name", name, s.root.Space).
		WithHint("rye mcp list shows the servers of every space")
	for _, l := range others {
		if l.Name == name {
			return nil, e.WithHint("it is in %s; --scope names the space", l.Path)
		}
	}
	if near := cli.Nearest(name, names); near != "" {
		e.Hint = "did you mean " + near + "?"
	}
	return nil, e
}

// vacant refuses a name that is taken, in whatever case.
func (s *mcpStore) vacant(ctx context.Context, name string) error {
	own, _, err := s.servers(ctx)
	if err != nil {
		return err
	}
	for _, l := range own {
		if strings.EqualFold(l.Name, name) {
			return diag.New(diag.AmbiguousItem, "adding MCP server %s: %s exists", name, l.Path).
				WithHint("rye mcp refresh %s asks it again; rye mcp remove %s removes it", l.Name, l.Name)
		}
	}
	return s.onlyTools(ctx, name)
}

// onlyTools refuses a folder of tools that holds anything else: it is replaced
// and removed as a whole.
func (s *mcpStore) onlyTools(ctx context.Context, name string) error {
	return s.root.Walk(toolFolder(name), func(e space.Entry) error {
		if e.Err == nil && path.Dir(e.Rel) == toolFolder(name) {
			it, err := s.house.Resolver.File(ctx, s.root, e.Rel)
			if err == nil && it.Meta.Config["server"] == mcpclient.ServerRef(name).ID {
				return nil
			}
		}
		return diag.New(diag.AmbiguousItem, "changing MCP server %s: %s is none of its tools", name, s.root.Display(e.Rel)).
			WithHint("move it out of %s, which holds the tools of that server only", s.root.Display(toolFolder(name)))
	})
}

// write signs items in memory and puts them in place: the folder of the tools as
// a whole, then the server. Texts that are signed already stay as they are.
func (s *mcpStore) write(ctx context.Context, name string, files map[string][]byte) ([]primary.SignReport, error) {
	reports, signed, err := s.sign(ctx, files)
	if err != nil {
		return nil, err
	}
	return reports, s.place(name, signed)
}

// sign returns the files with their signatures, after these were recorded.
func (s *mcpStore) sign(ctx context.Context, files map[string][]byte) ([]primary.SignReport, map[string][]byte, error) {
	root := space.NewFiles(s.root.Space, memory(files))
	r := s.house.Verifier(s.over(root))
	house := primary.New(primary.Params{Resolver: r, Caller: policy.Person(), Record: s.house.Record(), Now: s.c.Now})
	out := maps.Clone(files)
	var reports []primary.SignReport
	var made []primary.SignedFile
	var fs []diag.Finding
	for _, rel := range slices.Sorted(maps.Keys(files)) {
		it, err := r.File(ctx, root, rel)
		if err != nil {
			return nil, nil, err
		}
		if it.Verdict.OK() {
			continue // whoever signed it vouches for it
		}
		rep, file, err := house.Prepare(ctx, it, s.key)
		if err != nil {
			return nil, nil, err
		}
		reports, fs = append(reports, rep), append(fs, rep.Findings...)
		if rep.Status == primary.Signed {
			out[file.Rel], made = file.Bytes, append(made, file)
		}
	}
	if err := diag.FromFindings("signing", fs); err != nil {
		return nil, nil, err
	}
	return reports, out, house.Record(ctx, made)
}

// over returns the spaces with root in place of this one's own items.
func (s *mcpStore) over(root *space.Root) *space.Spaces {
	spaces := *s.house.Spaces
	spaces.Roots = slices.Clone(spaces.Roots)
	for i, r := range spaces.Roots {
		if r == s.root {
			spaces.Roots[i] = root
		}
	}
	return &spaces
}

// place puts signed files where they belong. Until the last step nothing that was
// there is lost, and a server is known only when its tools are.
func (s *mcpStore) place(name string, files map[string][]byte) (err error) {
	server := serverRel(name)
	stage := s.root.Path("cache/" + stagePrefix + rand.Text())
	defer func() { _ = os.RemoveAll(stage) }()
	if err = s.stage(stage, server, files); err != nil {
		return placing(name, err)
	}
	final, aside := s.root.Path(toolFolder(name)), filepath.Join(stage, "old")
	if err := s.linkless(toolFolder(name)); err != nil {
		return err
	}
	had, err := replaceFolder(filepath.Join(stage, "new"), final, aside)
	if err != nil {
		return placing(name, err)
	}
	if s.root.Exists(server) {
		err = s.root.Write(server, files[server])
	} else {
		err = s.root.Create(server, files[server])
	}
	if err == nil {
		return nil
	}
	if had {
		_ = openat.Swap(aside, final, filepath.Join(stage, "undone"))
	} else {
		_ = os.Rename(final, filepath.Join(stage, "undone"))
	}
	return err
}

func placing(name string, err error) error {
	return diag.New(cmp.Or(diag.CodeOf(err), diag.FileSystemError), "writing the tools of MCP server %s: %w", name, err)
}

// stage writes the new folder of tools beside the space.
func (s *mcpStore) stage(stage, server string, files map[string][]byte) error {
	if err := os.MkdirAll(filepath.Join(stage, "new"), 0o755); err != nil {
		return err
	}
	for rel, b := range files {
		if rel == server {
			continue
		}
		if err := os.WriteFile(filepath.Join(stage, "new", path.Base(rel)), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// replaceFolder puts staged in the place of final, what was there at aside, and
// reports whether anything was.
func replaceFolder(staged, final, aside string) (had bool, err error) {
	if _, err := os.Lstat(final); err == nil {
		return true, openat.Swap(staged, final, aside)
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return false, err
	}
	return false, os.Rename(staged, final)
}

// linkless refuses a place that is reached through a link, as reading does.
func (s *mcpStore) linkless(rel string) error {
	for at := rel; at != "."; at = path.Dir(at) {
		if fi, err := os.Lstat(s.root.Path(at)); err == nil && fi.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return diag.New(diag.PathEscape, "writing below %s: it is a link", s.root.Display(at)).WithHint("replace the link by the folder itself")
		}
	}
	return nil
}

// remove takes a server and its tools away: the folder as a whole, then the
// server.
func (s *mcpStore) remove(l *mcpclient.Listed) error {
	folder := s.root.Path(toolFolder(l.Name))
	if err := s.linkless(toolFolder(l.Name)); err != nil {
		return err
	}
	aside := s.root.Path("cache/" + stagePrefix + rand.Text())
	err := os.Rename(folder, aside)
	gone := err == nil
	if err == nil || os.IsNotExist(err) {
		err = os.Remove(s.root.Path(serverRel(l.Name)))
	}
	if err != nil {
		if gone {
			_ = os.Rename(aside, folder)
		}
		return diag.New(diag.FileSystemError, "removing MCP server %s: %w", l.Name, err)
	}
	_ = os.RemoveAll(aside)
	for _, dir := range []string{path.Dir(serverRel(l.Name)), path.Join("tools", mcpclient.Folder)} {
		_ = os.Remove(s.root.Path(dir)) // when it is empty
	}
	return nil
}

// memory is a space's files while they are signed.
type memory map[string][]byte

// Read implements space.Files.
func (m memory) Read(rel string, limit int64) ([]byte, error) {
	b, ok := m[rel]
	switch {
	case !ok:
		return nil, &fs.PathError{Op: "reading", Path: rel, Err: fs.ErrNotExist}
	case int64(len(b)) > limit:
		return nil, diag.New(diag.TooLarge, "reading %q: it has %d bytes, at most %d are allowed", rel, len(b), limit)
	}
	return bytes.Clone(b), nil
}

// Exists implements space.Files.
func (m memory) Exists(rel string) bool {
	_, ok := m[rel]
	return ok || rel == "." || slices.ContainsFunc(slices.Collect(maps.Keys(m)), func(r string) bool { return strings.HasPrefix(r, rel+"/") })
}

// Executable implements space.Files.
func (m memory) Executable(string) bool { return false }

// Walk implements space.Files.
func (m memory) Walk(rel string, fn func(space.Entry) error) error {
	for _, r := range slices.Sorted(maps.Keys(m)) {
		if r == rel || rel == "." || strings.HasPrefix(r, rel+"/") {
			if err := fn(space.Entry{Rel: r}); err != nil {
				return err
			}
		}
	}
	return nil
}

func entryRefs(entries []resolve.Entry) []item.Ref {
	out := make([]item.Ref, len(entries))
	for i, e := range entries {
		out[i] = e.Ref
	}
	return out
}
