package threads

import (
	"context"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// finish cuts a result, records it and adds it to the conversation.
func (t *Thread) finish(
	ctx context.Context,
	c *ToolCall,
	r *ToolResult,
	began time.Time,
	call message.Block,
) (*Dispatched, error) {
	forProgram := c.By != "" && !c.cut
	full, err := t.blocks(r, forProgram)
	if err == nil {
		full, err = t.kept(ctx, full)
	}
	if err == nil {
		full, err = t.cleanBlocks(full)
	}
	if err != nil {
		return nil, err
	}
	g := &Guarded{Blocks: full}
	guardErr := error(nil)
	if t.p.Guard != nil && !forProgram && !t.answersTools() { // a program reads the whole; a recorded result is cut
		if cut, err := t.p.Guard(ctx, c, &ToolResult{Blocks: full, IsError: r.IsError, Page: r.Page}); err != nil {
			guardErr = err // the result is recorded before the error ends the turn
		} else {
			g = cut
		}
		// A step that a project replaced can return content.
		if g.Blocks, err = t.kept(ctx, g.Blocks); err != nil {
			return nil, err
		}
	}
	d := resultData{
		CallID:      c.ID,
		Ref:         c.Tool.Ref,
		IsError:     r.IsError,
		Content:     g.Blocks,
		Cut:         g.Cut,
		Bytes:       sizeOf(full),
		Duration:    t.p.Now().Sub(began).Milliseconds(),
		Sandbox:     r.Sandbox,
		By:          c.By,
		Replayed:    r.replayed,
		Fingerprint: r.Fingerprint,
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if g.Artifact != nil {
		if d.Artifact, err = t.store(g.Artifact); err != nil {
			return nil, err
		}
	}
	if !t.started[c.ID] { // the model's arguments, a gate or a step stopped it
		in := any(call.Input)
		if call.Input == nil {
			in = call.InvalidInput
		}
		if err := t.record(ctx, false, evCall, callData{
			Turn:     t.turn(),
			CallID:   c.ID,
			Name:     call.Name,
			Ref:      c.Tool.Ref,
			Digest:   c.Tool.Digest,
			Input:    in,
			Decision: "refused",
			By:       c.By,
		}); err != nil {
			return nil, err
		}
	}
	if err := t.record(ctx, true, evResult, d); err != nil {
		return nil, err
	}
	t.takeResult(&d)
	return &Dispatched{
		CallID:   c.ID,
		Ref:      c.Tool.Ref,
		IsError:  d.IsError,
		Content:  d.Content,
		Duration: t.p.Now().Sub(began),
	}, guardErr
}

func (t *Thread) takeResult(d *resultData) {
	if d.By != "" {
		delete(t.started, d.CallID)
		return // the model does not read it
	}
	t.results[d.CallID] = &recordedResult{d.IsError, d.Content}
	delete(t.started, d.CallID)
	t.grow(d.Content)
	t.growMedia(d.Content)
}

func sizeOf(blocks []message.Block) int64 {
	var n int64
	for _, b := range blocks {
		n += int64(len(b.Text)+len(b.Data)) + b.Bytes
	}
	return n
}

// blocks returns a result as blocks: as the model reads it, or for a program its data as
// compact JSON.
func (t *Thread) blocks(r *ToolResult, forProgram bool) ([]message.Block, error) {
	if r.Blocks != nil && !(forProgram && r.Data != nil) {
		return r.Blocks, nil
	}
	if s, ok := r.Data.(string); ok {
		return []message.Block{message.TextBlock(s)}, nil
	}
	b, err := jsonx.Marshal(r.Data)
	if err != nil {
		return nil, diag.New(diag.Internal, "writing the result of a call: %w", err)
	}
	return []message.Block{message.TextBlock(string(b))}, nil
}

// store writes an artifact and returns its id.
func (t *Thread) store(b []byte) (string, error) {
	if t.p.Redact != nil {
		b = t.p.Redact(b)
	}
	id := strings.TrimPrefix(item.DigestOf(b).String(), "sha256:")
	err := transcript.Base(t.p.Project, t.id).Write(
		transcript.ArtifactsDir+"/"+id+".txt",
		b,
		0o600,
	)
	if err != nil {
		return "", diag.Doing("storing an artifact of "+t.id, err)
	}
	return id, nil
}

// takeOutputs takes the outputs of the directive. They must pass its checks.
func (t *Thread) takeOutputs(
	ctx context.Context,
	c *ToolCall,
	call message.Block,
	began time.Time,
) (*Dispatched, error) {
	if err := t.begin(ctx, c, call, "", item.Digest{}, "T0", "run"); err != nil {
		return nil, err
	}
	for _, check := range t.p.Directive.Checks {
		if t.p.Check == nil || t.answersTools() {
			break
		}
		t.mu.Lock()
		t.tries[check.Tool]++
		over := t.tries[check.Tool] > check.Attempts
		t.mu.Unlock()
		err := t.p.Check(ctx, c, check.Tool)
		switch {
		case ctx.Err() != nil:
			return nil, diag.New(diag.Cancelled, "checking the outputs of %s: cancelled", t.id)
		case err != nil && over:
			return nil, diag.New(
				diag.ValidationFailed,
				"checking the outputs of %s: %s failed %d times: %w",
				t.id,
				check.Tool,
				check.Attempts+1,
				err,
			)
		case err != nil:
			return t.finish(
				ctx,
				c,
				FailedResult(diag.ValidationFailed, "the check "+check.Tool+" failed: "+diag.Typed(err).Error()),
				began,
				call,
			)
		}
	}
	d, err := t.finish(
		ctx,
		c,
		&ToolResult{Data: map[string]any{"success": true}, Blocks: []message.Block{message.TextBlock("The outputs are taken.")}},
		began,
		call,
	)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.returned = c.Input
	t.done = true
	return d, nil
}

// Returned returns the outputs of directive_return, and whether the model called it.
func (t *Thread) Returned() (map[string]any, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.returned, t.done
}

// Declared reports whether the directive declares outputs.
func (t *Thread) Declared() bool {
	return len(t.p.Directive.Outputs) > 0
}
