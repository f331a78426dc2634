package testrun

import (
	"context"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/testfile"
	"github.com/ryeos/rye/threads/threadhost"
)

// ModelChoice is a model that runs the directives of tests in place of the recordings.
// The model runs without the fallbacks of the directive.
type ModelChoice struct {
	Provider string // "" is chosen as for a thread
	Model    string
}

// ParseModelChoice reads MODEL or PROVIDER=MODEL.
func ParseModelChoice(text string) (ModelChoice, error) {
	provider, model, found := strings.Cut(text, "=")
	if !found {
		provider = ""
		model = text
	}
	if model == "" || found && provider == "" {
		return ModelChoice{}, diag.New(diag.Usage, "reading --model %q: it must be MODEL or PROVIDER=MODEL", text)
	}
	return ModelChoice{provider, model}, nil
}

func (m ModelChoice) String() string {
	if m.Provider == "" {
		return m.Model
	}
	return m.Provider + "=" + m.Model
}

// ModelRun is one directive with one model.
// The tools run in the project, as the tools of a thread without --workspace.
type ModelRun struct {
	Test      string        `json:"test"`
	Directive string        `json:"directive,omitempty"`
	Thread    string        `json:"thread_id,omitempty"`
	Status    string        `json:"status"`       // of the thread; "" if it did not start
	Success   bool          `json:"success"`      // the thread completed
	Same      bool          `json:"same_outputs"` // with the outputs of the recording
	Cost      threads.Cost  `json:"cost"`
	Duration  int64         `json:"duration_ms"`
	Error     *diag.Failure `json:"error,omitempty"`

	err error
}

// ModelReport is what one model did with all directives.
type ModelReport struct {
	Model    string     `json:"model"`
	Success  int        `json:"success"`
	Same     int        `json:"same_outputs"`
	Tests    int        `json:"tests"`
	Spend    policy.USD `json:"spend"`
	Duration int64      `json:"duration_ms"`
	Runs     []ModelRun `json:"runs"`
}

// RunModel runs the directives of tests with a model. o has the permissions and the limits of
// each thread. A thread that fails is a result; the error comes from ctx.
func RunModel(
	ctx context.Context,
	p *project.Project,
	refs []item.Ref,
	m ModelChoice,
	o threadhost.Options,
) (*ModelReport, error) {
	r := &ModelReport{Model: m.String(), Tests: len(refs), Runs: []ModelRun{}}
	for _, ref := range refs {
		run := runModel(ctx, p, ref, m, o)
		if err := ctx.Err(); err != nil {
			return r, diag.New(diag.Cancelled, "testing %s with %s: cancelled", ref, m)
		}
		if run.Success {
			r.Success++
		}
		if run.Same {
			r.Same++
		}
		r.Spend += run.Cost.Spend
		r.Duration += run.Duration
		r.Runs = append(r.Runs, run)
	}
	return r, nil
}

func runModel(
	ctx context.Context,
	p *project.Project,
	ref item.Ref,
	m ModelChoice,
	o threadhost.Options,
) ModelRun {
	run := ModelRun{Test: ref.String()}
	began := time.Now()
	f, err := testFile(ctx, p, ref)
	if err == nil {
		run.Directive = "directive:" + f.Recorded.Directive
		err = unredacted(f)
	}
	if err == nil {
		o.Ref, err = item.ParseRef(f.Recorded.Directive, item.Directive)
	}
	var res *threads.Result
	if err == nil {
		o.Params = f.Recorded.Inputs
		o.Provider = m.Provider
		o.Model = m.Model
		o.NoSuspend = true
		o.NoFallback = true
		res, err = threadhost.Start(ctx, p, &o)
	}
	if res != nil {
		run.Thread = res.ThreadID
		run.Status = res.Status
		run.Cost = res.Cost
		run.Success = err == nil && res.Status == threads.Completed
		_, differs := testfile.Results(f.Recorded.Result, res, 0)
		run.Same = run.Success && !differs
	}
	if err != nil {
		e := diag.Typed(err)
		run.err, run.Error = err, &diag.Failure{Code: e.Code, Message: e.Error(), Details: e.Details}
	}
	run.Duration = time.Since(began).Milliseconds()
	return run
}

// unredacted returns an error if a secret was removed from the inputs of a test: a model would
// work with the text that replaced it.
func unredacted(f *testfile.File) error {
	raw, err := jsonx.Marshal(f.Recorded.Inputs)
	if err != nil {
		return err
	}
	if strings.Contains(string(raw), "[redacted:") {
		return diag.New(diag.ValidationFailed, "testing %s: a secret was removed from its inputs, so no model can run it", f.ID)
	}
	return nil
}

// Err returns the error of the first run that did not complete, nil without one.
func (r *ModelReport) Err() error {
	for _, run := range r.Runs {
		if run.err != nil {
			return run.err
		}
	}
	return nil
}
