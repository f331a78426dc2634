package test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/testrun"
	"github.com/ryeos/rye/threads/threadhost"
)

// testOptions are the flags of rye test, which rye test record has too.
type testOptions struct {
	models, limits []string
}

func Command() *cli.Command {
	var o testOptions
	return &cli.Command{
		Name:  "test",
		Group: "Items",
		Usage: "run recorded threads as tests, without a model",
		Args:  "[PATTERN…]",
		Long: `Runs the directive of each recorded test (items of the kind test below .ai/tests) and
answers each call of the model, and of a tool, from the recording. No model is called,
no tool starts, no key and no network is needed. A changed prompt, tool, permission,
call or result is printed as a difference, with the turn and the tool, and the exit
status is 1. A recording that no trusted key has signed is refused.

PATTERN is an id such as team/triage, or a pattern such as 'team/*'.

--model runs the directives of the tests with a model in place of the recording, each as
a thread of this project: tools run, and the calls of the model cost money. It prints
which threads completed, which returned the recorded outputs, cost and time.`,
		Examples: []string{"rye test", "rye test 'team/*' --json", "rye test record triage-01jd && rye sign 'test:*'",
			"rye test --model anthropic-model --model team/local=small-model --limit spend=0.05"},
		Codes: []diag.Code{diag.ReplayMismatch, diag.ItemNotFound, diag.ToolNotFound, diag.Unsigned, diag.HashMismatch, diag.KeyUnknown, diag.SigInvalid, diag.ValidationFailed,
			diag.TranscriptBroken, diag.ConfigError, diag.AuthRequired, diag.ProviderError, diag.ExecutionFailed, diag.LimitExceeded, diag.BudgetExceeded},
		Flags: []cli.Flag{
			cli.Strings(&o.models, "model", "run the directives with a `MODEL`, or PROVIDER=MODEL, and compare the models"),
			cli.Strings(&o.limits, "limit", "with --model, "+watch.LimitUsage),
		},
		Complete: complete.Items(item.Test),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runTest(ctx, c, &o)
		},
		Subs: []*cli.Command{testRecordCommand(&o)},
	}
}

func runTest(ctx context.Context, c *cli.Call, o *testOptions) error {
	if len(o.models) > 0 {
		return runModels(ctx, c, o)
	}
	if len(o.limits) > 0 {
		return diag.New(diag.Usage, "reading the command line: --limit applies to --model only")
	}
	h, err := env.Of(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	refs, err := testrun.Find(ctx, h, c.Args)
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		c.UI.Note("The project has no recorded tests: rye test record DIRECTIVE makes one.")
	}
	reports := make([]*testrun.Report, 0, len(refs))
	for _, ref := range refs {
		r := testrun.Run(ctx, h, ref, policy.Person())
		if err := ctx.Err(); err != nil {
			return err
		}
		showTest(c.UI, r)
		reports = append(reports, r)
	}
	return endTests(c, reports)
}

// showTest prints one test for people.
func showTest(u *cli.UI, r *testrun.Report) {
	if u.AsJSON {
		return
	}
	word := "ok"
	if !r.Passed {
		word = "FAILED"
	}
	u.Out("%-6s  %s  %d ms", word, r.Ref, r.Duration)
	if r.Error != nil {
		u.Out("  %s: %s", r.Error.Code, r.Error.Message)
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		u.Out("  %s", d.Headline())
		for line := range strings.Lines(d.Diff) {
			u.Out("  %s", strings.TrimSuffix(line, "\n")) // each by itself: a text of the model is escaped
		}
	}
}

// endTests returns the error of the first test that could not be compared, else of the first
// one that differs.
func endTests(c *cli.Call, reports []*testrun.Report) error {
	failed := 0
	var first error
	for _, r := range reports {
		if r.Passed {
			continue
		}
		failed++
		if first == nil || r.Error != nil && diag.CodeOf(first) == diag.ReplayMismatch {
			first = r.Err()
		}
	}
	data := map[string]any{"tests": reports, "passed": len(reports) - failed, "failed": failed}
	if failed > 0 {
		c.UI.Note("%d of %s failed", failed, cli.Plural(len(reports), "test"))
		return c.UI.Report(first, data, nil, func() {})
	}
	return c.UI.Show(data, func() {
		c.UI.Note("%s passed", cli.Plural(len(reports), "test"))
	})
}

