package threads

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/resulttext"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/touches"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
)

// ReturnTool is the name by which a model ends a directive with outputs.
const ReturnTool = "directive_return"

// ArtifactTool is the name by which a model reads an artifact of its thread.
const ArtifactTool = "rye_artifact"

// Dispatched is the outcome of one call as the loop sees it.
type Dispatched struct {
	CallID   string          `json:"call_id"`
	Ref      string          `json:"ref,omitempty"`
	IsError  bool            `json:"is_error"`
	Content  []message.Block `json:"-"`
	Denied   bool            `json:"denied,omitempty"`
	Waits    bool            `json:"waits,omitempty"` // for an answer of a person: it has no result yet
	Duration time.Duration   `json:"-"`
}

// PendingCall is a call of the newest answer that has no result. Problem states why it
// cannot be made, or is "". Input is what the tool receives, with the defaults of its schema:
// a hook that judges the call must read nothing else.
type PendingCall struct {
	CallID  string          `json:"call_id"`
	Name    string          `json:"name"`
	Ref     string          `json:"ref"`
	Digest  item.Digest     `json:"digest,omitzero"`
	Tier    policy.Tier     `json:"tier"`
	Input   json.RawMessage `json:"input"`
	Problem string          `json:"problem"`
	Touches *touches.Set    `json:"touches,omitempty"` // the kernel sets it
}

// Pending returns the calls of the newest answer that have no result, in order.
func (t *Thread) Pending() []PendingCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := []PendingCall{}
	a := t.lastAnswer()
	if a == nil {
		return out
	}
	for _, c := range a.resp.Calls() {
		if t.results[c.ID] != nil {
			continue
		}
		tool, problem := t.offered(c.Name)
		input := c.Input
		if problem == "" {
			input, problem = t.received(tool, c)
		}
		if unread := unreadable(a, c); unread != "" {
			problem = unread
		}
		out = append(out, PendingCall{
			CallID:  c.ID,
			Name:    c.Name,
			Ref:     tool.Ref,
			Digest:  tool.Digest,
			Tier:    tool.Tier,
			Input:   input,
			Problem: problem,
		})
	}
	return out
}

// received returns the arguments that a tool receives as JSON, the model's own if they do
// not fit.
func (t *Thread) received(tool Offered, call message.Block) (json.RawMessage, string) {
	input, problem := t.fits(tool, call)
	if problem != "" {
		return call.Input, problem
	}
	b, err := jsonx.Marshal(input)
	if err != nil {
		return call.Input, err.Error()
	}
	return b, ""
}

// LastCalls returns the calls of the newest answer, without what is needed to make them.
func (t *Thread) LastCalls() []*ToolCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*ToolCall
	a := t.lastAnswer()
	if a == nil {
		return nil
	}
	for _, c := range a.resp.Calls() {
		tool, problem := t.offered(c.Name)
		if problem != "" {
			continue
		}
		input, _ := t.fits(tool, c)
		out = append(out, &ToolCall{ID: c.ID, Tool: tool, Input: input})
	}
	return out
}

// Answer records a result for a call that a step left out: it was not made.
func (t *Thread) Answer(
	ctx context.Context,
	node, callID string,
	content []message.Block,
	isError bool,
) error {
	t.mu.Lock()
	call, err := t.callOf(callID)
	known := t.results[callID] != nil ||
		t.started[callID] ||
		t.waiting[callID] != nil
	tool, _ := t.offered(call.Name)
	t.mu.Unlock()
	if err != nil || known {
		return err
	}
	if tool.Name == ReturnTool {
		isError = true // outputs are taken by the kernel only
	}
	_, err = t.finish(
		ctx,
		&ToolCall{ID: callID, Node: node, Tool: tool},
		&ToolResult{Blocks: content, IsError: isError},
		t.p.Now(),
		call,
	)
	return err
}

// callOf returns a call of the newest answer.
func (t *Thread) callOf(id string) (message.Block, error) {
	if a := t.lastAnswer(); a != nil {
		for _, c := range a.resp.Calls() {
			if c.ID == id {
				return c, nil
			}
		}
	}
	return message.Block{}, diag.New(diag.ValidationFailed, "running a call of %s: the newest answer has no call %q", t.id, id)
}

