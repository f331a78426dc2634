package mcpserve

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/primary/agent"
)

// newTool returns a verb as clients list it. All four hints are always set: the
// protocol's defaults differ from those that some clients assume.
func newTool(d agent.Definition) *mcp.Tool {
	t := &mcp.Tool{
		Meta:        mcp.Meta{"anthropic/alwaysLoad": true}, // clients must not defer the four tools
		Name:        d.Name,
		Title:       d.Title,
		Description: d.Description,
		InputSchema: d.InputSchema,
		Annotations: &mcp.ToolAnnotations{
			Title:           d.Title,
			ReadOnlyHint:    d.Hints.ReadOnly,
			DestructiveHint: &d.Hints.Destructive,
			IdempotentHint:  d.Hints.Idempotent,
			OpenWorldHint:   &d.Hints.OpenWorld,
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
			return result(agent.ErrorReply(err), ""), nil
		}
		defer done()
		q := &questions{req: req}
		asking, err := q.asking(s)
		if err != nil {
			return result(agent.ErrorReply(err), req.ProtocolVersion()), nil
		}
		reply := s.p.Verbs.Call(ctx, agent.Request{
			Name:     name,
			Args:     arguments(req),
			Progress: report.line(),
			Steps:    report.steps(),
			Ask:      q.ask(),
			Asking:   asking,
		})
		switch {
		case q.pending != nil:
			return &mcp.CallToolResult{InputRequests: q.pending, RequestState: s.state(asking)}, nil
		case reply.Unknown:
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown tool " + quoted(name)}
		}
		return result(reply, req.ProtocolVersion()), nil
	}
}

func arguments(req *mcp.CallToolRequest) json.RawMessage {
	if len(req.Params.Arguments) == 0 {
		return json.RawMessage("{}")
	}
	return req.Params.Arguments
}

// result returns a reply for a client of a revision of the protocol.
func result(r *agent.Reply, version string) *mcp.CallToolResult {
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Text)}}, IsError: r.Failed}
	for _, raw := range r.Blocks {
		res.Content = append(res.Content, block(raw, version))
	}
	if r.Structured != nil {
		res.StructuredContent = r.Structured
	}
	return res
}

// The first revisions that have a kind of content.
const (
	audioSince = "2025-03-26"
	linksSince = "2025-06-18"
)

// block returns a block of content, or a text if the client's revision does not have
// its kind: the number of each block must stay the same.
func block(raw json.RawMessage, version string) mcp.Content {
	var res mcp.CallToolResult
	doc := slices.Concat([]byte(`{"content":[`), raw, []byte("]}"))
	err := json.Unmarshal(doc, &res)
	if err != nil || len(res.Content) != 1 {
		return &mcp.TextContent{Text: "this content cannot be shown"}
	}
	switch res.Content[0].(type) {
	case *mcp.AudioContent:
		if version != "" && version < audioSince {
			return &mcp.TextContent{Text: "a sound, which this client's revision of MCP does not have"}
		}
	case *mcp.ResourceLink:
		if version != "" && version < linksSince {
			return &mcp.TextContent{Text: string(raw)}
		}
	}
	return res.Content[0]
}
