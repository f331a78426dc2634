package main

import (
	"context"
	"strings"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
)

// askAboutThread returns the function that asks at the terminal what a suspended thread asks,
// nil without one.
func askAboutThread(c *cli.Call) func(ctx context.Context, question string) (string, error) {
	if askAboutRisk(c) == nil {
		return nil
	}
	return func(ctx context.Context, question string) (string, error) {
		return c.AskWithin(ctx, continued(question)+"\nyes continues the thread, no ends it, anything else leaves it suspended [later] ")
	}
}

// askAboutCall returns the function that asks at the terminal about a call of a thread, nil
// without one. Only the words once and thread are a yes, and prefix if it is repeated for the
// rule that is shown.
func askAboutCall(c *cli.Call) project.Decide {
	if askAboutRisk(c) == nil {
		return nil
	}
	return func(ctx context.Context, q project.Asked) (r threads.Reply, err error) {
		err = c.InTurn(ctx, func(ask func(string) (string, error)) (err error) {
			r, err = decide(q, ask)
			return err
		})
		return r, err
	}
}

// decide asks about a call.
func decide(q project.Asked, ask func(prompt string) (string, error)) (threads.Reply, error) {
	prefix := ""
	if len(q.Prefixes) > 0 {
		prefix = " prefix those that begin with " + strings.Join(q.Prefixes, ", ") + ","
	}
	thread := ""
	if q.Rule != "" {
		thread = " thread also later calls with " + q.Rule + ","
	}
	answer, err := ask(continued(q.Question) + "\n" + continued("once runs it this time,"+thread+prefix) +
		"\nanything else refuses, deny TEXT with a text for the model [deny] ")
	if err == nil && prefix != "" && strings.EqualFold(answer, threads.ForPrefix) {
		answer, err = ask(continued("Permit every command of this thread that begins with "+strings.Join(q.Prefixes, ", or with ")+"?") + " prefix again permits it [deny] ")
		if strings.EqualFold(answer, threads.ForPrefix) {
			return threads.Reply{Decision: threads.ForPrefix, By: "person"}, err
		}
		answer = threads.Deny
	}
	return replyOf(answer), err
}

// continued shows that the later lines of a question are part of it. An item or a model may
// have written them.
func continued(question string) string { return strings.ReplaceAll(question, "\n", "\n  ") }

// replyOf reads what a person typed.
func replyOf(answer string) threads.Reply {
	r := threads.Reply{Decision: threads.Deny, By: "person"}
	word, text, _ := strings.Cut(answer, " ")
	switch word = strings.ToLower(word); {
	case (word == threads.Once || word == threads.ForThread) && text == "":
		r.Decision = word
	case word == threads.Deny:
		r.Feedback = strings.TrimSpace(text)
	}
	return r
}

// askAboutRisk returns the function that asks about a call at the terminal, nil without
// one. Only the word once is a yes: an empty line, or an answer to another question,
// refuses.
func askAboutRisk(c *cli.Call) exec.Ask {
	if c.UI.AsJSON || envOf(c).InCI() || !c.Isatty(c.Stdin) || !c.Isatty(c.Stderr) {
		return nil
	}
	return func(ctx context.Context, question string) (bool, error) {
		answer, err := c.AskWithin(ctx, continued(question)+"\nonce runs it this time, anything else refuses [deny] ")
		return strings.EqualFold(answer, "once"), err
	}
}