// unreadable returns why no call of an answer is made, "" if all of them have arguments: if
// one could not be read, the others may be a part of what the model asked for.
func unreadable(a *answer, call message.Block) string {
	if a == nil {
		return ""
	}
	for _, c := range a.resp.Calls() {
		if c.Input != nil {
			continue
		}
		text := "the arguments are not valid JSON: " + whyInvalid(c.InvalidInput)
		if a.resp.Stop == message.StopMaxOutput {
			text = "the answer was cut at its maximum length within these arguments. Write shorter arguments, or divide the work"
		}
		if c.ID != call.ID {
			text = "the arguments of another call of this answer, " + c.Name + ", could not be read"
		}
		return text + ". No call of this answer was made"
	}
	return ""
}

// whyInvalid returns the message to a model about arguments that are not one value: the text
// itself if it is not JSON, else why it has more than one meaning.
func whyInvalid(text string) string {
	problem := jsonx.Ambiguous([]byte(text), message.MaxInputDepth)
	if problem != "" &&
		(json.Valid([]byte(text)) || strings.Contains(problem, "nested")) {
		return problem
	}
	return text
}

// fits returns the arguments of a call, or every violation of the schema of its tool. It is
// called with the lock.
func (t *Thread) fits(tool Offered, call message.Block) (map[string]any, string) {
	if call.Input == nil {
		return nil, "the arguments are not valid JSON: " + whyInvalid(call.InvalidInput)
	}
	v, fs := jsonx.ParseMessage(call.Input)
	if len(fs) > 0 {
		return nil, "the arguments are not valid JSON: " + fs[0].Message
	}
	input, ok := v.(map[string]any)
	if !ok {
		return nil, "the arguments must be an object"
	}
	s := t.compiled(tool.Schema)
	if s == nil {
		return input, "" // the item checks its own parameters
	}
	input = s.Defaults(input)
	var bad []string
	for _, x := range s.Validate(input) {
		bad = append(bad, x.Path+" "+x.Message)
	}
	return input, strings.Join(bad, "; ")
}

// compiled returns the schema of a tool, compiled once for each text, or nil if it is not one.
// An answer can have a hundred calls of one tool, and each is compared several times.
func (t *Thread) compiled(text json.RawMessage) *schema.Schema {
	if s, ok := t.schemas[string(text)]; ok {
		return s
	}
	var s *schema.Schema
	if declared, fs := jsonx.ParseMessage(text); len(fs) == 0 {
		if s, fs = schema.CompileForeign(declared); diag.Failed(fs) {
			s = nil
		}
	}
	if t.schemas == nil {
		t.schemas = map[string]*schema.Schema{}
	}
	t.schemas[string(text)] = s
	return s
}

// missing returns how many calls of the newest answer have no result. It is called with the
// lock.
func (t *Thread) missing() (n int) {
	a := t.lastAnswer()
	if a == nil {
		return 0
	}
	for _, c := range a.resp.Calls() {
		if t.results[c.ID] == nil {
			n++
		}
	}
	return n
}

// Runner makes one call through the gates of every caller. A denied or failed call has a
// result and an error.
type Runner func(ctx context.Context, c *ToolCall) (*ToolResult, error)

// Call has run make one call of the newest answer: schema, capability, tier, approval, sandbox.
// The result is recorded; one that the log has is returned again. A call that was denied or
// failed has a result, not an error. also narrows the permissions of the call to the
// permissions of a program that makes it.
func (t *Thread) Call(
	ctx context.Context,
	node, callID string,
	run Runner,
	also ...policy.Grant,
) (*Dispatched, error) {
	t.mu.Lock()
	call, err := t.callOf(callID)
	if err != nil {
		t.mu.Unlock()
		return nil, err
	}
	if r := t.results[callID]; r != nil {
		t.mu.Unlock()
		tool, _ := t.offered(call.Name)
		return &Dispatched{
			CallID:  callID,
			Ref:     tool.Ref,
			IsError: r.isError,
			Content: r.content,
		}, nil
	}
	tool, problem := t.offered(call.Name)
	var input map[string]any
	if problem == "" {
		input, problem = t.fits(tool, call)
	}
	if unread := unreadable(t.lastAnswer(), call); unread != "" {
		problem = unread
	}
	interrupted := t.started[callID]
	err = t.duration()
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	began := t.p.Now()
	c := &ToolCall{
		ID:    callID,
		Node:  node,
		Tool:  tool,
		Input: input,
		Held:  t.p.Held,
		Key:   t.id + "/" + callID,
		Again: interrupted,
	}
	for _, g := range also {
		c.Held = c.Held.With(g)
	}
	switch {
	case problem != "":
		return t.finish(ctx, c, FailedResult(diag.ValidationFailed, problem), began, call)
	case interrupted && !t.mayRepeat(ctx, tool):
		return t.finish(ctx, c, FailedResult(diag.ExecutionFailed, "interrupted; it may have run"), began, call)
	case tool.Name == ReturnTool:
		if r := t.recordedReturn(callID); r != nil {
			return t.finish(ctx, c, r, began, call)
		}
		return t.takeOutputs(ctx, c, call, began)
	case t.answersTools():
		return t.through(ctx, c, call, began, t.replayTool)
	}
	return t.through(ctx, c, call, began, run)
}

