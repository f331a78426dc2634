package chat

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/session"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads/handle"

	"github.com/ryeos/rye/threads"
)

// chatOptions are the flags of rye chat.
type chatOptions struct {
	directive string
	resume    string
	continues bool
	locked    bool
	thread    watch.ThreadOptions
}

// Command is rye chat.
func Command() *cli.Command {
	var o chatOptions
	return &cli.Command{
		Name:  "chat",
		Group: "Items",
		Args:  "[MESSAGE]",
		Usage: "talk with a model",
		Long: `Starts a conversation: a thread that waits for the next message after each answer. It runs
in a process of its own, within the permissions and limits of its directive, and what
happens is in .ai/threads. A turn that runs when the terminal is closed continues, and
rye chat --continue shows it.

A message that is sent while a turn runs is read by the model before its next step.
Ctrl-C stops the turn, Ctrl-D leaves, and /help lists the commands.`,
		Examples: []string{
			"rye chat",
			"rye chat 'Which files here have no tests?'",
			"rye chat --continue",
			"rye chat --resume 12",
			"rye chat list",
		},
		Codes: []diag.Code{
			diag.ItemNotFound,
			diag.KeyUnknown,
			diag.AuthRequired,
			diag.ThreadNotFound,
			diag.ThreadState,
			diag.BudgetExceeded,
			diag.ConfigError,
			diag.ExecutionFailed,
		},
		Flags: append([]cli.Flag{
			cli.Bool(&o.continues, "continue", "continue the newest conversation of this directory"),
			cli.String(&o.resume, "resume", "continue the conversation of a `THREAD`"),
			cli.String(&o.directive, "directive", "the `ID` of the directive that the model follows, with the input prompt (rye/agent/core/chat)"),
			cli.Bool(&o.locked, "locked", env.LockedUsage),
			cli.Strings(&o.thread.Limits, "limit", watch.LimitUsage),
			cli.String(&o.thread.Model, "model", "the model, by its exact `ID`"),
			cli.String(&o.thread.Provider, "provider", "the provider item, by its `ID`"),
			cli.Strings(&o.thread.Attach, "attach", watch.AttachUsage),
		}, o.thread.CopyFlags()...),
		Exclusive: [][]any{{&o.continues, &o.resume, &o.directive}},
		Subs:      []*cli.Command{listCommand(), renameCommand(), exportCommand()},
		Complete:  complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runChat(ctx, c, &o)
		},
	}
}

func runChat(ctx context.Context, c *cli.Call, o *chatOptions) error {
	if c.UI.AsJSON ||
		!c.Isatty(c.Stdin) ||
		!c.Isatty(c.Stdout) {
		return diag.New(diag.Usage, "starting a conversation: this process has no terminal").
			WithReason("chat_terminal")
	}
	p, err := watch.OpenLocked(ctx, c, &o.locked)
	if err != nil {
		return err
	}
	params, err := o.params(ctx, c, p)
	if err != nil {
		return err
	}
	s, err := session.New(ctx, *params)
	if err != nil {
		return err
	}
	message := ""
	if len(c.Args) > 0 {
		message = c.Args[0]
	}
	v := newView(c, s)
	err = v.plain(ctx, message)
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	return err
}

// params returns how the conversation begins.
func (o *chatOptions) params(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
) (*session.Params, error) {
	ref := chatDirective()
	if o.directive != "" {
		var err error
		if ref, err = item.ParseRef(o.directive, item.Directive); err != nil {
			return nil, err
		}
	}
	out := &session.Params{Project: p}
	opts := o.thread.Options(c, primary.Call{Ref: ref, Held: policy.Person()})
	var err error
	if opts.Attach, err = o.thread.Attachments(c); err != nil {
		return nil, err
	}
	// The process of the thread asks by its log, and this one answers by its inbox.
	opts.Ask = nil
	opts.Decide = nil
	opts.Answer = nil
	out.Options = *opts
	p, err = project.InAccount(p)
	if err != nil {
		return nil, err
	}
	// Names and numbers are of the project that has the logs.
	switch {
	case o.resume != "":
		out.ID, err = watch.FindRun(ctx, c, p, o.resume)
	case o.continues:
		out.ID, err = newest(p)
	}
	return out, err
}

// chatDirective is the directive of a conversation.
func chatDirective() item.Ref {
	return item.Ref{Kind: item.Directive, ID: "rye/agent/core/chat"}
}

// newest returns the newest conversation of this project, or outside of projects of this
// directory.
func newest(p *project.Project) (string, error) {
	id, err := handle.Newest(p.Spaces.ProjectDir, func(s *threads.Started) bool {
		return s.Interactive && hereStarted(p, s)
	})
	if diag.CodeOf(err) == diag.ThreadNotFound {
		return "", diag.New(diag.ThreadNotFound, "finding the newest conversation: none was started here").
			WithReason("no_chat")
	}
	return id, err
}

func hereStarted(p *project.Project, s *threads.Started) bool {
	return p.SeenDir == nil ||
		s.Workspace.Dir == p.SeenDir.Dir && s.Workspace.Empty == p.SeenDir.Empty
}
