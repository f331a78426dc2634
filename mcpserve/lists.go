package mcpserve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/primary/agent"
)

// pageSize is the maximum number of entries of one page.
const pageSize = 500

func (s *Server) listPrompts(ctx context.Context, params *mcp.ListPromptsParams) (*mcp.ListPromptsResult, error) {
	all, err := s.p.Verbs.Prompts(ctx)
	if err != nil {
		return nil, s.protocolError(err, nil)
	}
	part, next, err := page(all, params.Cursor, func(p agent.Prompt) string {
		return p.Name
	})
	if err != nil {
		return nil, err
	}
	res := &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{}, NextCursor: next, Cacheable: cacheable(0)}
	for _, p := range part {
		res.Prompts = append(res.Prompts, prompt(p))
	}
	return res, nil
}

func prompt(p agent.Prompt) *mcp.Prompt {
	out := &mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
	for _, a := range p.Arguments {
		out.Arguments = append(
			out.Arguments,
			&mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required},
		)
	}
	return out
}

func (s *Server) getPrompt(ctx context.Context, params *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	text, err := s.p.Verbs.Prompt(ctx, params.Name, params.Arguments)
	if err != nil {
		return nil, s.protocolError(err, nil)
	}
	res := complete[mcp.GetPromptResult](params.Meta)
	res.Description = text.Description
	res.Messages = []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text.Text}}}
	return res, nil
}

func (s *Server) listResources(ctx context.Context, params *mcp.ListResourcesParams) (*mcp.ListResourcesResult, error) {
	all, err := s.p.Verbs.Resources(ctx)
	if err != nil {
		return nil, s.protocolError(err, nil)
	}
	part, next, err := page(all, params.Cursor, func(r agent.Resource) string {
		return r.URI
	})
	if err != nil {
		return nil, err
	}
	res := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}, NextCursor: next, Cacheable: cacheable(0)}
	for _, r := range part {
		res.Resources = append(res.Resources, &mcp.Resource{
			URI:         r.URI,
			Name:        r.Name,
			Title:       r.Title,
			Description: r.Description,
			MIMEType:    r.MIMEType,
			Size:        r.Size,
		})
	}
	return res, nil
}

func (s *Server) readResource(ctx context.Context, params *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	text, mime, err := s.p.Verbs.Resource(ctx, params.URI)
	if err != nil {
		return nil, s.protocolError(err, map[string]string{"uri": hidden.Visible(params.URI)})
	}
	res := complete[mcp.ReadResourceResult](params.Meta)
	res.Cacheable = cacheable(0)
	res.Contents = []*mcp.ResourceContents{{URI: params.URI, MIMEType: mime, Text: text}}
	return res, nil
}

// complete returns an empty result, with the resultType that newer revisions
// require. The SDK does not export that field and sets it in its own handlers
// only, but decodes it from JSON.
func complete[R any](meta mcp.Meta) *R {
	res := new(R)
	if v, _ := meta[mcp.MetaKeyProtocolVersion].(string); v >= modern {
		_ = json.Unmarshal([]byte(`{"resultType":"complete","messages":[],"contents":[]}`), res)
	}
	return res
}

// cursorPrefix begins every cursor, so that other texts are recognized.
const cursorPrefix = "after "

// page returns the entries after a cursor, sorted by name, and the cursor of the
// next page, "" after the last. A cursor contains a name and not an index,
// because the list may change between two pages.
func page[T any](
	all []T,
	cursor string,
	name func(T) string,
) (part []T, next string, err error) {
	after := ""
	ok := true
	if cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(cursor)
		if after, ok = strings.CutPrefix(string(raw), cursorPrefix); err != nil || !ok {
			return nil, "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor is not from this server"}
		}
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b T) int {
		return strings.Compare(name(a), name(b))
	})
	from, _ := slices.BinarySearchFunc(all, after, func(t T, s string) int {
		if name(t) <= s && cursor != "" {
			return -1
		}
		return 1
	})
	part = all[from:]
	if len(part) > pageSize {
		part = part[:pageSize]
		next = base64.RawURLEncoding.EncodeToString([]byte(cursorPrefix + name(part[pageSize-1])))
	}
	return part, next, nil
}
