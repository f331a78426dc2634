package mcpserve

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/primary/agent"
)

// answerField is the field of the form of a question of a run.
const answerField = "answer"

// asking returns how the questions of runs reach the user, nil if the client cannot
// ask. In revisions without a handshake the client repeats the call with the answer, and
// the state of the call names the run that continues.
func (q *questions) asking(s *Server) (*agent.Asking, error) {
	if !q.canAsk() {
		return nil, nil
	}
	if q.req.ProtocolVersion() < modern {
		return &agent.Asking{Ask: q.runByRequest, Confirm: q.confirmByRequest, Live: true}, nil
	}
	a := &agent.Asking{Ask: q.runByResult, Confirm: q.confirmByResult}
	if state := q.req.Params.RequestState; state != "" {
		run, ok := s.run(state)
		if !ok {
			return nil, diag.New(diag.ThreadState, "continuing a call: another process of the server began it, or its state was changed; the run still waits for the answer")
		}
		a.Run = run
	}
	return a, nil
}

// state returns the text that a client sends back with the answer: the run and proof that
// this server named it. A client cannot name a run that it did not start.
func (s *Server) state(a *agent.Asking) string {
	if a == nil || a.Run == "" {
		return ""
	}
	return a.Run + "." + s.proof(a.Run)
}

func (s *Server) run(state string) (run string, ok bool) {
	run, proof, _ := strings.Cut(state, ".")
	return run, hmac.Equal([]byte(proof), []byte(s.proof(run)))
}

func (s *Server) proof(run string) string {
	mac := hmac.New(sha256.New, s.secret[:])
	mac.Write([]byte(run))
	return hex.EncodeToString(mac.Sum(nil))
}

// runByRequest asks during the call. A client that cannot answer leaves the question
// open.
func (q *questions) runByRequest(ctx context.Context, question agent.Question) (string, error) {
	res, err := q.req.Session.Elicit(ctx, answerForm(question))
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", agent.ErrNoAnswer
	}
	return answerOf(res)
}

// runByResult takes the answer that came with the call, or asks by the result.
func (q *questions) runByResult(_ context.Context, question agent.Question) (string, error) {
	res := q.fromResult("answer-", question, answerForm(question))
	if res == nil {
		return "", agent.ErrNoAnswer
	}
	return answerOf(res)
}

// fromResult returns the answer that came with the call, or makes the question a part of
// the result. The key is derived from the question, so that an answer is not taken for
// the answer to a different question.
func (q *questions) fromResult(prefix string, question agent.Question, form *mcp.ElicitParams) *mcp.ElicitResult {
	sum := sha256.Sum256(fmt.Appendf(
		nil,
		"%s\n%s\n%d\n%s",
		question.Run,
		question.Node,
		question.Step,
		question.Text,
	))
	key := prefix + hex.EncodeToString(sum[:8])
	q.mu.Lock()
	res, ok := q.req.Params.InputResponses[key].(*mcp.ElicitResult)
	q.mu.Unlock()
	if !ok {
		q.result(key, form)
	}
	return res
}

// confirmByRequest asks during the call whether a call of a node may start.
func (q *questions) confirmByRequest(ctx context.Context, question agent.Question) (bool, error) {
	return q.byRequest(ctx, agent.Asked{Question: callText(question)})
}

// confirmByResult takes the answer that came with the call, or asks by the result.
func (q *questions) confirmByResult(_ context.Context, question agent.Question) (bool, error) {
	res := q.fromResult("confirm-", question, form(callText(question)))
	if res == nil {
		return false, agent.ErrNoAnswer
	}
	return confirmed(res), nil
}

func callText(q agent.Question) string {
	return fmt.Sprintf("%s\n(node %s of the run %s)", hidden.Visible(q.Text), q.Node, q.Run)
}

func answerOf(res *mcp.ElicitResult) (string, error) {
	v, ok := res.Content[answerField]
	if res.Action != "accept" || !ok {
		return "", agent.ErrNoAnswer
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "", agent.ErrNoAnswer
	}
	return string(b), nil
}

// answerForm returns a form with one field and no default: the user writes or chooses
// the answer. The graph's author wrote the texts.
func answerForm(q agent.Question) *mcp.ElicitParams {
	field := map[string]any{"type": "string", "title": "Answer"}
	switch {
	case q.Choices != nil:
		field["enum"] = q.Choices
	case q.Schema != nil:
		field = fieldOf(q.Schema)
	}
	text := fmt.Sprintf(
		"%s\n(%s, question %s of the run %s)",
		hidden.Visible(q.Text),
		hidden.Visible(q.Graph),
		q.Node,
		q.Run,
	)
	return &mcp.ElicitParams{Mode: "form", Message: text, RequestedSchema: map[string]any{
		"type": "object", "required": []string{answerField}, "properties": map[string]any{answerField: field},
	}}
}

// fieldOf returns the field for the schema of an answer. Forms have fields of simple
// types; any other answer is written as JSON. The run checks it against the schema.
func fieldOf(schema any) map[string]any {
	m, _ := schema.(map[string]any)
	out := map[string]any{"title": "Answer"}
	switch m["type"] {
	case "boolean", "number", "integer", "string":
		out["type"] = m["type"]
		for _, k := range []string{"description", "minimum", "maximum", "minLength", "maxLength"} {
			if v, ok := m[k]; ok {
				out[k] = v
			}
		}
		return out
	}
	out["type"], out["description"] = "string", "as JSON"
	return out
}
