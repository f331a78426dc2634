package threadhost

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/touches"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
)

// pending returns the calls of the newest answer that have no result, with what each of them
// touches. The step dispatch decides by it which of them run at the same time.
func (r *Run) pending(ctx context.Context, t *threads.Thread) []threads.PendingCall {
	calls := map[string]*threads.ToolCall{}
	for _, c := range t.LastCalls() {
		calls[c.ID] = c
	}
	out := t.Pending()
	var starts []string
	for i := range out {
		c := calls[out[i].CallID]
		if c == nil || out[i].Problem != "" {
			continue
		}
		out[i].Touches = r.touches(ctx, c)
		if startsThread(c) {
			starts = append(starts, c.ID)
		}
	}
	r.starts.begin(starts)
	return out
}

// touches returns the paths that a call touches, nil if its tool does not declare them.
func (r *Run) touches(ctx context.Context, c *threads.ToolCall) *touches.Set {
	if c.Tool.Name == threads.ArtifactTool {
		return &touches.Set{} // artifacts of the thread do not change
	}
	ref := calledTool(c)
	params := c.Input
	switch {
	case c.Tool.Verb == policy.Search || c.Tool.Verb == policy.Load:
		ref = item.Ref{Kind: item.Tool, ID: "rye/primary/" + string(c.Tool.Verb)}
	case c.Tool.Verb == policy.Execute:
		if c.Input["dry_run"] == true {
			return nil
		}
		params, _ = c.Input["parameters"].(map[string]any)
	}
	if ref.IsZero() {
		return nil
	}
	chain, err := r.chain(ctx, ref)
	if err != nil {
		return nil
	}
	declared := chain.Tool().Meta.Fields["touches"]
	if touches.Check(declared) != "" {
		return nil
	}
	return touches.Of(declared, params, r.located)
}

// located returns the one name of a path of a call: below the directory in which the tools of
// the thread work, without links as far as it exists.
func (r *Run) located(name string) string {
	root := r.Project.ToolDir()
	if !filepath.IsAbs(name) {
		name = filepath.Join(root, filepath.FromSlash(name))
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	rest := ""
	for dir := filepath.Clean(name); ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			name = filepath.Join(real, rest)
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = up
	}
	rel, err := filepath.Rel(root, name)
	if err != nil ||
		rel == ".." ||
		strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(name)
	}
	return filepath.ToSlash(rel)
}

// oneQuestion returns functions that ask a person about one thing at a time: calls that run
// at the same time share the terminal.
func oneQuestion(decide Decide, ask exec.Ask) (Decide, exec.Ask) {
	l := &questionLine{turn: make(chan struct{}, 1)}
	var d Decide
	var a exec.Ask
	if decide != nil {
		d = func(ctx context.Context, q exec.Asked) (threads.Reply, error) {
			leave, err := l.enter(ctx)
			if err != nil {
				return threads.Reply{}, err
			}
			defer leave()
			q.Queue = l.queue
			return decide(ctx, q)
		}
	}
	if ask != nil {
		a = func(ctx context.Context, about exec.Asked) (bool, error) {
			leave, err := l.enter(ctx)
			if err != nil {
				return false, err
			}
			defer leave()
			return ask(ctx, about)
		}
	}
	return d, a
}

// questionLine is the line of the questions that are open.
type questionLine struct {
	turn chan struct{}

	mu         sync.Mutex
	open, done int // done: that were answered since the line was empty
}

// enter waits for the turn of a question.
func (l *questionLine) enter(ctx context.Context) (leave func(), err error) {
	l.mu.Lock()
	l.open++
	l.mu.Unlock()
	left := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open--
		if l.done++; l.open == 0 {
			l.done = 0
		}
	}
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn; left() }, nil
	case <-ctx.Done():
		left()
		return nil, ctx.Err()
	}
}

// queue returns the number of the question whose turn it is, and of all.
func (l *questionLine) queue() (at, of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done + 1, l.done + l.open
}
