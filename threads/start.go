package threads

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// Result is the end of a thread, or its rest.
type Result struct {
	ThreadID string         `json:"thread_id"`
	Status   string         `json:"status"`
	Outputs  map[string]any `json:"outputs"`
	Text     string         `json:"text"`
	Error    *diag.Failure  `json:"error,omitempty"`
	Cost     Cost           `json:"cost"`
	Model    string         `json:"model"`
	// Suspended is set if Status is Suspended.
	Suspended *Suspension `json:"suspended,omitempty"`
	// ContinuedBy is the thread that continues if Status is Continued.
	ContinuedBy string `json:"continued_by,omitempty"`

	carried *Carried
}

// ResultFile is the file with the result of a thread that has ended.
const ResultFile = "result.json"

// Start runs a new thread with an id until it ends or is suspended. A thread that ends in the
// state error has an error and a Result.
func Start(ctx context.Context, id string, p Params) (*Result, error) {
	t := newThread(id, p)
	log, err := transcript.Create(ctx, t.logParams())
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	t.log = log
	if err := t.storeAttachments(); err != nil {
		return nil, err
	}
	if t.money, err = p.Account(ctx, id, p.Limits.Spend); err != nil {
		return nil, err
	}
	d := t.startData()
	if p.Number != nil {
		d.Number, err = p.Number(ctx, id)
	}
	if err == nil {
		err = t.record(ctx, true, evStarted, d)
	}
	if err != nil {
		return nil, errors.Join(err, t.money.Release(context.WithoutCancel(ctx), Failed, ""))
	}
	return t.walk(ctx, nil)
}

// logParams are the parameters of the log.
func (t *Thread) logParams() transcript.Params {
	return transcript.Params{
		Project: t.p.Project,
		ID:      t.id,
		Signer:  t.p.Signer,
		Now:     t.p.Now,
		Keys:    t.p.Keys,
		Heads:   t.p.Heads,
		Redact:  t.p.Redact,
		Written: t.written,
	}
}

func newThread(id string, p Params) *Thread {
	if p.Now == nil {
		p.Now = time.Now
	}
	t := &Thread{
		p:       p,
		id:      id,
		results: map[string]*recordedResult{},
		started: map[string]bool{},
		byKey:   map[string]*answer{},
		asides:  map[string]*aside{},
		made:    map[string]int{},
		waiting: map[string]*asked{},
		tries:   map[string]int64{},
		open:    map[string]reservation{},
		skip:    map[string]int{},
		sent:    map[string]bool{},
	}
	t.began = p.Now()
	p.Carried.begin(t)
	return t
}

func (t *Thread) startData() startedData {
	s := t.p.Services[0]
	d := startedData{
		Directive:   t.p.Directive.Identity,
		Version:     t.p.Directive.Version,
		Signer:      t.p.Directive.Signer,
		Extends:     t.p.Directive.Extends,
		Inputs:      t.p.Directive.Inputs,
		Loop:        t.p.LoopItem,
		Steps:       t.p.Steps,
		Model:       s.Model,
		Provider:    Identity{Ref: s.Provider.String(), Digest: s.Digest},
		Limits:      t.p.Limits,
		Workspace:   t.p.Workspace,
		Sandbox:     t.p.Sandbox,
		Lock:        t.p.Lock,
		Program:     t.p.Program,
		PID:         t.p.PID,
		Owner:       t.p.Directive.Owner,
		Attempts:    t.p.MaxAttempts,
		Carried:     t.p.Carried,
		Spawned:     t.p.Spawned,
		Attachments: t.p.Attachments,
		Interactive: t.p.Interactive,
	}
	if t.p.Parent != "" {
		d.Parent = &t.p.Parent
	}
	if t.p.Replay != nil {
		d.Replay = t.p.Replay.ID
	}
	if d.Extends == nil {
		d.Extends = []Identity{}
	}
	if d.Steps == nil {
		d.Steps = []Identity{}
	}
	for _, h := range t.p.Held {
		set := heldSet{Source: h.Source, Caps: []string{}, Profile: h.Profile}
		for _, c := range h.Caps {
			set.Caps = append(set.Caps, string(c))
		}
		d.Held = append(d.Held, set)
	}
	return d
}

