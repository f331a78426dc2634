package threadhost

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/copies"
	"github.com/ryeos/rye/threads/heads"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/prepare"
	"github.com/ryeos/rye/threads/records"
	"github.com/ryeos/rye/threads/steps"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/transcript"
)

// Start runs a directive with a model until the thread ends or is suspended.
func Start(
	ctx context.Context,
	p *project.Project,
	o *Options,
) (res *threads.Result, err error) {
	if p, err = project.InAccount(p); err != nil {
		return nil, err
	}
	if o.Follows != "" && o.follows == nil { // in the process of the thread
		if o.follows, err = threads.Follow(p.Spaces.ProjectDir, o.Follows, o.Text); err != nil {
			return nil, err
		}
	}
	prepared, err := prepare.Directive(ctx, p, o.Request())
	if err != nil {
		return nil, err
	}
	if o.Token != nil {
		if err := o.Token.For(prepared.Item.Digest); err != nil {
			return nil, err
		}
		if err := asChild(ctx, p, o, prepared); err != nil {
			return nil, err
		}
	}
	o.Decide, o.Ask = oneQuestion(o.Decide, o.Ask)
	r := &Run{
		Prepared: prepared,
		Options:  o,
		id: cmp.Or(o.ID, graph.NewID(
			prepared.Item.Ref.ID,
			p.Env.Now(),
		)),
		carried: o.follows,
	}
	if r.Project, err = copies.WorksIn(ctx, p, o.Wish(), r.id); err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, copies.DropUnused(ctx, r.Project, r.id))
	}()
	if err := r.Project.PrepareAccount(); err != nil {
		return nil, err
	}
	if r.attachments, err = Attachments(ctx, r.Project, o, prepared); err != nil {
		return nil, err
	}
	if o.Below != nil {
		return r.startBelow(ctx)
	}
	params, err := r.params(ctx)
	if err != nil {
		return nil, err
	}
	if o.Started != nil {
		o.Started(prepared, r.id)
	}
	res, err = threads.Start(ctx, r.id, params)
	return r.end(ctx)(r.follow(ctx, res, err))
}

// end returns a function that adds the end of the thread's children to the result of the thread.
func (r *Run) end(ctx context.Context) func(*threads.Result, error) (*threads.Result, error) {
	return func(res *threads.Result, err error) (*threads.Result, error) {
		if res == nil {
			return nil, err
		}
		own := r.describe(res)
		err = errors.Join(err, control.Rested(
			ctx, r.Project,
			r.Stored().ID,
			res.Status,
		))
		r.record(ctx, own)
		return res, err
	}
}

// startBelow starts the thread as the child of a run.
func (r *Run) startBelow(ctx context.Context) (*threads.Result, error) {
	below := r.Options.Below
	r.id = below.call.Child.Run
	limits, err := below.admit(ctx, r.registered(), r.Limits)
	if err != nil {
		return nil, err
	}
	r.Limits = limits
	params, err := r.params(ctx)
	if err != nil {
		return nil, errors.Join(err, below.unused(ctx))
	}
	res, err := r.end(ctx)(threads.Start(ctx, r.id, params))
	return res, errors.Join(err, below.unused(ctx))
}

