package mcpclient

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
)

// Offer is a server with the tools that it offers and that can be called.
type Offer struct {
	Server   *Server // with the revision of the protocol that was negotiated
	Software string  // the server's name and version
	Tools    []Tool
	Warnings []diag.Finding
}

// Ask connects to a server and lists its tools. Variables come from environ.
func Ask(ctx context.Context, o Options, s *Server, environ []string) (*Offer, error) {
	expanded, err := s.Expand(nil, environ)
	if err != nil {
		return nil, err
	}
	session, err := Connect(ctx, o, expanded)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	tools, err := session.Tools(ctx)
	if err != nil {
		return nil, err
	}
	server := *s
	server.Protocol = session.Protocol()
	offer := &Offer{Server: &server, Software: session.Software(), Tools: tools}
	fs := Check(&server, tools, resolve.MaxItem)
	for _, f := range fs {
		if f.Severity == diag.SeverityWarning {
			offer.Warnings = append(offer.Warnings, f)
		}
	}
	offer.Tools = callable(tools)
	return offer, diag.FromFindings("adding the tools of MCP server "+server.Name, fs)
}

// Items returns the unsigned items of the server and its tools by path below .ai.
func (o *Offer) Items() (map[string][]byte, error) {
	text, err := o.Server.Item()
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{ServerPath(o.Server.Name): text}
	for _, t := range o.Tools {
		b, err := StubItem(o.Server, t)
		if err != nil {
			return nil, err
		}
		out[ToolPath(o.Server.Name, t.Name)] = b
	}
	return out, nil
}

// ToolsData returns tools as plain values.
func ToolsData(server string, tools []Tool) []any {
	out := []any{}
	for _, t := range tools {
		out = append(out, map[string]any{
			"id": ToolRef(server, t.Name).ID, "name": t.Name, "description": t.Description, "definition": t.Definition(),
		})
	}
	return out
}
