package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/hidden"
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
		return c.AskWithin(ctx, question+"\nyes continues the thread, no ends it, anything else leaves it suspended [later] ")
	}
}

// askAboutCall returns the function that asks at the terminal about a call of a thread, nil
// without one. Only the words once and thread are a yes, and prefix if it is repeated for the
// rule that is shown.
func askAboutCall(c *cli.Call) project.Decide {
	if askAboutRisk(c) == nil {
		return nil
	}
	var one sync.Mutex // threads that run at the same time ask one after the other
	return func(ctx context.Context, q project.Asked) (threads.Reply, error) {
		one.Lock()
		defer one.Unlock()
		if err := ctx.Err(); err != nil {
			return threads.Reply{}, err
		}
		fmt.Fprintln(c.Stderr, hidden.Visible(q.Question))
		prefix := ""
		if len(q.Prefixes) > 0 {
			prefix = " prefix those that begin with " + strings.Join(q.Prefixes, ", ") + ","
		}
		answer, err := c.AskWithin(ctx, "once runs it this time, thread also later calls with "+q.Rule+","+prefix+"\nanything else refuses, deny TEXT with a text for the model [deny] ")
		if err == nil && prefix != "" && strings.EqualFold(answer, threads.ForPrefix) {
			answer, err = c.AskWithin(ctx, "Permit every command of this thread that begins with "+strings.Join(q.Prefixes, ", or with ")+"? prefix again permits it [deny] ")
			if strings.EqualFold(answer, threads.ForPrefix) {
				return threads.Reply{Decision: threads.ForPrefix, By: "person"}, err
			}
			answer = threads.Deny
		}
		return replyOf(answer), err
	}
}

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
		fmt.Fprintln(c.Stderr, hidden.Visible(question)) // a question is not for -q to leave out
		answer, err := c.AskWithin(ctx, "once runs it this time, anything else refuses [deny] ")
		return strings.EqualFold(answer, "once"), err
	}
}
