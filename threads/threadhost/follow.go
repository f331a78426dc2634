package threadhost

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
)

// followThread starts a thread whose model reads the whole conversation of a completed one, and
// then o.Message. It has the directive, the inputs, the model and the bounds of that thread, and
// an account and limits of its own.
func followThread(
	ctx context.Context,
	p *project.Project,
	id string,
	o *Options,
) (*threads.Result, error) {
	p, err := Follows(p, id, o)
	if err != nil {
		return nil, err
	}
	r, err := Start(ctx, p, o)
	return attend(ctx, p, r, err, o)
}

// Follows sets the options of a thread that follows a completed one, and returns its project.
func Follows(p *project.Project, id string, o *Options) (*project.Project, error) {
	p, err := project.InAccount(p)
	if err != nil {
		return nil, err
	}
	id = control.EndOfChain(p, id)
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, id)
	if err != nil {
		return nil, err
	}
	if s.Replay != "" {
		return nil, diag.New(diag.ThreadState, "continuing %s: it is a replay of %s; continue that thread", id, s.Replay)
	}
	if strings.TrimSpace(o.Message) == "" && len(o.Attach) == 0 {
		return nil, diag.New(diag.ThreadState, "continuing %s: it is completed, and continues with a message only", id).
			WithReason("ended_message").
			WithDetail("id", id)
	}
	o.Follows = id
	o.Text = o.Message
	if o.follows, err = threads.Follow(p.Spaces.ProjectDir, id, o.Message); err != nil {
		return nil, err
	}
	if o.Ref, err = item.ParseRef(s.Directive.Ref, item.Directive); err != nil {
		return nil, diag.New(diag.TranscriptBroken, "continuing %s: %w", id, err)
	}
	// it is behind the conversation
	o.Params = s.Inputs
	o.Message = ""
	o.Interactive = o.Interactive || s.Interactive
	if o.Model == "" {
		o.Model = s.Model
		o.Provider = s.Provider
	}
	if o.Workspace == "" && s.Workspace.Mode != threads.Here {
		o.Workspace = s.Workspace.Mode
	}
	// The thread does not permit more than the one that it follows: what that one was started with
	// applies, too.
	for _, g := range s.Held {
		if g.Source != s.Directive.Ref+" "+s.Directive.Digest.String() {
			o.Held = o.Held.With(g)
		}
	}
	return p, nil
}

// ContinueOrFollow continues a thread with o.Message: one that has completed in a new thread, any other one
// where it ended.
func ContinueOrFollow(
	ctx context.Context,
	p *project.Project,
	id string,
	o *Options,
) (*threads.Result, error) {
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, control.EndOfChain(p, id))
	if err == nil && s.State == threads.Completed && s.Parent == "" {
		return followThread(ctx, p, id, o)
	}
	return Continue(ctx, p, id, o)
}

// ForPrompts returns the project, or outside of projects the one with the logs of the account.
func ForPrompts(p *project.Project) (*project.Project, error) {
	return project.InAccount(p)
}
