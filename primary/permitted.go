package primary

import (
	"context"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// connectTool is the tool that calls any tool of a server.
const connectTool = "rye/mcp/connect"

// CheckPermits warns about permissions of a directive that name an item that does not run: a
// thread is offered nothing for them. The server of an MCP tool is named with its tools.
// Wildcards are not reported. The signatures of the named items are not checked.
func CheckPermits(ctx context.Context, r *resolve.Resolver, it *resolve.Item) []diag.Finding {
	if it.Ref.Kind != item.Directive {
		return nil
	}
	permits := it.Directive().Permissions.Caps
	var out []diag.Finding
	for i, text := range it.Meta.Permissions {
		kind, id := exactlyRun(text)
		if id == "" {
			continue
		}
		f := checkPermit(ctx, r, item.Ref{Kind: kind, ID: id}, permits)
		if f == nil {
			continue
		}
		at := (&tree.Doc{Pos: it.Meta.Pos}).At(tree.Index("permissions", i))
		f.Line = max(at.Line, 1)
		f.Column = at.Column
		f.Path = it.Path()
		out = append(out, *f)
	}
	return out
}

// exactlyRun returns the kind and the id of the item that a capability permits to run, "" for
// one with a wildcard or for another verb.
func exactlyRun(text string) (kind item.Kind, id string) {
	rest, ok := strings.CutPrefix(text, "rye."+string(policy.Execute)+".")
	if !ok || strings.ContainsAny(rest, "*?[") {
		return "", ""
	}
	first, dotted, _ := strings.Cut(rest, ".")
	return item.Kind(first), strings.ReplaceAll(dotted, ".", "/")
}

// checkPermit returns the warning about the permission to run an item, nil if it has an effect
// or the item does not exist here.
func checkPermit(
	ctx context.Context,
	r *resolve.Resolver,
	ref item.Ref,
	permits policy.Set,
) *diag.Finding {
	if ref.Kind == item.Config {
		f := diag.Warnf(diag.ValidationFailed, 0, 0, "it permits to run %s, and a configuration does not run; to let the thread read it, write <load><config>%s</config></load>", ref, ref.ID)
		return &f
	}
	if ref.Kind != item.Tool {
		return nil
	}
	named, err := r.Inspect(ctx, ref)
	if err != nil {
		return nil // a directive may name a tool that this project does not have
	}
	refused := Runnable(named)
	if refused == nil {
		return nil
	}
	_, why, _ := strings.Cut(refused.Error(), ": ")
	instead := "name the tool that uses it"
	if named.Meta.ToolType == mcpclient.ServerType {
		if reaches(permits, ref.Name()) {
			return nil // the tools of the server need it
		}
		instead = fmt.Sprintf("add <tool>%s/%s/TOOL</tool> for each one that the thread needs", mcpclient.Folder, ref.Name())
	}
	f := diag.Warnf(diag.ValidationFailed, 0, 0, "it permits to run %s, and the permission offers nothing: %s; %s", ref, why, instead)
	return &f
}

// reaches reports whether capabilities permit at least one tool of a server.
func reaches(permits policy.Set, server string) bool {
	if permits.Holds(policy.Needed(policy.Execute, item.Ref{Kind: item.Tool, ID: connectTool})) {
		return true
	}
	below := "rye.execute.tool." + mcpclient.Folder + "." + server
	for _, c := range permits {
		text := string(c)
		if strings.HasPrefix(text, below+".") || c.Covers(policy.Cap(below+".x")) {
			return true
		}
	}
	return false
}