// testRecordOptions are the flags of rye test record.
type testRecordOptions struct {
	*testOptions
	as      string
	replace bool
}

func testRecordCommand(above *testOptions) *cli.Command {
	o := testRecordOptions{testOptions: above}
	return &cli.Command{
		Name:  "record",
		Args:  "THREAD|DIRECTIVE [NAME=VALUE…]",
		Usage: "write a completed thread as a test",
		Long: `Writes what the model and the tools answered in a thread to .ai/tests, for a person to
sign with rye sign. With a directive, runs it with the model of --model first, within
--limit. Values of stored keys
and of secret variables, and texts that have the form of a key, are replaced; review the
file before you sign it. A recording that would not pass now is not written.`,
		Examples: []string{"rye test record triage-01jd", "rye test record team/triage file=issue.md --as team/triage-bug",
			"rye test record team/triage --model team/local=small-model --replace"},
		Codes: []diag.Code{diag.ThreadNotFound, diag.ThreadState, diag.ReplayMismatch, diag.ItemNotFound, diag.FileSystemError, diag.TooLarge, diag.HiddenChars,
			diag.TranscriptBroken, diag.ConfigError, diag.UnknownParameter, diag.ProviderError},
		Flags: []cli.Flag{
			cli.String(&o.as, "as", "the `ID` of the test; else the ID of the directive"),
			cli.Bool(&o.replace, "replace", "replace an existing recording"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runTestRecord(ctx, c, &o)
		},
	}
}

func runTestRecord(ctx context.Context, c *cli.Call, o *testRecordOptions) error {
	h, err := env.Of(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	id, err := control.Find(ctx, h, c.Arg(0))
	if err == nil && len(o.models)+len(o.limits) > 0 {
		return diag.New(diag.Usage, "recording %s: --model and --limit apply to a directive, and this is a thread", id)
	}
	if len(c.Args) > 1 ||
		diag.CodeOf(err) == diag.ThreadNotFound && !strings.HasPrefix(c.Arg(0), "@") {
		id, err = recordRun(ctx, c, h, o)
	}
	if err != nil {
		return err
	}
	done, err := testrun.Record(ctx, h, testrun.RecordOptions{
		Thread:  id,
		As:      o.as,
		Replace: o.replace,
		Held:    policy.Person(),
	})
	if err != nil {
		showRepeated(c.UI, err)
		return err
	}
	return c.UI.Show(done, func() {
		c.UI.Out("%s", done.Path)
		c.UI.Note(
			"%s: %s, %s of %s. Review it, then: rye sign %s",
			done.Ref,
			cli.Plural(int(done.Turns), "turn"),
			cli.Plural(done.Calls, "call"),
			done.Directive,
			done.Ref,
		)
	})
}

// showRepeated prints the difference of a recording that does not repeat its thread.
func showRepeated(u *cli.UI, err error) {
	diff, _ := diag.Typed(err).Details["diff"].(string)
	for line := range strings.Lines(diff) {
		u.Note("%s", strings.TrimSuffix(line, "\n"))
	}
}

// recordRun runs a directive and returns the id of its thread.
func recordRun(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *testRecordOptions,
) (string, error) {
	ref, err := item.ParseRef(c.Arg(0), item.Directive)
	if err != nil {
		return "", err
	}
	if ref.Kind != item.Directive {
		return "", diag.New(diag.Usage, "recording %s: only threads of directives are recorded", ref)
	}
	thread := watch.ThreadOptions{Limits: o.limits, NoSuspend: true}
	if len(o.models) > 1 {
		return "", diag.New(diag.Usage, "reading the command line: a recording is of one --model")
	}
	for _, text := range o.models {
		m, err := testrun.ParseModelChoice(text)
		if err != nil {
			return "", err
		}
		thread.Model = m.Model
		thread.Provider = m.Provider
	}
	opts := thread.Options(c, primary.Call{Ref: ref, Held: policy.Person(), Args: c.Args[1:]})
	show := watch.NewWatcher(c, h, false)
	opts.Observe = show.Line
	opts.Started = show.Started
	r, err := threadhost.FollowDirective(ctx, h, opts)
	if err != nil {
		return "", err
	}
	if r.Status != threads.Completed {
		return "", fmt.Errorf("recording %s: %w", ref, diag.New(
			diag.ThreadState,
			"the thread %s is %s",
			r.ThreadID,
			r.Status,
		))
	}
	return r.ThreadID, nil
}
