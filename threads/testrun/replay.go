package testrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/testfile"
	"github.com/ryeos/rye/threads/threadhost"
)

// Report is what a test found.
type Report struct {
	Ref         string                `json:"ref"`
	Directive   string                `json:"directive,omitempty"`
	Passed      bool                  `json:"passed"`
	Differences []testfile.Difference `json:"differences"`
	Error       *diag.Failure         `json:"error,omitempty"` // why nothing was compared
	Duration    int64                 `json:"duration_ms"`

	err error
}

// Find returns the refs of the project's own tests that a pattern matches, all without a
// pattern. A pattern that matches none is an error: nothing would be compared. A project
// without tests has none to fail.
func Find(
	ctx context.Context,
	p *project.Project,
	patterns []string,
) ([]item.Ref, error) {
	root, err := p.NeedProject()
	if err != nil {
		return nil, err
	}
	entries, err := p.Resolver.All(ctx, item.Test)
	if err != nil {
		return nil, err
	}
	var out []item.Ref
	used := make([]bool, len(patterns))
	for _, e := range entries {
		if e.Root != root || e.Shadow {
			continue
		}
		chosen := len(patterns) == 0
		for i, pattern := range patterns {
			if glob.Match(pattern, e.Ref.ID) ||
				glob.Match(pattern, e.Ref.String()) {
				chosen, used[i] = true, true
			}
		}
		if chosen {
			out = append(out, e.Ref)
		}
	}
	for i, pattern := range patterns {
		if !used[i] {
			return nil, diag.New(diag.ItemNotFound, "testing: no recorded test matches %q", pattern).WithReason("no_tests")
		}
	}
	return out, nil
}

// Run verifies a recorded test, repeats its thread and compares. It calls no model and starts
// no tool.
func Run(ctx context.Context, p *project.Project, ref item.Ref, held policy.Held) *Report {
	began := time.Now()
	r := &Report{Ref: ref.String(), Differences: []testfile.Difference{}}
	f, err := testFile(ctx, p, ref)
	if err == nil {
		r.Directive = "directive:" + f.Recorded.Directive
		var found []testfile.Difference
		if found, err = replayTest(ctx, p, f, held); len(found) > 0 {
			r.Differences = found
		}
	}
	if err != nil {
		e := diag.Typed(err)
		r.err, r.Error = err, &diag.Failure{Code: e.Code, Message: e.Error(), Details: e.Details}
	}
	r.Passed = err == nil && len(r.Differences) == 0
	r.Duration = time.Since(began).Milliseconds()
	return r
}

// Err returns why the test did not pass, nil if it did.
func (r *Report) Err() error {
	if r.err != nil {
		return r.err
	}
	return testfile.Mismatch(r.Ref, r.Differences)
}

// testFile returns a verified test: what trusted keys did not sign is not used.
func testFile(ctx context.Context, p *project.Project, ref item.Ref) (*testfile.File, error) {
	it, err := p.Resolver.Find(ctx, ref)
	if err != nil {
		return nil, err
	}
	return testfile.Read(ref.ID, it.Bytes)
}

// replayTest runs the directive of a test, answered from the recording, and returns all
// differences.
func replayTest(
	ctx context.Context,
	p *project.Project,
	f *testfile.File,
	held policy.Held,
) ([]testfile.Difference, error) {
	ref, err := item.ParseRef(f.Recorded.Directive, item.Directive)
	if err != nil {
		return nil, err
	}
	name := string(item.Test) + ":" + f.ID
	recording, err := threads.NewRecording(name, f.Recorded)
	if err != nil {
		return nil, err
	}
	cleaner, err := testCleaner(ctx, p)
	if err != nil {
		return nil, err
	}
	found, err := changedTools(ctx, p, f)
	if err != nil {
		return nil, err
	}
	parts := map[string]bool{}
	o := &threadhost.Options{
		Ref:       ref,
		Params:    f.Recorded.Inputs,
		Held:      held,
		NoSuspend: true,
		Facts:     testFacts(f.Facts).steps(),
	}
	o.Replay = &threads.Replay{Recording: recording, Clean: cleaner.JSON, Differs: func(d threads.Difference) {
		if !parts[d.Part] { // every later request repeats it
			parts[d.Part] = true
			found = append(found, testfile.Difference{
				Turn: d.Call,
				Part: d.Part,
				Tool: d.Tool,
				Diff: d.Diff,
			})
		}
	}}
	res, events, err := scratchThread(ctx, p, o)
	if err != nil {
		return nil, err
	}
	now := &threads.Recorded{Events: events, Result: res}
	if err := cleaner.Recorded(now); err != nil {
		return nil, err
	}
	was, err := threads.CallsOf(f.Recorded.Events)
	if err != nil {
		return nil, err
	}
	is, err := threads.CallsOf(now.Events)
	if err != nil {
		return nil, err
	}
	if d, differs := testfile.Calls(was, is); differs {
		found = append(found, d)
	}
	d, differs := testfile.Results(f.Recorded.Result, now.Result, recording.Unused())
	if differs {
		found = append(found, d)
	}
	return found, nil
}

