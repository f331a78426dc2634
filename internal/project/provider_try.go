package project

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/provider"
	"github.com/ryeos/rye/threads/store"
)

// TryCall is one call that TryProvider made.
type TryCall struct {
	Purpose   string        `json:"purpose"` // answer or tool_call
	LatencyMS int64         `json:"latency_ms"`
	Stop      message.Stop  `json:"stop"`
	Model     string        `json:"model"` // that answered
	Usage     message.Usage `json:"usage"`
	Cost      policy.USD    `json:"cost"`
	Assumed   bool          `json:"assumed,omitempty"`
	Called    bool          `json:"called,omitempty"` // the model called the tool
}

// TryReport is what TryProvider found.
type TryReport struct {
	Provider string     `json:"provider"`
	Model    string     `json:"model"`
	Thread   string     `json:"thread_id"` // of the ledger
	Worst    policy.USD `json:"reserved"`  // the most that all calls could cost
	Calls    []TryCall  `json:"calls"`
}

// TryOptions are the parameters of TryProvider.
type TryOptions struct {
	Model string // "" is the cheapest tier
	// Confirm asks the user before calls that can cost that much. An error ends the try.
	Confirm func(worst policy.USD) error
	Ask     exec.Ask
}

// TryProvider makes one call with one output token, and one that calls a tool. Both are
// in the ledger, as calls of a thread are.
func (p *Project) TryProvider(ctx context.Context, s *ProviderState, o TryOptions) (*TryReport, error) {
	if err := s.Check("trying"); err != nil {
		return nil, err
	}
	m, err := p.tryModel(ctx, s, o.Model)
	if err != nil {
		return nil, err
	}
	t := &providerTry{p: p, state: s, model: m, o: o, report: &TryReport{Provider: s.Ref, Model: m.ID, Calls: []TryCall{}}}
	e := p.Executor.WithProvider(t.run)
	chain, err := e.Chain(ctx, s.item.Ref)
	if err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, tryKey{}, t)
	plan, err := e.Plan(ctx, chain, policy.Person(), nil)
	if err != nil {
		return nil, err
	}
	plan.Ask = o.Ask
	_, err = e.Run(ctx, plan, nil)
	if len(t.report.Calls) == 0 {
		return nil, err
	}
	return t.report, err
}

// tryModel returns the named model, else that of the first tier, else the first one
// that the allowance permits.
func (p *Project) tryModel(ctx context.Context, s *ProviderState, named string) (*provider.Model, error) {
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return nil, err
	}
	if named != "" {
		m, err := s.config.Model(named)
		if err == nil && !a.AllowsModel(named) {
			err = diag.New(diag.PolicyDenied, "trying the model %s: models of config:%s does not permit it", named, policy.AllowanceID)
		}
		return m, err
	}
	var names []string
	for _, tier := range []string{"fast", "general", "high", "max"} {
		names = append(names, s.Tiers[tier])
	}
	i := slices.IndexFunc(append(names, s.Models...), func(name string) bool { return name != "" && a.AllowsModel(name) })
	return s.config.Model(append(names, s.Models...)[i]) // a usable provider has one
}

// providerTry is a try in progress.
type providerTry struct {
	p      *Project
	state  *ProviderState
	model  *provider.Model
	o      TryOptions
	report *TryReport
	owner  *store.Owner
}

type tryKey struct{}

const tryTool = "report"

// NotCalled is the reason of the error if the model answered and did not call the tool.
const NotCalled = "tool_not_called"

