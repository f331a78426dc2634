package modelsetup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/modelhost"
	"github.com/ryeos/rye/threads/models"
	"github.com/ryeos/rye/threads/provider"
	"github.com/ryeos/rye/threads/store"
)

// TryCall is one call that Try made.
type TryCall struct {
	Purpose   string        `json:"purpose"` // answer or tool_call
	LatencyMS int64         `json:"latency_ms"`
	Stop      message.Stop  `json:"stop"`
	Model     string        `json:"model"` // that answered
	Usage     message.Usage `json:"usage"`
	Cost      policy.USD    `json:"cost"`
	Assumed   bool          `json:"assumed,omitempty"`
	Called    bool          `json:"called,omitempty"` // the model called the tool
	// Beyond is what the call cost more than was reserved: the service counts text that
	// rye did not send, such as a system text of its own.
	Beyond policy.USD `json:"beyond_reservation,omitempty"`
}

// Report is what Try found.
type Report struct {
	Provider string     `json:"provider"`
	Model    string     `json:"model"`
	Thread   string     `json:"thread_id"` // of the ledger
	Worst    policy.USD `json:"reserved"`  // the most that all calls could cost
	Calls    []TryCall  `json:"calls"`

	// Of a service that is added:
	Notes []string `json:"notes,omitempty"` // what it does otherwise than its dialect
}

// TryOptions are the parameters of Try.
type TryOptions struct {
	Model string // "" is the cheapest tier
	// Confirm asks the user before calls that can cost that much. An error ends the try.
	Confirm func(worst policy.USD) error
	Ask     exec.Ask
}

// Try makes one call with one output token, and one that calls a tool. Both are
// in the ledger, as calls of a thread are.
func Try(ctx context.Context, p *project.Project, s *modelhost.State, o TryOptions) (*Report, error) {
	if err := s.Check("trying"); err != nil {
		return nil, err
	}
	m, err := tryModel(ctx, p, s, o.Model)
	if err != nil {
		return nil, err
	}
	t := &Trial{
		p:      p,
		state:  s,
		model:  m,
		o:      o,
		report: &Report{Provider: s.Ref, Model: m.ID, Calls: []TryCall{}},
	}
	e := p.For(t).Executor.With(exec.Bindings{Provide: t.run})
	chain, err := e.Chain(ctx, s.Item.Ref)
	if err != nil {
		return nil, err
	}
	plan, err := e.Plan(
		ctx,
		chain,
		exec.Call{Held: policy.Person(), Ask: o.Ask},
		nil,
	)
	if err != nil {
		return nil, err
	}
	_, err = e.Run(ctx, plan)
	if len(t.report.Calls) == 0 {
		return nil, err
	}
	return t.report, err
}

// tryModel returns the named model, else the model of the first tier, else the first one that
// the allowance permits.
func tryModel(
	ctx context.Context,
	p *project.Project,
	s *modelhost.State,
	named string,
) (*provider.Model, error) {
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return nil, err
	}
	if named != "" {
		m, err := s.Config.Model(named)
		if err == nil && !a.AllowsModel(named) {
			err = diag.New(diag.PolicyDenied, "trying the model %s: models of config:%s does not permit it", named, policy.AllowanceID)
		}
		return m, err
	}
	var names []string
	for _, tier := range []string{"fast", "general", "high", "max"} {
		names = append(names, s.Tiers[tier])
	}
	i := slices.IndexFunc(append(names, s.Models...), func(name string) bool {
		return name != "" && a.AllowsModel(name)
	})
	return s.Config.Model(append(names, s.Models...)[i]) // a usable provider has one
}

// Trial is a try in progress.
type Trial struct {
	p      *project.Project
	state  *modelhost.State
	model  *provider.Model
	o      TryOptions
	report *Report
}

// Around implements Caller. A try starts no program with a broker.
func (*Trial) Around(context.Context, *agent.Broker, policy.Held, exec.Current) {}

