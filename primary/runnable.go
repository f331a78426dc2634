package primary

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// Runnable returns an error for an item that other items use and that is not run
// itself. Its file would be passed to the interpreter of its own chain: bash would
// execute the YAML of a runtime.
func Runnable(it *resolve.Item) error {
	switch kind := it.Meta.ToolType; kind {
	case mcpclient.ServerType:
		return diag.New(
			diag.ValidationFailed,
			"running %s: it states how an MCP server is reached; the tools of the server are below %s/%s/",
			it.Ref,
			mcpclient.Folder,
			it.Ref.Name(),
		).
			WithReason("mcp_server_item").WithDetail("server", it.Ref.Name())
	case item.Library:
		return diag.New(diag.ValidationFailed, "running %s: it is a library, which tools import, and is not run by itself", it.Ref).
			WithReason("not_a_tool").
			WithDetail("ref", it.Ref.String()).
			WithDetail("id", it.Ref.ID)
	case "runtime", "primitive", "extractor", "parser", "sink":
		return diag.New(diag.ValidationFailed, "running %s: it is a %s, which rye uses for other items and does not run by itself", it.Ref, kind).
			WithReason("not_a_tool").
			WithDetail("ref", it.Ref.String()).
			WithDetail("id", it.Ref.ID)
	}
	return nil
}