// params returns the parameters of the kernel.
func (r *Run) params(ctx context.Context) (threads.Params, error) {
	r.Project = r.Project.For(r)
	p := r.Project
	signer, err := p.Keys.RuntimeKey(ctx)
	if err != nil {
		return threads.Params{}, err
	}
	if err := r.loadHooks(ctx); err != nil {
		return threads.Params{}, err
	}
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return threads.Params{}, err
	}
	r.headless = a.Approvals.Headless
	source, err := eventSources(ctx, p)
	if err != nil {
		return threads.Params{}, err
	}
	loopSteps, err := LoopSteps(ctx, p, r.Loop)
	if err != nil {
		return threads.Params{}, err
	}
	m := r.Directive.Model
	out := threads.Params{
		Project:     p.Spaces.ProjectDir,
		Parent:      r.parent(),
		Spawned:     r.Options.Child,
		Program:     p.Env.Version,
		Signer:      signer,
		Keys:        p.Keys.RuntimePublic,
		Heads:       heads.Dir(p.Dirs.State),
		Now:         p.Env.Now,
		PID:         os.Getpid(),
		Directive:   r.identity(),
		Held:        r.Held,
		Limits:      r.Limits,
		Services:    r.Services,
		MaxOutput:   r.MaxOutput,
		MinOutput:   r.MinOutput,
		Effort:      m.Effort,
		MaxAttempts: r.Attempts,
		Message:     r.Options.Message,
		ResumedBy:   r.Options.By,
		Workspace:   copies.WorkingCopy(p),
		Account:     r.account,
		Loop:        r.walkLoop,
		Number:      r.number,
		LoopItem:    prepare.IdentityOf(r.Loop),
		Steps:       loopSteps,
		Changes:     r.changes,
		Execute:     r.executeProvider,
		Guard:       r.guard,
		Repeatable:  r.repeatable,
		Check:       r.check,
		Source:      source,
		Observe:     r.Options.Observe,
		NoSuspend:   !r.suspends(),
		Revoked:     r.revoked,
		Carried:     r.carried,
		Interactive: r.Options.Interactive,
		Decided:     r.decided,
		Took:        r.took,
	}
	watch := control.WatchWaiting(ctx, p)
	out.Observe = func(l transcript.Line) {
		watch(r.id, &l)
		if r.Options.Observe != nil {
			r.Options.Observe(l)
		}
	}
	out.Attachments = r.attachments
	out.Attached = r.attached
	out.ForModel = r.forModel
	if r.Options.Below == nil { // a run knows the thread of its node by one id
		out.Continue = r.goesOn
	}
	if r.Options.Replay != nil {
		// A thread that continues this one would ask a model for a summary.
		out.Replay = r.Options.Replay
		out.Execute = replayProvider
		out.Continue = nil
		out.Observe = r.Options.Observe
	}
	secrets := records.Redactor(p, r.Keys)
	out.Redact = secrets.Bytes
	out.RedactText = func() threads.TextFilter {
		return secrets.Text()
	}
	b, err := openat.ReadRegular(filepath.Join(p.Spaces.ProjectDir, lock.LockFile), lock.MaxLock)
	if err == nil {
		out.Lock = item.DigestOf(b).String()
	}
	return out, nil
}

// KernelParams prepares a thread, and returns the parameters with which the kernel runs it.
func KernelParams(
	ctx context.Context,
	p *project.Project,
	id string,
	o *Options,
) (threads.Params, error) {
	prepared, err := prepare.Directive(ctx, p, o.Request())
	if err != nil {
		return threads.Params{}, err
	}
	r := &Run{
		Prepared: prepared,
		Project:  p,
		Options:  o,
		id:       id,
	}
	if r.attachments, err = Attachments(ctx, p, o, prepared); err != nil {
		return threads.Params{}, err
	}
	return r.params(ctx)
}

// suspends reports whether the thread may rest until a person or a time wakes it. The run of
// a graph waits for its thread, so a thread of a node cannot.
func (r *Run) suspends() bool {
	return !r.Options.NoSuspend && r.Options.Below == nil
}

// parent returns the run whose node started the thread, "" if none did.
func (r *Run) parent() string {
	if r.Options.Below == nil {
		return ""
	}
	return r.Options.Below.call.Child.Parent
}

func (r *Run) identity() threads.Directive {
	it := r.Item
	d := threads.Directive{
		Identity: prepare.IdentityOf(it),
		Version:  it.Meta.Version,
		Signer:   it.Verdict.Signer.String(),
		Owner:    it.Verdict.Owner,
		Inputs:   r.Inputs,
		Outputs:  r.Directive.Outputs,
	}
	for _, b := range r.Bases {
		d.Extends = append(d.Extends, threads.Identity{Ref: b.Ref.String(), Digest: b.Digest})
	}
	for _, c := range r.Directive.Checks {
		d.Checks = append(d.Checks, threads.Check{Tool: c.Tool, Attempts: c.Attempts})
	}
	return d
}

// account opens the account of the thread in the ledger of the user.
func (r *Run) account(
	ctx context.Context,
	_ string,
	limit policy.USD,
) (threads.Ledger, error) {
	if r.Options.Below != nil {
		a, err := r.Options.Below.account(ctx, r.registered(), limit)
		if err != nil {
			return nil, err
		}
		a.Now = r.Project.Env.Now
		r.Account = a
		return a, nil
	}
	if r.Account != nil {
		return r.Account, nil // of the thread before it in the chain
	}
	th := r.registered()
	th.Begins = r.Options.Token != nil &&
		r.Options.Child != nil &&
		(r.carried == nil || r.carried.Follows != "")
	a, err := ledger.OpenAccount(
		ctx, r.Project,
		r.Options.takeLedger(),
		th,
		store.Budget{Max: limit},
	)
	if err != nil {
		return nil, err
	}
	a.Token = r.Options.Token
	a.Now = r.Project.Env.Now
	r.Account = a
	return a, nil
}

