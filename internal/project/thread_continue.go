package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/steps"
)

// coordination returns config:agent/coordination.
func (p *Project) coordination(ctx context.Context) (steps.Coordination, error) {
	s, err := p.Resolver.Config(ctx, steps.CoordinationConfig)
	if err != nil {
		return steps.Coordination{}, err
	}
	cfg := tree.NewReader(&tree.Doc{Root: s.Root}, diag.ConfigError)
	out := steps.ReadCoordination(cfg)
	return out, diag.FromFindings("reading config:"+steps.CoordinationConfig, cfg.Findings())
}

// goesOn names the thread that goes on, with a summary of the conversation. If no summary
// can be made, the newest turns alone are carried.
func (r *threadRun) goesOn(ctx context.Context, t *threads.Thread) (*threads.Next, error) {
	cfg, err := r.p.coordination(ctx)
	if err != nil {
		return nil, err
	}
	next := &threads.Next{ID: graph.NewID(r.Item.Ref.ID, r.p.Env.Now()), Turns: cfg.CarryTokens}
	s, err := r.summary(ctx, t, &cfg)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s != nil {
		next.Thread, next.Spend = s.ThreadID, s.Cost.Spend
	}
	if err != nil || s == nil || s.Status != threads.Completed || strings.TrimSpace(s.Text) == "" {
		next.Failed = true
		return next, nil
	}
	root, err := r.p.Resolver.Config(ctx, steps.AgentConfig)
	if err != nil {
		return nil, err
	}
	next.Text, err = steps.SummaryText(root.Root, cfg.SummaryDirective, s.Text)
	next.Tokens = int64(len(s.Text)+3) / 4
	return next, err
}

// summary runs the directive that summarizes, as a thread below this one: with an account
// of its own in that of the chain. One that a stopped process began is continued.
func (r *threadRun) summary(ctx context.Context, t *threads.Thread, cfg *steps.Coordination) (*threads.Result, error) {
	most, err := policy.ParseUSD(cfg.SummarySpend)
	if err != nil {
		return nil, diag.New(diag.ConfigError, "reading config:%s: continuation.summary_spend: %w", steps.CoordinationConfig, err)
	}
	id := "summary" + t.ID()[strings.LastIndexByte(t.ID(), '-'):]
	begun, err := threads.ReadStarted(r.p.Spaces.ProjectDir, id)
	switch {
	case err == nil:
		most = begun.Limits.Spend
	case diag.CodeOf(err) != diag.ThreadNotFound:
		return nil, err
	default:
		left, err := r.money.Left(ctx)
		if err != nil {
			return nil, err
		}
		most = min(most, left)
	}
	params, err := r.summaryParams(ctx, t, cfg, id, most)
	if err != nil {
		return nil, err
	}
	switch {
	case begun == nil:
		return threads.Start(ctx, id, params)
	case begun.State != threads.Completed:
		return threads.Resume(ctx, id, params, "")
	}
	// Its process can have been stopped before it closed the account. If the rest of the
	// account went back, there may be no money to reserve it again, and no need.
	if err := threads.Mark(ctx, id, threads.Failed, params); err != nil && diag.CodeOf(err) != diag.BudgetExceeded {
		return nil, err
	}
	return threads.ReadResult(r.p.Spaces.ProjectDir, id)
}

// summaryParams prepares the thread that summarizes: with the model of the tier that its
// directive names, of the same provider, else with that of this thread.
func (r *threadRun) summaryParams(ctx context.Context, t *threads.Thread, cfg *steps.Coordination, id string, most policy.USD) (threads.Params, error) {
	ref, err := item.ParseRef(cfg.SummaryDirective, item.Directive)
	if err != nil {
		return threads.Params{}, err
	}
	s := t.Service()
	o := &ThreadOptions{
		ID: id, Ref: ref, Held: r.o.Held, Params: map[string]any{"conversation": readable(t.Conversation(), s.Window)},
		Limits: []string{"spend=" + most.String()}, Provider: s.Provider.ID, NoSuspend: true,
	}
	prepared, err := r.p.PrepareThread(ctx, o)
	if err != nil {
		o.Model = s.Model
		if prepared, err = r.p.PrepareThread(ctx, o); err != nil {
			return threads.Params{}, err
		}
	}
	sub := &threadRun{PreparedThread: prepared, p: r.p, o: o, id: id}
	params, err := sub.params(ctx)
	params.Continue = nil
	params.Account = func(ctx context.Context, _ string, limit policy.USD) (threads.Ledger, error) {
		owner, err := r.money.Child(ctx, sub.stored(), limit)
		if err != nil {
			return nil, err
		}
		return summaryAccount{&threadAccount{Owner: owner}, r.money}, nil
	}
	return params, err
}

// summaryAccount is the account of a thread that summarizes: it ends with the token of the
// thread above it.
type summaryAccount struct {
	*threadAccount
	above *threadAccount
}

