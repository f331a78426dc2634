package mcpclient

import (
	"context"
	"path"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// Listed is one server with the items of its tools.
type Listed struct {
	Name   string
	Space  string // label of the root that contains it
	Path   string
	Shadow bool            // a nearer space has a server of that name
	Server *Server         // nil when Err is set
	Err    error           // why it cannot be used
	Tools  []ListedTool    // in its own space, by id
	Item   *resolve.Item   // nil when it cannot be read
	Root   *space.Root     // the root that contains it
	Files  []resolve.Entry // of the tools
}

// ListedTool is one tool of a server.
type ListedTool struct {
	Ref         item.Ref
	Name        string // at the server
	Description string
	Err         error // why it cannot be used
}

// List returns the servers of every space, by name, then precedence. It reads the
// items of tools only if tools is true.
func List(ctx context.Context, r *resolve.Resolver, tools bool) ([]Listed, error) {
	entries, err := r.All(ctx, item.Tool)
	if err != nil {
		return nil, err
	}
	var out []Listed
	for _, e := range entries {
		if path.Dir(e.Ref.ID) != ServerFolder {
			continue
		}
		l := Listed{
			Name:   e.Ref.Name(),
			Space:  e.Root.Label(),
			Path:   e.Root.Display(e.Rel),
			Shadow: e.Shadow,
			Root:   e.Root,
		}
		l.read(ctx, r, e)
		for _, t := range entries {
			if t.Root == e.Root &&
				path.Dir(t.Ref.ID) == path.Join(Folder, l.Name) {
				l.Files = append(l.Files, t)
				if tools {
					l.Tools = append(l.Tools, listedTool(ctx, r, t))
				}
			}
		}
		out = append(out, l)
	}
	return out, ctx.Err()
}

func (l *Listed) read(ctx context.Context, r *resolve.Resolver, e resolve.Entry) {
	it, err := r.Open(ctx, e)
	if err == nil {
		l.Item = it
		if err = it.Usable(); err == nil {
			l.Server, err = ReadServer(it)
		}
	}
	if err != nil {
		l.Server = nil
		l.Err = err
	}
}

func listedTool(ctx context.Context, r *resolve.Resolver, e resolve.Entry) ListedTool {
	t := ListedTool{Ref: e.Ref, Name: Original(e.Ref.Name())}
	it, err := r.Open(ctx, e)
	if err == nil {
		t.Description = it.Meta.Description
		err = it.Usable()
	}
	if err == nil {
		var s *Stub
		if s, err = ReadStub(it); err == nil {
			t.Name = s.Tool
		}
	}
	t.Err = err
	return t
}

// Data returns the server as plain values. Variables are not filled in.
func (l *Listed) Data(tools bool) map[string]any {
	m := map[string]any{
		"name":       l.Name,
		"space":      l.Space,
		"path":       l.Path,
		"tool_count": len(l.Files),
		"trusted":    l.Err == nil,
	}
	if l.Shadow {
		m["shadowed"] = true
	}
	if l.Err != nil {
		m["problem"] = map[string]any{"code": string(diag.CodeOf(l.Err)), "message": l.Err.Error()}
	}
	if s := l.Server; s != nil {
		for key, v := range s.Data() {
			m[key] = v
		}
	}
	if tools {
		list := []any{}
		for _, t := range l.Tools {
			e := map[string]any{"id": t.Ref.ID, "name": t.Name, "description": t.Description}
			if t.Err != nil {
				e["problem"] = t.Err.Error()
			}
			list = append(list, e)
		}
		m["tools"] = list
	}
	return m
}
