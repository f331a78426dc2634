package threadhost

import (
	"context"
	"encoding/json"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/compact"
	"github.com/ryeos/rye/threads/settings"
	"github.com/ryeos/rye/threads/steps"
)

// shortened returns the action that was taken for a node of the loop that makes the
// conversation shorter, "" if the step has to decide: a process that was stopped may have taken
// it, and a replay repeats its recording.
func (d loopDispatcher) shortened(ctx context.Context, node string) (string, error) {
	if done := d.t.Shortened(node); done != "" {
		return done, nil
	}
	if d.t.Params().Replay != nil {
		return d.t.AsRecorded(ctx, node)
	}
	return "", nil
}

// shorten does what the step compact decided.
func (d loopDispatcher) shorten(ctx context.Context, node string, data map[string]any) (string, error) {
	var c steps.Compaction
	raw, err := jsonx.Marshal(data)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		return "", diag.New(diag.ExecutionFailed, "running the step compact: its result does not state what becomes shorter: %w", err)
	}
	out := &threads.Shortening{}
	switch c.Action {
	case compact.None, compact.Continue:
		return c.Action, nil
	case compact.References:
	case compact.Summary:
		if out.Keep = c.FirstTurn; out.Keep <= 0 {
			return "", diag.New(diag.ExecutionFailed, "running the step compact: a summary needs first_turn")
		}
	default:
		return "", diag.New(diag.ExecutionFailed, "running the step compact: its action is %q", c.Action)
	}
	for _, a := range c.Artifacts {
		if _, err := d.t.Keep(a.Text); err != nil {
			return "", err
		}
	}
	for _, r := range c.Results {
		out.Results = append(out.Results, threads.Reference{CallID: r.CallID, Text: r.Text, Artifact: r.Artifact})
	}
	if c.Action == compact.Summary {
		cfg, err := settings.Coordination(ctx, d.r.Project.Resolver)
		if err != nil {
			return "", err
		}
		s, err := d.r.summarize(ctx, d.t, &cfg, out.Keep, 0)
		if err != nil {
			return "", err
		}
		out.Text = s.text
		out.Artifact = s.artifact
		out.Threads = s.threads
		out.Spend = s.spend
		out.Failed = s.failed
	}
	return c.Action, d.t.Shorten(ctx, node, out)
}
