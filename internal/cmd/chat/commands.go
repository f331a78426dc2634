package chat

import (
	"context"
	"fmt"
	"strings"

	"github.com/ryeos/rye/internal/session"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/control"
)

// command is a word after a slash.
type command struct {
	name, args, help string
	run              func(ctx context.Context, v *view, args string) ([]string, error)
}

// commands returns the built-in words of a conversation. Nothing shadows them.
func commands() []command {
	return []command{
		{"help", "", "list the commands", help},
		{"quit", "", "leave; a turn that runs continues", func(context.Context, *view, string) ([]string, error) {
			return nil, errLeave
		}},
		{"stop", "", "stop the turn", func(ctx context.Context, v *view, _ string) ([]string, error) {
			return nil, v.s.Stop(ctx)
		}},
		{"rename", "NAME", "name the conversation", func(ctx context.Context, v *view, name string) ([]string, error) {
			if name == "" {
				return []string{"/rename NAME"}, nil
			}
			return []string{"The conversation is " + visibleLines(name) + "."}, v.s.Rename(ctx, name)
		}},
		{"model", "[MODEL [PROVIDER]]", "show or change the model of the next turns", useModel},
		{"limit", "NAME=VALUE", "raise a limit: turns, tokens, spend, duration_seconds", raise},
		{"cost", "", "show what the conversation has cost", cost},
		{"context", "", "show how full the window of the model is", window},
		{"threads", "", "list the threads that the conversation started", children},
	}
}

func help(context.Context, *view, string) ([]string, error) {
	var out []string
	for _, c := range commands() {
		word := "/" + c.name
		if c.args != "" {
			word += " " + c.args
		}
		out = append(out, fmt.Sprintf("  %-26s %s", word, c.help))
	}
	return append(out,
		"A message that is sent while a turn runs is read before the next step of the model.",
		"// at the beginning sends a message that begins with /."), nil
}

// command runs a line that begins with a slash, and returns the lines to print. message is the
// text of a line that is a message.
func (v *view) command(ctx context.Context, line string) (out []string, message string, err error) {
	if strings.HasPrefix(line, "//") {
		return nil, line[1:], nil
	}
	name, args, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	for _, c := range commands() {
		if c.name == name {
			out, err := c.run(ctx, v, strings.TrimSpace(args))
			return out, "", err
		}
	}
	return []string{"/" + visibleLines(name) + " is not a command; /help lists them."}, "", nil
}

// useModel sets the model of the next process of the thread.
func useModel(ctx context.Context, v *view, args string) ([]string, error) {
	words := strings.Fields(args)
	switch len(words) {
	case 0:
		sum, err := v.summary()
		if err != nil || sum == nil {
			return []string{"No turn has run yet."}, err
		}
		return []string{sum.Model}, nil
	case 1:
		return []string{"The next turn uses " + visibleLines(words[0]) + "."}, v.s.Use(ctx, "", words[0])
	}
	return []string{"The next turn uses " + visibleLines(args) + "."}, v.s.Use(ctx, words[1], words[0])
}

func raise(ctx context.Context, v *view, args string) ([]string, error) {
	if !strings.Contains(args, "=") {
		sum, err := v.summary()
		if err != nil || sum == nil {
			return []string{"/limit NAME=VALUE"}, err
		}
		l := sum.Limits
		return []string{fmt.Sprintf(
			"turns %d  tokens %d  spend %s  duration_seconds %d",
			l.Turns,
			l.Tokens,
			l.Spend,
			l.DurationSeconds,
		)}, nil
	}
	// A process has its limits for its life, so that the next one gets these.
	err := v.s.Use(ctx, "", "", strings.Fields(args)...)
	if err != nil {
		return nil, err
	}
	if v.s.State() == session.Resting && v.s.Rest().Ask != nil {
		return nil, v.s.Resume(ctx)
	}
	return []string{"The next turn has " + visibleLines(args) + "."}, nil
}

// summary returns the figures of the thread, nil before the first message.
func (v *view) summary() (*threads.Summary, error) {
	if v.s.ID() == "" {
		return nil, nil
	}
	return threads.Summarize(v.s.Project().Spaces.ProjectDir, v.s.ID())
}

func cost(_ context.Context, v *view, _ string) ([]string, error) {
	sum, err := v.summary()
	if err != nil || sum == nil {
		return []string{"$0.00"}, err
	}
	return []string{fmt.Sprintf(
		"$%s of $%s  %d turns  %s tokens in, %s out",
		activity.Money(sum.Cost.Spend),
		activity.Money(sum.Limits.Spend),
		sum.Cost.Turns,
		activity.Thousands(sum.Cost.InputTokens),
		activity.Thousands(sum.Cost.OutputTokens),
	)}, nil
}

// window shows the tokens of the newest call of the model.
func window(_ context.Context, v *view, _ string) ([]string, error) {
	if v.tree == nil || v.context == 0 {
		return []string{"No turn has run yet."}, nil
	}
	return []string{"about " + activity.Thousands(v.context) + " tokens; a conversation that is longer than the window of the model is summarized"}, nil
}

func children(ctx context.Context, v *view, _ string) ([]string, error) {
	list, err := control.Tree(ctx, v.s.Project(), v.s.ID())
	if err != nil || len(list) < 2 {
		return []string{"It has started no threads."}, nil //nolint:nilerr // one that has not begun is not in the registry
	}
	var out []string
	for _, t := range list[1:] {
		out = append(out, fmt.Sprintf(
			"%d  %s  %s  $%s",
			t.Number,
			t.Item,
			t.State,
			activity.Money(t.Spend),
		))
	}
	return out, nil
}