// walk runs the loop within the time of the thread, and records the end.
func (t *Thread) walk(ctx context.Context, lines []transcript.Line) (*Result, error) {
	owning, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	t.stop = lose
	defer t.money.Keep(ctx, func(err error) {
		if diag.CodeOf(err) == diag.ThreadState {
			t.log.Abandon(err)
		}
		lose(err)
	})()
	within, cancel := t.within(owning)
	defer cancel()
	err := t.p.Loop(within, t, t.log, lines)
	if err == nil {
		err = t.prepareNext(within)
	}
	cause := context.Cause(owning)
	switch {
	case owning.Err() == nil || ctx.Err() != nil:
	case diag.CodeOf(cause) == diag.ThreadState:
		return nil, diag.Doing("running "+t.id, cause) // the log is of another process
	default:
		return t.end(context.WithoutCancel(ctx), false, cause)
	}
	if within.Err() != nil && ctx.Err() == nil {
		t.mu.Lock()
		err = t.limited(ctx, t.timeOver())
		t.mu.Unlock()
	}
	return t.end(context.WithoutCancel(ctx), ctx.Err() != nil, err)
}

// within returns a context that ends when the time of the thread is over.
func (t *Thread) within(ctx context.Context) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	t.mu.Lock()
	t.limit = time.AfterFunc(
		max(t.timeLeft(), 0),
		func() { cancel(context.DeadlineExceeded) },
	)
	limit := t.limit
	t.mu.Unlock()
	return overtime{inner, ctx}, func() { limit.Stop(); cancel(nil) }
}

// overtime is a context whose error is DeadlineExceeded when the time of a thread is over.
type overtime struct {
	context.Context
	outer context.Context
}

