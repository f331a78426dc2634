package programs

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/resulttext"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/threadhost"
)

// noPrompts is a server without prompts and resources.
type noPrompts struct{}

func (noPrompts) Prompts(context.Context) ([]agent.Prompt, error) {
	return []agent.Prompt{}, nil
}
func (noPrompts) Prompt(
	_ context.Context,
	name string,
	_ map[string]string,
) (*agent.PromptText, error) {
	return nil, diag.New(diag.ItemNotFound, "reading prompt %q: a thread has no prompts", name)
}
func (noPrompts) Resources(context.Context) ([]agent.Resource, error) {
	return []agent.Resource{}, nil
}
func (noPrompts) Resource(_ context.Context, uri string) (string, string, error) {
	return "", "", diag.New(diag.ItemNotFound, "reading resource %q: a thread has no resources", uri)
}

// offeredTools returns tools as a server shows them.
func offeredTools(defs []message.ToolDef) *agent.Definitions {
	out := &agent.Definitions{}
	for _, d := range defs {
		schema := d.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		out.Tools = append(out.Tools, agent.Definition{Name: d.Name, Description: d.Description, InputSchema: schema})
	}
	return out
}

// threadTools are the tools of a thread for a program that calls its model. A call passes the
// gates of every call of the thread, and is recorded; what the program prints about calls is
// not.
type threadTools struct {
	noPrompts
	r    *threadhost.Run
	t    *threads.Thread
	run  context.Context // of the program
	call exec.Call       // of the provider
	by   string          // ref of the provider
	defs []message.ToolDef

	mu       sync.Mutex
	returned json.RawMessage // the newest arguments of directive_return, nil without
}

// Definitions returns the tools that the request of the model offers.
func (s *threadTools) Definitions(context.Context) (*agent.Definitions, error) {
	return offeredTools(s.defs), nil
}

// Call makes a call as one of the thread.
func (s *threadTools) Call(ctx context.Context, req agent.Request) *agent.Reply {
	tool, input, problem := s.t.Offer(req.Name, req.Args)
	switch {
	case problem != "":
		return failedReply(diag.ValidationFailed, problem)
	case tool.Name == threads.ReturnTool:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.returned = bytes.Clone(req.Args)
		return &agent.Reply{Text: []byte("The outputs are received. Do not call another tool; end your answer.")}
	}
	run, cancel := context.WithCancel(s.run)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	denied, err := s.hooked(run, tool, input)
	if err != nil || denied != nil {
		if err != nil {
			return failedReply(diag.CodeOf(err), diag.Typed(err).Error())
		}
		return denied
	}
	res, err := s.t.Aside(
		run,
		threads.AsideCall{
			By:       s.by,
			Of:       s.call.Node,
			Node:     s.call.Node,
			Tool:     tool,
			Input:    input,
			Held:     s.t.Held(),
			ForModel: true,
		},
		s.r.CallWithin(s.call),
	)
	if err != nil {
		return failedReply(diag.CodeOf(err), diag.Typed(err).Error())
	}
	var text strings.Builder
	for _, b := range res.Blocks {
		text.WriteString(b.Text)
		if b.Type != message.Text {
			text.WriteString("(" + string(b.Type) + " " + b.MediaType + " " + b.Name + ")")
		}
	}
	return &agent.Reply{Text: []byte(text.String()), Failed: res.IsError}
}

// hooked runs the hooks of the event before_tool, as the step dispatch does for the calls
// of other models.
func (s *threadTools) hooked(
	ctx context.Context,
	tool threads.Offered,
	input map[string]any,
) (*agent.Reply, error) {
	call := map[string]any{
		"name":  tool.Name,
		"ref":   tool.Ref,
		"input": input,
		"tier":  tool.Tier.String(),
	}
	out, err := s.r.Step(ctx, s.call, s.t, "run_hooks", map[string]any{"event": "before_tool", "context": map[string]any{"call": call}})
	if err != nil {
		return nil, err
	}
	control, err := threadhost.ControlOf(out.Data)
	switch {
	case err != nil || control == nil:
		return nil, err
	case control.Action == "skip":
		return &agent.Reply{Text: []byte("[not run: the hook " + control.By + " left it out]")}, nil
	}
	reason := control.Feedback
	if reason == "" {
		reason = "the hook " + control.By + " denied the call"
	}
	return failedReply(diag.PolicyDenied, reason), nil
}

// finish adds the outputs that the program returned to its answer, as a call of its model:
// the loop takes them with every check.
func (s *threadTools) finish(r *message.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.returned == nil {
		return
	}
	r.Blocks = append(r.Blocks, message.Block{
		Type:  message.ToolCall,
		ID:    "return",
		Name:  threads.ReturnTool,
		Input: s.returned,
	})
	r.Stop = message.StopToolCalls
}

func failedReply(code diag.Code, text string) *agent.Reply {
	return &agent.Reply{Text: []byte(resulttext.Error(string(code), text)), Failed: true}
}

// Definitions returns the tool of a try.
func (s *tryTools) Definitions(context.Context) (*agent.Definitions, error) {
	return offeredTools(s.defs), nil
}

// Call records a call.
func (s *tryTools) Call(_ context.Context, req agent.Request) *agent.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, message.Block{
		Type:  message.ToolCall,
		ID:    "try",
		Name:  req.Name,
		Input: bytes.Clone(req.Args),
	})
	return &agent.Reply{Text: []byte("ok")}
}
