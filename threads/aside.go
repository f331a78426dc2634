package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
)

// AsideCall is a call that a program of the thread makes through its broker: a step that
// is a program, or a tool. It is recorded, and not a part of the conversation.
type AsideCall struct {
	By    string // the ref of the program
	Of    string // the call of the model, or the key of the node, that the program runs for
	Node  string // the key of the node
	Tool  Offered
	Input map[string]any
	Held  policy.Held
	// ForModel states that a model reads the result: it is cut as results of its own calls.
	ForModel bool
}

// aside is such a call as the log of an earlier process has it.
type aside struct {
	input  item.Digest // of ref and arguments
	result *recordedResult
	used   bool // by a call of this process
}

// Aside makes a call through the gates of every call, and records it. run is called with
// it unless the log of an earlier process has its result, which is returned in its place.
func (t *Thread) Aside(ctx context.Context, a AsideCall, run Runner) (*ToolResult, error) {
	input, err := t.clean([]any{a.Tool.Ref, a.Input}) // as the log has it
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	key, id := t.asideID(&a)
	before := t.asides[id]
	digest := item.DigestOf(input)
	if before == nil || before.used || before.input != digest {
		// Calls that run at once come in another order after a crash; one that is not in
		// the log is another call.
		was := before
		before = nil
		for other, x := range t.asides {
			if !x.used && x.input == digest && strings.HasPrefix(other, key+"/") {
				id = other
				before = x
				break
			}
		}
		if before == nil && was != nil {
			id = fmt.Sprintf("%s+%d", id, t.log.Seq()+1)
		}
	}
	if before != nil {
		before.used = true
	}
	err = t.duration()
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	began := t.p.Now()
	c := &ToolCall{
		ID:    id,
		Node:  a.Node,
		Tool:  a.Tool,
		Input: a.Input,
		Held:  a.Held,
		Key:   t.id + "/" + id,
		By:    a.By,
		cut:   a.ForModel,
	}
	call := message.Block{Type: message.ToolCall, ID: id, Name: a.Tool.Name}
	if call.Input, err = jsonx.Marshal(a.Input); err != nil {
		return nil, diag.New(diag.ValidationFailed, "reading the arguments of a call of %s: %w", a.By, err)
	}
	if before != nil && before.result != nil {
		return &ToolResult{Blocks: before.result.content, IsError: before.result.isError}, nil
	}
	if before != nil && !t.mayRepeat(ctx, a.Tool) {
		r := FailedResult(diag.ExecutionFailed, "interrupted; it may have run")
		_, err := t.finish(ctx, c, r, began, call)
		return r, err
	}
	var out *ToolResult
	var refused error
	d, err := t.through(ctx, c, call, began, func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
		out, refused = run(ctx, c)
		return out, refused
	})
	if err != nil {
		return nil, err
	}
	if a.ForModel { // a refusal, too, is what the model reads
		return &ToolResult{Blocks: d.Content, IsError: d.IsError}, nil
	}
	return out, refused
}

// Offer returns the tool of a name that the model was offered, and its arguments. problem
// states why the call cannot be made, or is "".
func (t *Thread) Offer(name string, input json.RawMessage) (tool Offered, args map[string]any, problem string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tool, problem = t.offered(name); problem != "" {
		return tool, nil, problem
	}
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	args, problem = t.fits(tool, message.Block{Input: input})
	return tool, args, problem
}

// asideID returns the id of the next call of a program. It is equal when the step that
// runs the program is repeated after a crash.
func (t *Thread) asideID(a *AsideCall) (key, id string) {
	program := a.By[strings.LastIndexByte(a.By, '/')+1:]
	key = a.Of + "/" + program
	t.made[key]++
	return key, fmt.Sprintf("%s/%d", key, t.made[key])
}

// asideLine applies a line of the log about the call of a program.
func (t *Thread) asideLine(id, ref string, input any, result *recordedResult) {
	if result == nil {
		b, err := jsonx.Marshal([]any{ref, input})
		if err != nil {
			return
		}
		t.asides[id] = &aside{input: item.DigestOf(b)}
		return
	}
	if a := t.asides[id]; a != nil {
		a.result = result
	}
}