// Reserve implements threads.Ledger.
func (a summaryAccount) Reserve(ctx context.Context, id, model string, amount policy.USD) error {
	if err := a.above.permitted(ctx); err != nil {
		return err
	}
	return a.threadAccount.Reserve(ctx, id, model, amount)
}

// readable renders a conversation for the model that summarizes it, with at most as many
// bytes as its window has tokens. What is too long loses its middle.
func readable(messages []message.Message, window int64) string {
	var b strings.Builder
	for _, m := range messages {
		for _, block := range m.Blocks {
			switch block.Type {
			case message.Text:
				fmt.Fprintf(&b, "%s: %s\n\n", m.Role, block.Text)
			case message.ToolCall:
				fmt.Fprintf(&b, "call %s: %s\n\n", block.Name, block.Input)
			case message.ToolResult:
				for _, c := range block.Content {
					fmt.Fprintf(&b, "result: %s\n\n", middleCut(c.Text, 4000))
				}
			}
		}
	}
	return middleCut(b.String(), int(cmp.Or(window, 32_000)))
}

func middleCut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most/2], "") + "\n[…]\n" + strings.ToValidUTF8(s[len(s)-most/2:], "")
}

// follow runs the threads that go on, each in this process, until one of them rests
// otherwise.
func (r *threadRun) follow(ctx context.Context, res *threads.Result, err error) (*threads.Result, error) {
	for err == nil && res.Status == threads.Continued {
		o := *r.o
		if r.again {
			o.Message = "" // it is a part of the conversation
		}
		next := &threadRun{PreparedThread: r.PreparedThread, p: r.p, o: &o, id: res.ContinuedBy, money: r.money, carried: res.Carried()}
		r = next
		res, err = r.start(ctx)
	}
	return res, err
}

// followed starts the thread and those that go on after it.
func (r *threadRun) followed(ctx context.Context) (*threads.Result, error) {
	res, err := r.start(ctx)
	return r.follow(ctx, res, err)
}

// start begins a thread that goes on where another one of its chain ended.
func (r *threadRun) start(ctx context.Context) (*threads.Result, error) {
	params, err := r.params(ctx)
	if err != nil {
		if r.money != nil {
			err = errors.Join(err, r.money.Release(context.WithoutCancel(ctx), threads.Failed, string(diag.CodeOf(err))))
		}
		return nil, err
	}
	if r.o.Started != nil {
		p := *r.PreparedThread
		p.Before = r.carried.Cost
		r.o.Started(&p, r.id)
	}
	return threads.Start(ctx, r.id, params)
}

// ThreadChain returns the threads of a chain, from its root.
func (p *Project) ThreadChain(id string) ([]threads.Link, error) {
	return threads.Chain(p.Spaces.ProjectDir, id)
}

// EndOfChain returns the last thread of the chain of a thread that has a log. A run of a
// graph is its own chain.
func (p *Project) EndOfChain(id string) string {
	return endOfChain(p.Spaces.ProjectDir, id)
}

func endOfChain(project, id string) string {
	links, err := threads.Chain(project, id)
	if err != nil {
		return id
	}
	return links[len(links)-1].ID
}

// chainRoot returns the thread whose account the chain of a thread has.
func chainRoot(project, id string) string {
	if s, err := threads.ReadStarted(project, id); err == nil && s.Carried != nil {
		return s.Carried.Root
	}
	return id
}

// pendingNext returns the thread that goes on after the last one of a chain and has no log
// yet: its process was stopped. It is nil if there is none.
func (p *Project) pendingNext(id string) (*threads.Link, error) {
	links, err := threads.Chain(p.Spaces.ProjectDir, id)
	if err != nil {
		return nil, err
	}
	if last := links[len(links)-1]; last.Next != "" && last.Carried != nil {
		return &last, nil
	}
	return nil, nil
}

// handsOff returns the last thread of a chain, if another one can go on with its work.
func (p *Project) handsOff(id string) (string, error) {
	links, err := p.ThreadChain(id)
	if err != nil {
		return "", err
	}
	last := links[len(links)-1]
	switch {
	case last.Next == "" && (last.Turns == 0 || len(links) > 1 && last.Turns == links[len(links)-2].Turns):
		return "", diag.New(diag.ThreadState, "handing off %s: its model has not answered yet", last.ID).WithReason("ended").WithDetail("state", last.State)
	case !slices.Contains([]string{threads.Suspended, threads.Failed, threads.Cancelled, threads.Killed, threads.Running}, last.State):
		return "", diag.New(diag.ThreadState, "handing off %s: it is %s", last.ID, last.State).WithReason("ended").WithDetail("state", last.State)
	}
	return last.ID, nil
}

// HandOff ends a thread that no process runs and has another one go on with its work.
func (p *Project) HandOff(ctx context.Context, id string, o *ThreadOptions) (*threads.Result, error) {
	last, err := p.handsOff(id)
	if err != nil {
		return nil, err
	}
	o.handOff = true
	return p.ContinueThread(ctx, last, o)
}
