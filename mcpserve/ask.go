package mcpserve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// modern is the first revision of the protocol without a handshake.
const modern = "2026-07-28"

// errAsked ends a call whose question is on its way to the client. The client
// makes the same call again with the answer.
var errAsked = errors.New("the question is on its way to the person at the client")

// asking puts questions of one call to the person at the client. With a
// handshake the server sends a request of its own and waits. Without one the
// question is the call's result: the call is made again with the answer, so a
// verb asks before it changes anything.
type asking struct {
	req     *mcp.CallToolRequest
	pending mcp.InputRequestMap // the question that is the result
}

// ask returns nil when the client cannot ask anybody.
func (a *asking) ask() func(context.Context, string) (bool, error) {
	caps := a.req.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil || caps.Elicitation.Form == nil && caps.Elicitation.URL != nil {
		return nil
	}
	if a.req.ProtocolVersion() >= modern {
		return a.byResult
	}
	return a.byRequest
}

func (a *asking) byRequest(ctx context.Context, question string) (bool, error) {
	res, err := a.req.Session.Elicit(ctx, form(question))
	if err != nil {
		return false, err
	}
	return agreed(res), nil
}

// byResult looks for the answer among those that came with the call. It is
// kept under the question itself, so an answer to one is none to another.
func (a *asking) byResult(_ context.Context, question string) (bool, error) {
	sum := sha256.Sum256([]byte(question))
	key := "confirm-" + hex.EncodeToString(sum[:8])
	if res, ok := a.req.Params.InputResponses[key].(*mcp.ElicitResult); ok {
		return agreed(res), nil
	}
	a.pending = mcp.InputRequestMap{key: form(question)}
	return false, errAsked
}

// form asks for one box to be ticked.
func form(question string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: question, RequestedSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{"confirm": map[string]any{"type": "boolean", "title": "Yes", "default": false}},
		"required":   []string{"confirm"},
	}}
}

func agreed(res *mcp.ElicitResult) bool {
	yes, _ := res.Content["confirm"].(bool)
	return res.Action == "accept" && yes
}
