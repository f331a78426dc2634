package ask

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/dialog"
	"github.com/ryeos/rye/internal/termkeys"
	"github.com/ryeos/rye/internal/vtmode"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/threadhost"
)

// CanAsk reports whether a person can be asked for permissions at the terminal.
func CanAsk(c *cli.Call) bool {
	return !c.UI.AsJSON &&
		!env.Of(c).InCI() &&
		c.Isatty(c.Stdin) &&
		c.Isatty(c.Stderr)
}

// AtTerminal asks a question with single keys, or with words where the terminal only appends
// lines. The error is threads.ErrLeft if the input ends.
func AtTerminal(
	ctx context.Context,
	c *cli.Call,
	q *dialog.Question,
) (a dialog.Answer, err error) {
	f, ok := c.Stdin.(*os.File)
	if ok && !c.PlainTerminal() && !c.Reads() {
		err = c.OwnTurn(ctx, func() error {
			keys, kerr := termkeys.Open(f)
			if kerr != nil {
				ok = false
				return nil
			}
			defer keys.Close()
			s := &dialog.Screen{
				In:  keys,
				Out: vtmode.Writer(c.Stderr),
				Size: func() (int, int) {
					return cli.TerminalSize(c.Stderr)
				},
				Guard: c.QuestionGuard(),
				Bell:  dialog.Notice(c.Getenv, "a question waits for you"),
			}
			defer c.UI.Above(s.Print)()
			a, kerr = s.Ask(ctx, q)
			return kerr
		})
	}
	if !ok || c.PlainTerminal() || c.Reads() {
		err = c.InTurn(ctx, func(ask func(string) (string, error)) (err error) {
			a, err = dialog.Words(ctx, ask, q)
			return err
		})
	}
	var elsewhere *threads.Elsewhere
	switch {
	case errors.As(context.Cause(ctx), &elsewhere) && c.PlainTerminal():
		c.UI.Note("%s", elsewhere.Error())
	case diag.CodeOf(err) == diag.Usage:
		err = threads.ErrLeft
	case errors.Is(err, dialog.ErrLeft):
		err = threads.ErrLeft
	}
	return a, err
}

// AboutThread returns the function that asks at the terminal what a suspended thread asks,
// nil without one. An error leaves the thread suspended.
func AboutThread(c *cli.Call) func(ctx context.Context, thread, question string) (string, error) {
	if !CanAsk(c) {
		return nil
	}
	return func(ctx context.Context, thread, question string) (string, error) {
		a, err := AtTerminal(
			ctx,
			c,
			&dialog.Question{
				From: cli.RunLabel(c, thread),
				Text: question,
				Choices: []dialog.Choice{
					{
						Key:     'y',
						Label:   "yes",
						Help:    "the thread continues",
						Words:   []string{"yes"},
						Permits: true,
					},
					{
						Key:   'n',
						Label: "no",
						Help:  "the thread ends",
						Words: []string{"no"},
					},
					{
						Key:   'l',
						Label: "later",
						Help:  "the thread stays suspended",
						Words: []string{"later"},
					},
				},
				Escape: 'l',
			},
		)
		return map[rune]string{'y': "yes", 'n': "no", 'l': "later"}[a.Key], err
	}
}

// AboutCall returns the function that asks at the terminal about a call of a thread, nil
// without one.
func AboutCall(c *cli.Call) threadhost.Decide {
	if !CanAsk(c) {
		return nil
	}
	return func(ctx context.Context, q exec.Asked) (threads.Reply, error) {
		a, err := AtTerminal(ctx, c, CallQuestion(c, q))
		return ReplyTo(a), err
	}
}

// CallQuestion describes what a person can answer about a call.
func CallQuestion(c *cli.Call, q exec.Asked) *dialog.Question {
	out := &dialog.Question{
		From:    cli.RunLabel(c, q.Thread),
		Why:     q.Rule,
		Text:    q.Question,
		Details: q.Details,
		Escape:  'n',
		Queue:   q.Queue,
		Choices: []dialog.Choice{{
			Key:     'y',
			Label:   "once",
			Help:    "this call runs, this one time",
			Words:   []string{"yes", threads.Once},
			Permits: true,
		}},
	}
	if policy.NeedsWord(q.Tier, q.Rule) {
		out.Word = "yes"
	}
	if q.Rule != "" {
		out.Choices = append(out.Choices, dialog.Choice{
			Key:     't',
			Label:   "this thread",
			Help:    "also later calls of this thread with " + q.Rule,
			Words:   []string{threads.ForThread},
			Permits: true,
		})
	}
	if len(q.Prefixes) > 0 {
		begins := "begins with " + quotedList(q.Prefixes)
		out.Choices = append(out.Choices, dialog.Choice{
			Key:     'p',
			Label:   begins,
			Help:    "also later commands of this thread that begin with " + quotedList(q.Prefixes),
			Words:   []string{threads.ForPrefix},
			Permits: true,
			Confirm: "Permit every command of this thread that " + begins + "?",
		})
	}
	refuse := dialog.Choice{
		Key:   'n',
		Label: "no",
		Help:  "it does not run; Esc also stops the turn",
		Words: []string{"no", threads.Deny},
	}
	if q.Thread != "" {
		refuse.Line = "A line that the model reads, Enter for none: "
	}
	out.Choices = append(out.Choices, refuse)
	return out
}

// quotedList returns texts in quotes.
func quotedList(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = `"` + s + `"`
	}
	return strings.Join(out, ", or with ")
}

// ReplyTo returns an answer about a call as threads record it.
func ReplyTo(a dialog.Answer) threads.Reply {
	decision := map[rune]string{'y': threads.Once, 't': threads.ForThread, 'p': threads.ForPrefix}[a.Key]
	return threads.Reply{
		Decision: cmp.Or(decision, threads.Deny),
		Feedback: a.Text,
		By:       "person",
		Stop:     a.Stop,
	}
}

// AboutRisk returns the function that asks about a call at the terminal, nil without one.
func AboutRisk(c *cli.Call) exec.Ask {
	if !CanAsk(c) {
		return nil
	}
	return func(ctx context.Context, about exec.Asked) (bool, error) {
		q := CallQuestion(c, exec.Asked{
			Question: about.Question,
			Tier:     about.Tier,
			Rule:     about.Rule,
			Details:  about.Details,
		})
		q.Choices = slices.DeleteFunc(q.Choices, func(c dialog.Choice) bool {
			return c.Key == 't'
		}) // there is one call
		a, err := AtTerminal(ctx, c, q)
		return a.Key == 'y', err
	}
}

// AboutOne is askAboutRisk for a single call. No question about it stays open, so that a person
// who leaves it refuses the call.
func AboutOne(c *cli.Call) exec.Ask {
	ask := AboutRisk(c)
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, about exec.Asked) (bool, error) {
		yes, err := ask(ctx, about)
		if errors.Is(err, threads.ErrLeft) {
			return false, nil
		}
		return yes, err
	}
}

// Continued shows that the later lines of a question are part of it. An item or a model may
// have written them.
func Continued(question string) string {
	return strings.ReplaceAll(question, "\n", "\n  ")
}
