package mcpserve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/primary/agent"
)

// modern is the first revision of the protocol without a handshake.
const modern = "2026-07-28"

// errAsked ends a call whose result is a question. The client makes the same
// call again with the answer.
var errAsked = errors.New("waiting for the user's answer")

// questions asks the user during one call. In revisions with a handshake the
// server sends a request and waits for the response. In newer ones the question
// is the result of the call, and the client repeats the call with the answer;
// therefore a verb must ask before it changes anything.
type questions struct {
	req *mcp.CallToolRequest

	mu      sync.Mutex          // branches of a run ask at the same time
	pending mcp.InputRequestMap // the questions that are the result
}

// ask returns the function that asks, or nil if the client cannot ask the user.
func (q *questions) ask() func(context.Context, agent.Asked) (bool, error) {
	if !q.canAsk() {
		return nil
	}
	if q.req.ProtocolVersion() >= modern {
		return q.byResult
	}
	return q.byRequest
}

func (q *questions) canAsk() bool {
	caps := q.req.ClientCapabilities()
	return caps != nil &&
		caps.Elicitation != nil &&
		(caps.Elicitation.Form != nil || caps.Elicitation.URL == nil)
}

func (q *questions) byRequest(ctx context.Context, about agent.Asked) (bool, error) {
	res, err := q.req.Session.Elicit(ctx, form(about.Question))
	if err != nil {
		return false, err
	}
	return confirmed(res), nil
}

// byResult returns the answer that came with the call, or makes the question the
// result. The key is derived from the question, so that an answer is not taken
// for another question.
func (q *questions) byResult(_ context.Context, about agent.Asked) (bool, error) {
	sum := sha256.Sum256([]byte(about.Question))
	key := "confirm-" + hex.EncodeToString(sum[:8])
	res, ok := q.req.Params.InputResponses[key].(*mcp.ElicitResult)
	if ok {
		return confirmed(res), nil
	}
	q.result(key, form(about.Question))
	return false, errAsked
}

// result makes a question part of the result of the call.
func (q *questions) result(key string, form *mcp.ElicitParams) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pending == nil {
		q.pending = mcp.InputRequestMap{}
	}
	q.pending[key] = form
}

// form returns a form with one checkbox, which is ticked: accepting is the consent.
// Clients refuse an empty form.
func form(question string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: question, RequestedSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{"confirm": map[string]any{"type": "boolean", "title": "Yes", "default": true}},
	}}
}

// confirmed reports whether the user accepted and did not remove the tick. An
// acceptance without the field is a decline.
//
// The SDK would fill in the default of a missing field: see declineIncomplete.
func confirmed(res *mcp.ElicitResult) bool {
	yes, _ := res.Content["confirm"].(bool)
	return res.Action == "accept" && yes
}

// declineIncomplete makes an acceptance without the field of the form a decline, before
// the SDK fills in the default.
func declineIncomplete(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		r, ok := res.(*mcp.ElicitResult)
		if ok && err == nil && r != nil && r.Action == "accept" {
			_, confirms := r.Content["confirm"].(bool)
			if _, answers := r.Content[answerField]; !confirms && !answers {
				return &mcp.ElicitResult{Action: "decline", Meta: r.Meta}, nil
			}
		}
		return res, err
	}
}