// Err implements context.Context.
func (o overtime) Err() error {
	if errors.Is(context.Cause(o.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return o.Context.Err()
}

// AfterFunc has derived contexts watch the context inside without a goroutine.
func (o overtime) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(o.Context, f)
}

// Value implements context.Context. It does not return the context inside, so that derived
// contexts get the error of Err.
func (o overtime) Value(key any) any {
	return o.outer.Value(key)
}

// timeOver is the end of a thread at its duration. It has no hooks: no time is left for them.
func (t *Thread) timeOver() error {
	return exceeded(
		diag.LimitExceeded,
		t.id,
		"duration_seconds",
		int64(t.elapsed()/time.Second),
		t.p.Limits.DurationSeconds,
	)
}

// Ending is how the loop ends the thread. The kernel accepts it within what happened:
// outputs must be those that the model returned.
type Ending struct {
	State   string
	Text    string
	Code    diag.Code
	Message string
	Details map[string]any
	Suspend *Suspension // of a thread that is suspended
}

// Ends records how the loop wants to end the thread.
func (t *Thread) Ends(e Ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ending = &e
}

// end records the last event, its checkpoint and the result.
func (t *Thread) end(ctx context.Context, cancelled bool, err error) (*Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if merr := t.missedBefore(ctx); merr != nil {
		err = errors.Join(err, merr)
	}
	r := &Result{
		ThreadID: t.id,
		Status:   Completed,
		Cost:     t.cost(),
		Model:    t.p.Services[t.service].Model,
	}
	if a := t.lastAnswer(); a != nil {
		r.Text = a.resp.Text()
	}
	cancelled = cancelled ||
		diag.CodeOf(err) == diag.Cancelled ||
		errors.Is(err, context.Canceled)
	switch {
	case cancelled:
		r.Status = Cancelled
		err = diag.New(diag.Cancelled, "running %s: cancelled", t.p.Directive.Ref).
			WithReason("thread_resume").
			WithDetail("thread_id", t.id)
	case err != nil:
	case t.done && !t.waits():
		r.Outputs = t.returned
	default:
		if err = t.judge(r); diag.CodeOf(err) == diag.Cancelled {
			r.Status = Cancelled
			cancelled = true
			err = diag.Typed(err).WithDetail("thread_id", t.id)
		}
	}
	if err != nil && !cancelled {
		r.Status = Failed
		e := diag.Doing("running "+t.p.Directive.Ref, err)
		err = e.WithDetail("thread_id", t.id)
	}
	if err != nil {
		r.Error = failureOf(err)
	}
	return r, errors.Join(t.rest(ctx, r), err)
}

// waits reports whether the loop suspends the thread, which it can also do when the model has
// returned the outputs: a person may want to see them.
func (t *Thread) waits() bool {
	return t.ending != nil && t.ending.State == Suspended
}

// localServer is the reason of a failed call whose hint needs the address: nothing
// listens there.
// No attempt is repeated for an address of this machine: 15 s would only state that nothing
// listens.
const localServer = "local_server"

// judge decides about a loop that ended without directive_return.
func (t *Thread) judge(r *Result) error {
	e := t.ending
	if e == nil {
		e = &Ending{State: Completed}
	}
	if e.Text != "" {
		r.Text = e.Text
	}
	switch {
	case e.State == Cancelled:
		return diag.New(diag.Cancelled, "running %s: cancelled", t.p.Directive.Ref)
	case e.State == Suspended:
		return t.suspended(r, e.Suspend)
	case e.State == Continued && t.next != nil:
		r.Status = Continued
		return nil
	case e.State == Continued && t.p.Replay != nil:
		return diag.New(diag.ReplayMismatch, "replaying %s: the window of the model is full, and a replay does not continue in another thread", t.p.Replay.ID).
			WithDetail("recording", t.p.Replay.ID)
	case e.State == Continued:
		return e.full()
	case e.State != Completed:
		code := e.Code
		if _, known := diag.Lookup(code); !known {
			code = diag.ExecutionFailed
		}
		if code == diag.CodeOf(t.refused) {
			return t.refused // the limit that the kernel found, with its figures
		}
		out := diag.New(code, "%s", e.Message)
		for k, v := range e.Details {
			out.WithDetail(k, v)
		}
		e := diag.Typed(t.lastErr)
		if e != nil && e.Code == code && e.Reason == localServer {
			out.
				WithReason(e.Reason).
				WithDetail("address", e.Details["address"]).
				WithDetail("provider", e.Details["provider"])
		}
		return out
	case t.Declared():
		return diag.New(diag.ValidationFailed, "the loop ended without directive_return, which the outputs of the directive need")
	case t.lastAnswer() == nil:
		return diag.New(diag.ExecutionFailed, "the loop ended without a call of the model")
	}
	return nil
}

func failureOf(err error) *diag.Failure {
	e := diag.Typed(err)
	return &diag.Failure{
		Code:      e.Code,
		Message:   e.Error(),
		Retryable: e.Retryable,
		Details:   e.Details,
	}
}

// rest writes the last event and the result, and closes the account.
func (t *Thread) rest(ctx context.Context, r *Result) error {
	switch r.Status {
	case Suspended:
		return t.pause(ctx, r)
	case Continued:
		return t.restContinued(ctx, r)
	}
	event := map[string]string{
		Completed: evCompleted,
		Failed:    evFailed,
		Cancelled: evCancelled,
		Killed:    evKilled,
	}[r.Status]
	d := endData{Cost: r.Cost, Outputs: r.Outputs, Error: r.Error}
	if r.Outputs == nil {
		d.Text = r.Text
	}
	raw, err := t.clean(d)
	if err != nil {
		return err
	}
	if err := t.log.Rest(ctx, event, raw); err != nil {
		return err
	}
	released := t.money.Release(ctx, r.Status, restReason(r.Status, r.Error))
	return errors.Join(t.writeResult(r), released)
}

func (t *Thread) writeResult(r *Result) error {
	b, err := jsonx.Marshal(r)
	if err != nil {
		return diag.New(diag.Internal, "writing the result of %s: %w", t.id, err)
	}
	if t.p.Redact != nil {
		b = t.p.Redact(b)
		stored := Result{carried: r.carried} // what is printed is what is stored
		if err := jsonx.Decode(b, &stored); err != nil {
			return diag.New(diag.Internal, "writing the result of %s: %w", t.id, err)
		}
		if r.Suspended != nil && stored.Suspended != nil {
			stored.Suspended.Wait = r.Suspended.Wait
		}
		*r = stored
	}
	return transcript.Base(t.p.Project, t.id).Replace(ResultFile, append(b, '\n'), 0o600)
}

// Event is an event of a step.
type Event struct {
	Event string
	Data  map[string]any
}

// Step records the events of a step and takes them into the conversation. Those that a
// process before a crash recorded for the same step are not recorded again.
func (t *Thread) Step(ctx context.Context, node string, id Identity, events []Event) error {
	events, err := t.keptEvents(ctx, events)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.steps, id) {
		t.steps = append(t.steps, id)
	}
	for _, e := range events {
		if t.p.Source(e.Event) != "step" {
			return diag.New(diag.ValidationFailed, "recording the events of %s: a step may not record %q", id.Ref, e.Event).
				WithDetail("event", e.Event)
		}
		if t.skip[node] > 0 {
			t.skip[node]--
			continue
		}
		if err := t.step(ctx, id, e); err != nil {
			return err
		}
	}
	return nil
}

