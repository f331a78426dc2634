package mcpserve

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/primary/agent"
)

// newTool returns a verb as clients list it. All four hints are always set: the
// protocol's defaults differ from those that some clients assume.
func newTool(d agent.Definition) *mcp.Tool {
	t := &mcp.Tool{
		Meta: mcp.Meta{"anthropic/alwaysLoad": true}, // clients must not defer the four tools
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

// callTool returns the handler of one verb. The arguments are passed unparsed:
// the verb reports all their problems at once.
func (s *Server) callTool(name string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		report := newProgress(ctx, req)
		defer report.stop()
		ctx, done, err := s.calls.begin(ctx, req.Session.ID(), report.waiting)
		if err != nil {
			return result(agent.ErrorReply(err)), nil
		}
		defer done()
		q := &questions{req: req}
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