// requests returns the calls of a try by their purpose.
func (t *providerTry) requests() []message.Request {
	ask := func(text string, most int64, tools ...message.ToolDef) message.Request {
		return message.Request{
			Model: t.model.ID, Messages: []message.Message{{Role: message.User, Blocks: []message.Block{{Type: message.Text, Text: text}}}},
			Tools: tools, MaxOutput: min(most, t.model.MaxOutput), Effort: "none",
		}
	}
	out := []message.Request{ask("Say ok.", 1)}
	if t.model.CallsTools {
		out = append(out, ask("Call the tool report with the word ok.", 512, message.ToolDef{
			Name: tryTool, Description: "Reports one word.",
			Schema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`),
		}))
	}
	return out
}

// run makes the calls, with the address and the credential of the item.
func (t *providerTry) run(ctx context.Context, in exec.ProviderCall) (map[string]any, error) {
	c := *t.state.config
	c.Send = in.Send
	return t.make(ctx, &c, func(ctx context.Context, req message.Request) (message.Response, error) { return c.Call(ctx, req, nil) })
}

// make makes the calls of a try by a function.
func (t *providerTry) make(ctx context.Context, c *provider.Config, send func(context.Context, message.Request) (message.Response, error)) (map[string]any, error) {
	requests := t.requests()
	amounts := make([]policy.USD, len(requests))
	for i, req := range requests {
		worst, err := c.WorstCase(req, nil)
		if err != nil {
			return nil, err
		}
		amounts[i] = policy.USD(worst.Amount)
		t.report.Worst += amounts[i]
	}
	if err := t.o.Confirm(t.report.Worst); err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, store.Dir(t.p.Dirs.State), store.Params{Now: t.p.Env.Now})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := t.register(ctx, s); err != nil {
		return nil, err
	}
	for i, req := range requests {
		if err = t.call(ctx, c, req, amounts[i], send); err != nil {
			break
		}
	}
	state := "completed"
	if err != nil {
		state = "error"
	}
	err = errors.Join(err, t.owner.Release(context.WithoutCancel(ctx), state, string(diag.CodeOf(err))))
	return map[string]any{"success": err == nil}, err
}

func (t *providerTry) register(ctx context.Context, s *store.Store) error {
	a, _, err := t.p.Allowance(ctx)
	if err != nil {
		return err
	}
	t.report.Thread = graph.NewID("provider-test", t.p.Env.Now())
	t.owner, err = s.Register(ctx, store.Thread{
		ID: t.report.Thread, Project: t.p.Spaces.ProjectDir, Kind: "test", Ref: t.state.Ref, Digest: t.state.item.Digest.String(), Model: t.model.ID,
	}, store.Budget{Max: t.report.Worst, Periods: a.Spend})
	return err
}

// call makes one call: reserved before it, and settled whatever comes.
func (t *providerTry) call(ctx context.Context, c *provider.Config, req message.Request, amount policy.USD, send func(context.Context, message.Request) (message.Response, error)) error {
	purpose := "answer"
	if len(req.Tools) > 0 {
		purpose = "tool_call"
	}
	id := t.report.Thread + "/" + purpose
	if err := t.owner.Reserve(ctx, id, t.model.ID, amount); err != nil {
		return err
	}
	began := time.Now()
	r, err := send(ctx, req)
	call := TryCall{Purpose: purpose, LatencyMS: time.Since(began).Milliseconds(), Stop: r.Stop, Model: r.Model, Usage: r.Usage}
	var f *provider.Failure
	if errors.As(err, &f) {
		call.Model, call.Usage = t.model.ID, f.Usage
		err = f.Err
	}
	cost, guessed := c.Cost(call.Model, call.Usage)
	call.Cost, call.Assumed = policy.USD(cost), guessed || call.Usage.Assumed > 0
	settled, serr := t.owner.Settle(context.WithoutCancel(ctx), id, call.Cost, call.Assumed)
	if err = errors.Join(err, serr, settled.Err()); err != nil {
		return err
	}
	call.Called = slices.ContainsFunc(r.Blocks, func(b message.Block) bool { return b.Type == message.ToolCall && b.Name == tryTool })
	t.report.Calls = append(t.report.Calls, call)
	if purpose == "tool_call" && !call.Called {
		return diag.New(diag.ExecutionFailed, "trying %s: the model %s answered without calling the tool, so it cannot do the work of a directive", t.state.Ref, t.model.ID).WithReason(NotCalled)
	}
	return nil
}