// Asks implements Caller.
func (*Trial) Asks(exec.Call) project.AsksPerson {
	return nil
}

// ToClient implements Caller.
func (*Trial) ToClient(exec.Call) bool {
	return false
}

// IsChild implements Caller.
func (*Trial) IsChild(exec.Call) bool {
	return false
}

// TrialOf returns the try that a project works for, nil for none.
func TrialOf(p *project.Project) *Trial {
	t, _ := p.Caller.(*Trial)
	return t
}

// Settings returns the settings of the provider, for one call.
func (t *Trial) Settings() *provider.Config {
	c := *t.state.Config
	return &c
}

// NotCalled is the reason of the error if the model answered and did not call the tool.
const NotCalled = "tool_not_called"

// tryKind is the kind of the threads of tries in the ledger.
const tryKind = "test"

// tryRequests returns the calls of a try by their purpose.
func tryRequests(m *provider.Model) map[string]message.Request {
	ask := func(text string, most int64, tools ...message.ToolDef) message.Request {
		return message.Request{
			Model:     m.ID,
			Messages:  []message.Message{{Role: message.User, Blocks: []message.Block{message.TextBlock(text)}}},
			Tools:     tools,
			MaxOutput: min(most, m.MaxOutput),
			Effort:    "none",
		}
	}
	out := map[string]message.Request{models.ForAnswer: ask("Say ok.", 1)}
	if m.CallsTools {
		out[models.ForTool] = ask("Call the tool report with the word ok.", 512, models.Tool())
	}
	return out
}

// run makes the calls, with the address and the credential of the item.
func (t *Trial) run(ctx context.Context, in exec.ProviderCall) (map[string]any, error) {
	c := t.Settings()
	c.Send = in.Send
	return t.Make(ctx, c, func(ctx context.Context, req message.Request) (message.Response, error) {
		return c.Call(ctx, req, nil)
	})
}

// Make makes the calls of a try by a function.
func (t *Trial) Make(
	ctx context.Context,
	c *provider.Config,
	send func(context.Context, message.Request) (message.Response, error),
) (map[string]any, error) {
	requests := tryRequests(t.model)
	for _, req := range requests {
		worst, err := c.WorstCase(req, nil)
		if err != nil {
			return nil, err
		}
		t.report.Worst += policy.USD(worst.Amount)
	}
	if err := t.o.Confirm(t.report.Worst); err != nil {
		return nil, err
	}
	a, err := openAccount(ctx, t.p, t.report, contentDigest(t.state.Item))
	if err != nil {
		return nil, err
	}
	for _, purpose := range []string{models.ForAnswer, models.ForTool} {
		req, asked := requests[purpose]
		if !asked || err != nil {
			continue
		}
		_, err = a.call(ctx, c, purpose, req, send)
		var f *provider.Failure
		if errors.As(err, &f) {
			err = f.Err
		}
		if err == nil && purpose == models.ForTool && !a.called() {
			err = diag.New(diag.ExecutionFailed, "trying %s: the model %s answered without calling the tool, so it cannot do the work of a directive", t.state.Ref, t.model.ID).
				WithReason(NotCalled)
		}
	}
	err = a.close(ctx, err)
	return map[string]any{"success": err == nil}, err
}

// tryAccount books the calls of a try as the calls of a thread.
type tryAccount struct {
	report *Report
	store  *store.Store
	owner  *store.Owner
	calls  int
}

// contentDigest is the digest of an item without its signature: a draft has it too.
func contentDigest(it *resolve.Item) item.Digest {
	f, err := sign.SplitFile(it.Bytes, it.Type.Style)
	if err != nil {
		return it.Digest
	}
	return item.DigestOf(slices.Concat(f.Head, f.Tail))
}