func (t *Thread) mayRepeat(ctx context.Context, tool Offered) bool {
	switch tool.Verb {
	case policy.Search, policy.Load:
		return true
	}
	return tool.Name == ReturnTool ||
		tool.Name == ArtifactTool ||
		t.p.Repeatable != nil && t.p.Repeatable(ctx, tool.Ref)
}

// through makes the call. A call that a gate refused was not started.
func (t *Thread) through(
	ctx context.Context,
	c *ToolCall,
	call message.Block,
	began time.Time,
	run Runner,
) (*Dispatched, error) {
	begun := false
	c.Start = func(ref string, digest item.Digest, tier, decision string) error {
		if begun {
			return nil // a tool that calls a tool
		}
		begun, began = true, t.p.Now() // a person took a time to approve it
		return t.begin(ctx, c, call, ref, digest, tier, decision)
	}
	c.Approve = func(ctx context.Context, q *Question) (*Reply, error) {
		return t.approve(ctx, c, q, !begun)
	}
	printed := &output{ctx: ctx, t: t, call: c.ID}
	c.Output = printed.add
	r, err := run(ctx, c)
	printed.flush()
	if ctx.Err() != nil {
		// The call stays open: resuming repeats it, or states that it was interrupted.
		return nil, diag.New(diag.Cancelled, "running a call of %s: cancelled", t.id)
	}
	if err != nil && !begun && t.waitsFor(c.ID) {
		return &Dispatched{CallID: c.ID, Ref: c.Tool.Ref, Waits: true}, nil
	}
	if err != nil && !begun {
		if err := t.deny(ctx, c, err); err != nil {
			return nil, err
		}
		d, ferr := t.finish(ctx, c, denied(err), began, call)
		if d != nil {
			d.Denied = true
		}
		return d, ferr
	}
	if err != nil && r == nil {
		r = denied(err)
	}
	return t.finish(ctx, c, r, began, call)
}

func (t *Thread) waitsFor(call string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting[call] != nil
}

// begin records that a call starts.
func (t *Thread) begin(
	ctx context.Context,
	c *ToolCall,
	call message.Block,
	ref string,
	digest item.Digest,
	tier, decision string,
) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started[c.ID] = true
	t.begins(c.ID)
	d := callData{
		Turn:     t.turn(),
		CallID:   c.ID,
		Name:     call.Name,
		Ref:      ref,
		Digest:   digest,
		Input:    c.Input,
		Tier:     tier,
		Decision: decision,
		By:       c.By,
	}
	return t.record(ctx, true, evCall, d)
}

func (t *Thread) deny(ctx context.Context, c *ToolCall, err error) error {
	e := diag.Typed(err)
	capability, _ := e.Details["missing"].(string)
	return t.record(ctx, true, evDenied, deniedData{
		CallID:     c.ID,
		Ref:        c.Tool.Ref,
		Capability: capability,
		Code:       e.Code,
		Message:    e.Error(),
	})
}

// FailedResult returns the result of a call that was not made, or failed.
func FailedResult(code diag.Code, text string) *ToolResult {
	return &ToolResult{
		IsError: true,
		Data:    map[string]any{"success": false, "error": map[string]any{"code": string(code), "message": text}},
		Blocks:  []message.Block{message.TextBlock(resulttext.Error(string(code), text))},
	}
}

// denied returns the result that the model reads about a call that a gate refused.
func denied(err error) *ToolResult {
	e := diag.Typed(err)
	switch e.Code {
	case diag.PermissionDenied, diag.PolicyDenied, diag.ApprovalRequired, diag.ApprovalDenied:
		return FailedResult(e.Code, e.Error()+". Inform the person if the task needs it.")
	}
	return FailedResult(e.Code, e.Error())
}