// changedTools returns the tools whose results were recorded and whose files are others now.
// Tools of the system are compared by what the model reads of them: each release would otherwise
// fail every test.
func changedTools(
	ctx context.Context,
	p *project.Project,
	f *testfile.File,
) ([]testfile.Difference, error) {
	calls, err := threads.CallsOf(f.Recorded.Events)
	if err != nil {
		return nil, err
	}
	var found []testfile.Difference
	seen := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		if c.Ref == "" ||
			c.Digest == (item.Digest{}) ||
			seen[c.Ref] {
			continue
		}
		seen[c.Ref] = true
		it, err := toolOf(ctx, p, c.Ref)
		switch {
		case err != nil:
			return nil, err
		case it == nil:
			found = append(found, testfile.Changed(c, "does not exist"))
		case unsignedDigest(it) != c.Digest:
			found = append(found, testfile.Changed(c, unsignedDigest(it).String()))
		}
	}
	return found, nil
}

// scratchThread runs a replay whose log is temporary, and returns its result and events. A
// thread that fails has a result; the error is of a thread that has none.
func scratchThread(
	ctx context.Context,
	p *project.Project,
	o *threadhost.Options,
) (*threads.Result, []threads.Event, error) {
	const id = "test"
	params, err := threadhost.KernelParams(ctx, p, id, o)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "rye-test-")
	if err != nil {
		return nil, nil, diag.New(diag.FileSystemError, "testing %s: %w", o.Ref, err)
	}
	defer os.RemoveAll(dir)
	if params.Project, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, nil, diag.New(diag.FileSystemError, "testing %s: %w", o.Ref, err)
	}
	params.Heads = "" // the log is never continued, and each has the same id
	params.Account = func(context.Context, string, policy.USD) (threads.Ledger, error) {
		return freeLedger{}, nil
	}
	res, err := threads.Start(ctx, id, params)
	if res == nil || ctx.Err() != nil {
		return nil, nil, errors.Join(err, ctx.Err())
	}
	events, err := threads.RecordedEvents(params.Project, id)
	return res, events, err
}

// freeLedger is the account of a thread that calls no model.
type freeLedger struct{}

// Balance implements threads.Ledger.
func (freeLedger) Balance(context.Context) (policy.Balance, error) {
	return policy.Balance{Limit: policy.LimitSpend, Max: 1}, nil
}

// Reserve implements threads.Ledger.
func (freeLedger) Reserve(_ context.Context, id, _ string, amount policy.USD) error {
	if amount != 0 {
		return diag.New(diag.Internal, "reserving %s: a replay costs nothing", id)
	}
	return nil
}

// Settle implements threads.Ledger.
func (freeLedger) Settle(context.Context, string, policy.USD, bool) error {
	return nil
}

// Recover implements threads.Ledger.
func (freeLedger) Recover(context.Context, func(string) bool) error {
	return nil
}

// Keep implements threads.Ledger.
func (freeLedger) Keep(context.Context, func(error)) func() {
	return func() {}
}

// Settled implements threads.Ledger.
func (freeLedger) Settled(context.Context, string) (cost policy.USD, assumed, ok bool, err error) {
	return 0, false, true, nil
}

// Pause implements threads.Ledger.
func (freeLedger) Pause(context.Context, string) error {
	return nil
}

// Release implements threads.Ledger.
func (freeLedger) Release(context.Context, string, string) error {
	return nil
}
