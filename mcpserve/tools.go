package mcpserve

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/primary/agent"
)

// tool is a verb as clients read it. All four hints are always said: what is
// left out means the worst to some clients and the best to others.
func tool(d agent.Definition) *mcp.Tool {
	t := &mcp.Tool{
		Meta: mcp.Meta{"anthropic/alwaysLoad": true}, // four tools are worth their place in every context
		Name: d.Name, Title: d.Title, Description: d.Description, InputSchema: d.InputSchema,
		Annotations: &mcp.ToolAnnotations{
			Title: d.Title, ReadOnlyHint: d.Hints.ReadOnly, DestructiveHint: &d.Hints.Destructive,
			IdempotentHint: d.Hints.Idempotent, OpenWorldHint: &d.Hints.OpenWorld,
		},
	}
	if d.OutputSchema != nil {
		t.OutputSchema = d.OutputSchema
	}
	return t
}

// callTool returns the handler of one verb. Its arguments reach the verb as
// they came: the verb tells all that is wrong with them at once.
func (s *Server) callTool(name string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		report := newProgress(ctx, req)
		defer report.stop()
		ctx, done, err := s.calls.enter(ctx, req.Session.ID(), report.waits)
		if err != nil {
			return result(agent.ErrorReply(err)), nil
		}
		defer done()
		q := &asking{req: req}
		reply := s.p.Verbs.Call(ctx, agent.Request{
			Name: name, Args: arguments(req), Progress: report.line(), Ask: q.ask(),
		})
		switch {
		case q.pending != nil:
			return &mcp.CallToolResult{InputRequests: q.pending}, nil
		case reply.Unknown:
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown tool " + quoted(name)}
		}
		return result(reply), nil
	}
}

func arguments(req *mcp.CallToolRequest) json.RawMessage {
	if len(req.Params.Arguments) == 0 {
		return json.RawMessage("{}")
	}
	return req.Params.Arguments
}

func result(r *agent.Reply) *mcp.CallToolResult {
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Text)}}, IsError: r.Failed}
	if r.Structured != nil {
		res.StructuredContent = r.Structured
	}
	return res
}