// Stored describes the thread for the ledger.
func (r *Run) Stored() store.Thread {
	return store.Thread{
		ID:      r.carried.RootOf(r.id),
		Project: r.Project.Spaces.ProjectDir,
		Kind:    "thread",
		Ref:     r.Ref,
		Digest:  r.Item.Digest.String(),
		Model:   r.Services[0].Model,
		Depth:   r.Limits.Depth,
		Spawns:  r.Limits.Spawns,
	}
}

// registered is stored with the name of the thread.
func (r *Run) registered() store.Thread {
	th := r.Stored()
	th.Name = r.Name(r.Project)
	return th
}

// eventSources returns who may record each event of config:agent/events.
func eventSources(ctx context.Context, p *project.Project) (func(string) string, error) {
	s, err := p.Resolver.Config(ctx, steps.EventsConfig)
	if err != nil {
		return nil, err
	}
	sources := map[string]string{}
	list, _ := s.Root["events"].([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		id, _ := m["id"].(string)
		sources[id], _ = m["source"].(string)
	}
	return func(event string) string { return sources[event] }, nil
}

// repeatable reports whether a call that a stopped process had started may start again.
func (r *Run) repeatable(ctx context.Context, name string) bool {
	ref, err := item.ParseRef(name, item.Tool)
	if err != nil {
		return false
	}
	var it *resolve.Item
	if it, err = r.Project.Resolver.Find(ctx, ref); err != nil {
		return false
	}
	return it.Meta.Fields["idempotent"] == true || it.Meta.Fields["idempotency"] == "key"
}

// Summary summarizes the log of a thread. A thread that no process runs and that has not ended
// was stopped.
func Summary(ctx context.Context, p *project.Project, id string) (*threads.Summary, error) {
	s, err := threads.Summarize(p.Spaces.ProjectDir, id)
	if err == nil &&
		s.State == threads.Running &&
		graph.Owner(ctx, p.Spaces.ProjectDir, id) < 0 {
		// A process that has ended since the log was read has written its end.
		if s, err = threads.Summarize(p.Spaces.ProjectDir, id); err != nil || s.State != threads.Running {
			return s, err
		}
		s.State = threads.Failed
		s.Error = &diag.Failure{Code: diag.ThreadState, Message: "orphaned: its process was stopped; rye threads resume continues it"}
	}
	return s, err
}

// Root returns the thread that began the tree of this one.
func (r *Run) Root() string {
	if r.Options.Child != nil {
		return r.Options.Child.Root
	}
	return r.Stored().ID
}

// asChild reads from the registry where the thread of a token is in its tree, and its
// share: a message that states other limits does not widen them. It does nothing for a
// root.
func asChild(ctx context.Context, p *project.Project, o *Options, prepared *prepare.Prepared) error {
	if o.Token == nil || o.Token.Root == o.Token.Thread {
		return nil
	}
	s := o.Ledger
	if s == nil {
		opened, _, err := ledger.Open(ctx, p)
		if err != nil {
			return err
		}
		defer opened.Close()
		s = opened
	}
	share, err := s.Share(ctx, o.Token.Thread)
	if err != nil {
		return err
	}
	row, err := s.Find(ctx, p.Spaces.ProjectDir, o.Token.Thread)
	if err != nil {
		return err
	}
	o.Child = &threads.Spawned{By: row.Parent, Root: row.Root, Call: o.Call}
	prepared.Limits.Spend = share.Spend
	prepared.Limits.Depth = share.Depth
	prepared.Limits.Spawns = share.Spawns
	return nil
}

// Run is a thread that this project runs.
type Run struct {
	*prepare.Prepared
	Project   *project.Project
	Options   *Options
	id        string
	hooks     []steps.Hook
	guards    []steps.Hook        // hooks of the user, which no item replaces
	guardItem threads.Identity    // the file of the guards
	headless  string              // approvals.headless of the allowance
	Account   *ledger.Account     // nil before the thread has its account
	carried   *threads.Carried    // from the thread that it continues, or nil
	again     bool                // an earlier process began the thread
	changes   []transcript.Change // items that changed since the thread started, when it is resumed
	// attachments are the images and files of the first message, attached those that a person
	// adds by resuming the thread.
	attachments []message.Block
	attached    []message.Block

	mu      sync.Mutex
	claimed map[string]bool // calls of the model that a program makes
	items   stepItems
	live    liveSteps
	starts  startOrder                     // of the threads that the newest answer starts
	acted   atomic.Bool                    // see loopDispatcher
	running atomic.Pointer[threads.Thread] // while its loop walks
	awaits  string                         // the action of the loop when the model has nothing to answer
	began   time.Time                      // of the process
	asking  sync.Map                       // AsksPerson by the id of the call that is being made
}