// openAccount registers a try in the ledger. Its maximum is twice what its calls can cost by
// their size, and at least a cent: a service may count text that rye did not send.
// The test is a thread of its own in the ledger: without it, a loop around the command could
// spend beyond the day. The account has twice the estimate, at least one cent, because services
// count system texts of their own.
func openAccount(
	ctx context.Context,
	p *project.Project,
	report *Report,
	digest item.Digest,
) (*tryAccount, error) {
	allowance, _, err := p.Allowance(ctx)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(
		ctx,
		store.Dir(p.Dirs.State),
		store.Params{Now: p.Env.Now},
	)
	if err != nil {
		return nil, err
	}
	report.Thread = graph.NewID("provider-test", p.Env.Now())
	th := store.Thread{
		ID:      report.Thread,
		Project: p.Spaces.ProjectDir,
		Kind:    tryKind,
		Ref:     report.Provider,
		Digest:  digest.String(),
		Model:   report.Model,
	}
	owner, err := s.Register(ctx, th, store.Budget{Max: max(2*report.Worst, tryMinimum), Periods: allowance.Spend})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &tryAccount{report: report, store: s, owner: owner}, nil
}

// tryMinimum is the smallest maximum of a try: one cent.
const tryMinimum policy.USD = 10_000_000

// close ends the account.
func (a *tryAccount) close(ctx context.Context, err error) error {
	state := "completed"
	var failed *diag.Error
	if err != nil && !(errors.As(err, &failed) && failed.Reason == NotCalled) {
		state = "error"
	}
	released := a.owner.Release(context.WithoutCancel(ctx), state, string(diag.CodeOf(err)))
	return errors.Join(err, released, a.store.Close())
}

// call makes one call: reserved before it, and settled whatever comes.
func (a *tryAccount) call(
	ctx context.Context,
	c *provider.Config,
	purpose string,
	req message.Request,
	send func(context.Context, message.Request) (message.Response, error),
) (message.Response, error) {
	worst, err := c.WorstCase(req, nil)
	if err != nil {
		return message.Response{}, err
	}
	a.calls++
	id := fmt.Sprintf("%s/%s-%d", a.report.Thread, purpose, a.calls)
	err = a.owner.Reserve(ctx, id, req.Model, policy.USD(worst.Amount))
	if err != nil {
		return message.Response{}, err
	}
	began := time.Now()
	r, err := send(ctx, req)
	call := TryCall{
		Purpose:   purpose,
		LatencyMS: time.Since(began).Milliseconds(),
		Stop:      r.Stop,
		Model:     r.Model,
		Usage:     r.Usage,
	}
	var f *provider.Failure
	if errors.As(err, &f) {
		call.Model = req.Model
		call.Usage = f.Usage
	}
	cost, guessed := c.Cost(call.Model, call.Usage)
	call.Cost = policy.USD(cost)
	call.Assumed = guessed || call.Usage.Assumed > 0
	settled, serr := a.owner.Settle(context.WithoutCancel(ctx), id, call.Cost, call.Assumed)
	if err != nil || serr != nil {
		return r, errors.Join(err, serr)
	}
	call.Beyond = settled.Overspent
	call.Called = slices.ContainsFunc(r.Blocks, func(b message.Block) bool {
		return b.Type == message.ToolCall && b.Name == models.ToolName
	})
	a.report.Calls = append(a.report.Calls, call)
	return r, nil
}

// called reports whether the model called the tool in the last call.
func (a *tryAccount) called() bool {
	n := len(a.report.Calls)
	return n > 0 && a.report.Calls[n-1].Called
}

// MarkTested sets Tested of providers, by the ledger of this user.
func MarkTested(ctx context.Context, p *project.Project, all []*modelhost.State) error {
	return store.WithExisting(ctx, p.Dirs.State, p.Env.Now, func(s *store.Store) error {
		tested, err := s.Tested(ctx, tryKind)
		for _, state := range all {
			state.Tested = slices.Contains(tested[state.Ref], contentDigest(state.Item).String())
		}
		return err
	})
}
