package run

import (
	"context"
	"errors"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/promptinput"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/threadhost"
)

// promptArgs replaces "prompt TEXT…" by the directive that does what a text asks for. taken
// states that another flag reads standard input.
func promptArgs(ctx context.Context, c *cli.Call, taken bool) ([]string, error) {
	if c.Args[0] != "prompt" {
		return c.Args, nil
	}
	text, err := promptinput.Read(ctx, promptinput.Params{
		Words:    c.Args[1:],
		Stdin:    c.Stdin,
		Terminal: taken || c.Isatty(c.Stdin),
		Waiting:  func() { c.UI.Note("waiting for the end of standard input; </dev/null gives none") },
	})
	if err != nil {
		return nil, err
	}
	return []string{"directive", env.PromptDirective().ID, "prompt=" + text}, nil
}

// continueWithPrompt continues an earlier thread with the text of a prompt. args come from
// promptArgs.
func continueWithPrompt(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *runOptions,
	args []string,
) error {
	if c.Args[0] != "prompt" {
		return diag.New(diag.Usage, "reading the command line: --continue and --resume apply to prompts").WithReason("prompt_continue")
	}
	text := strings.TrimPrefix(args[len(args)-1], "prompt=")
	h, err := threadhost.ForPrompts(h)
	if err != nil {
		return err
	}
	var id string
	if o.resume != "" {
		id, err = watch.FindRun(ctx, c, h, o.resume)
	} else {
		id, err = control.LastPrompt(h, env.PromptDirective())
	}
	if err != nil {
		return err
	}
	t := o.thread
	t.Message = text
	opts := t.Options(c, primary.Call{Held: policy.Person()})
	if opts.Attach, err = t.Attachments(c); err != nil {
		return err
	}
	return watch.ContinueThread(ctx, c, h, id, opts, t.Events)
}

// runPrompt does the work of a directive. Without a model it offers to set one up first.
func runPrompt(
	ctx context.Context,
	c *cli.Call,
	e *project.Env,
	h *project.Project,
	req primary.Call,
	o *runOptions,
) error {
	err := watch.RunThread(ctx, c, h, req, &o.thread)
	if err == nil {
		return nil
	}
	ready, err := o.offer(ctx, c, err)
	if err != nil || !ready {
		return err
	}
	if h, err = e.Open(ctx, project.Strict); err != nil {
		return err
	}
	return watch.RunThread(ctx, c, h, req, &o.thread)
}

// notRef explains the error about the words of rye run of which the first names no item: it has
// blanks, or it is the end of ids.
func notRef(err error, args []string) error {
	var e *diag.Error
	if errors.As(err, &e) &&
		e.Code == diag.ItemNotFound &&
		e.Reason == "named" {
		ref, _ := e.Details["ref"].(string)
		words := []string{"rye", "run", ref}
		for _, w := range args[1:] {
			words = append(words, cli.ShellArgument(w))
		}
		return e.
			WithReason("named_run").
			WithDetail("command", strings.Join(words, " "))
	}
	if len(args) == 1 &&
		strings.ContainsAny(args[0], " \n") &&
		diag.CodeOf(err) == diag.Usage &&
		errors.As(err, &e) {
		return e.WithReason("prompt_ref").WithDetail("name", args[0])
	}
	return err
}