func (t *Thread) step(ctx context.Context, id Identity, e Event) error {
	raw, err := t.clean(e.Data)
	if err != nil {
		return err
	}
	bad := func(err error) error {
		return diag.New(diag.ValidationFailed, "recording the event %s of %s: %w", e.Event, id.Ref, err)
	}
	switch e.Event {
	case evError:
		if err := t.classified(ctx, raw); err != nil {
			return bad(err)
		}
		return nil
	case evAdded:
		var d addedData
		if err := json.Unmarshal(raw, &d); err != nil {
			return bad(err)
		}
		d.Role = message.User // a step cannot put words into the model's mouth
		t.add(&d)
		return t.record(ctx, false, e.Event, d)
	}
	return t.record(ctx, false, e.Event, json.RawMessage(raw))
}

// Compose records what the model reads first. What the log has stays.
func (t *Thread) Compose(ctx context.Context, p *Prompt) error {
	kept, err := t.kept(ctx, p.Message.Blocks)
	if err != nil {
		return err
	}
	p.Message.Blocks = kept
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.prompt != nil {
		return nil
	}
	raw, err := t.clean(p)
	if err != nil {
		return err
	}
	recorded := &Prompt{} // the model reads what the log has
	if err := json.Unmarshal(raw, recorded); err != nil {
		return diag.New(diag.Internal, "recording the prompt of %s: %w", t.id, err)
	}
	t.prompt = recorded
	t.grow(recorded)
	t.growMedia(recorded.Message.Blocks)
	return t.record(ctx, true, evPrompt, json.RawMessage(raw))
}

func (t *Thread) add(d *addedData) {
	t.entries = append(t.entries, entry{message: message.Message{Role: message.User, Blocks: d.Blocks}, source: d.Source})
	t.grow(d.Blocks)
	t.growMedia(d.Blocks)
}

// Checkpoint signs the log after a turn.
func (t *Thread) Checkpoint(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.log.Checkpoint(context.WithoutCancel(ctx), t.turns)
}

// Steps returns the step items that ran, with their digests.
func (t *Thread) Steps() []Identity {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.steps)
}

// reservation is a request whose answer the log does not have.
type reservation struct {
	amount policy.USD
	key    string
	data   requestData
}
