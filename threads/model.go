package threads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
)

// Answer is the outcome of a model call as the loop sees it.
type Answer struct {
	Turn  int64         `json:"turn"`
	Stop  message.Stop  `json:"stop"`
	Text  string        `json:"text"`
	Calls []string      `json:"calls"` // ids
	Usage message.Usage `json:"usage"`
}

// AnswerOf returns the outcome of a call in a turn.
func AnswerOf(turn int64, resp *message.Response) *Answer {
	return (&answer{turn: turn, resp: *resp}).answer()
}

func (a *answer) answer() *Answer {
	out := &Answer{
		Turn:  a.turn,
		Stop:  a.resp.Stop,
		Text:  a.resp.Text(),
		Calls: []string{},
		Usage: a.resp.Usage,
	}
	out.Text = cuttext.Start(out.Text, maxAnswerText)
	for _, c := range a.resp.Calls() {
		out.Calls = append(out.Calls, c.ID)
	}
	return out
}

// maxAnswerText bounds the text that the state of the loop contains: the whole answer
// is in the transcript.
const maxAnswerText = 2000

// WalkKey returns the key of a node of a walk of the loop, which are numbered from 1: a thread
// that rested walks again, and the keys of the graph are equal in every walk.
// The keys of the graph repeat: a second resume would replay an answer of the first.
func WalkKey(walk int, key string) string {
	if walk < 2 {
		return key
	}
	return strconv.Itoa(walk) + "/" + key
}

// Model makes one attempt of a call of the model with the conversation so far, after a
// pause. node is the key of the node of the loop. An answer that the log has for it is returned
// again.
func (t *Thread) Model(ctx context.Context, node string, pause time.Duration) (*Answer, error) {
	if a := t.recorded(node); a != nil {
		return a.answer(), nil
	}
	if s := t.Waits(); s != nil { // a loop that a project replaced continues without the result
		return nil, diag.New(diag.ApprovalRequired, "calling the model of %s: a call waits for an answer: %s", t.id, s.Ask.Question)
	}
	if err := sleep(ctx, pause); err != nil {
		return nil, err
	}
	err := t.p.Execute(ctx, t, node, t.Service())
	if errors.Is(err, ErrLeft) { // the question was about the provider: no call waits for its answer
		return nil, diag.New(diag.ApprovalRequired, "calling the model of %s: a person must permit the provider, and %s", t.id, ErrLeft)
	}
	if err != nil {
		return nil, t.asFailure(err)
	}
	if a := t.recorded(node); a != nil {
		return a.answer(), nil
	}
	return nil, diag.New(diag.ExecutionFailed, "calling the model of %s: the provider item made no call", t.id)
}

// Answered returns an error if the log has no answer of a model for a node of the loop:
// a program that replaces the step can claim one. The loop would otherwise repeat the turn
// without a call until the time of the thread is over.
func (t *Thread) Answered(node, step string) error {
	if t.recorded(node) != nil {
		return nil
	}
	return diag.New(diag.ExecutionFailed, "running the step %s: it reports an answer, but it did not call the model", step).WithDetail("step", step)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (t *Thread) recorded(key string) *answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	if key == "" {
		return nil
	}
	return t.byKey[key]
}

// asFailure returns the error of a call with the facts that error classification
// reads. A limit of the thread is not the service's failure.
func (t *Thread) asFailure(err error) error {
	var f *Failure
	if !errors.As(err, &f) {
		return err
	}
	code := diag.CodeOf(f.Err)
	if code == "" {
		code = diag.ProviderError
	}
	e := diag.New(code, "calling the model of %s: %s", t.id, f.Error())
	return e.WithDetail("data", f.facts())
}

// Unanswered returns why the last call of the model has no answer: the limit that was
// reached, or the failed attempt that is not yet classified. It is nil if there is neither.
func (t *Thread) Unanswered() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failure == nil {
		return t.refused
	}
	return t.asFailure(t.failure.failure)
}

// facts returns the context of error classification.
func (f *Failure) facts() map[string]any {
	out := map[string]any{"error": map[string]any{
		"code":    f.Code,
		"type":    f.Type,
		"message": f.Message,
		"reason":  f.Reason,
	}}
	if f.Body != "" {
		out["error"].(map[string]any)["body"] = f.Body
	}
	if f.Status > 0 {
		out["status_code"] = int64(f.Status)
	}
	headers := map[string]any{}
	for k, v := range f.Headers {
		headers[strings.ToLower(k)] = v
	}
	out["headers"] = headers
	if f.RetryAfterMS > 0 {
		out["retry_after_ms"] = f.RetryAfterMS
	}
	return out
}

// Attempt makes one call of a service: it checks the limits, reserves the worst case,
// records the request, calls, settles and records the answer. Every path that executes
// a provider item in a thread ends here. node is the key of the node of the loop. request is one that is not about the
// conversation; nil means the conversation.
func (t *Thread) Attempt(
	ctx context.Context,
	node string,
	s *Service,
	call Caller,
	request *message.Request,
) (*message.Response, error) {
	if request == nil {
		// A step that is a program asks again after a crash, or twice.
		if a := t.recorded(node); a != nil {
			return &a.resp, nil
		}
	}
	req, at, err := t.reserve(ctx, node, s, request)
	if err != nil {
		return nil, err
	}
	if t.p.Replay != nil {
		call = t.replayed // whatever a provider item would call
	}
	began := t.p.Now()
	d := &deltas{
		ctx:   ctx,
		t:     t,
		turn:  at.turn,
		texts: map[part]TextFilter{},
	}
	resp, err := call(ctx, req, d.add)
	d.flush()
	if err == nil {
		err = t.answered(
			ctx,
			node,
			at,
			resp,
			s,
			t.p.Now().Sub(began),
			request != nil,
		)
		return resp, err
	}
	return nil, t.missed(ctx, at, s, err)
}

// attempt is a reserved call of a model.
type attempt struct {
	turn, number int64
	id           string // of the reservation
	reserved     policy.USD
	bytes        int64 // of the encoded request, without images and files
	media        int64 // tokens of its images and files
}

// cost returns the cost of the call. An estimate of rye is at most the reserved amount, which
// is the most that the call can cost; the cost that the service states is charged in full.
func (a *attempt) cost(
	s *Service,
	model string,
	u message.Usage,
) (cost policy.USD, assumed bool) {
	cost, assumed = s.Cost(model, u)
	if u.Assumed > 0 {
		cost = min(cost, a.reserved)
	}
	return cost, assumed
}

// over returns how much more than the reservation a call cost.
func (a *attempt) over(cost policy.USD) policy.USD {
	return max(0, cost-a.reserved)
}

// reserve prepares a call: after it, the request is on the disk and its worst case in
// the ledger.
func (t *Thread) reserve(
	ctx context.Context,
	node string,
	s *Service,
	request *message.Request,
) (*message.Request, *attempt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.missedBefore(ctx); err != nil {
		return nil, nil, err
	}
	t.refused = nil
	err := t.limits()
	if err == nil && request == nil {
		err = t.repeats()
	}
	if err == nil && t.p.Revoked != nil {
		err = t.p.Revoked(ctx)
	}
	if err != nil {
		return nil, nil, t.limited(ctx, err)
	}
	if t.p.Replay != nil && request == nil {
		if _, err := t.asRecorded(ctx, node); err != nil {
			return nil, nil, err
		}
	}
	req, previous := request, (*Previous)(nil)
	if req == nil {
		req, previous = t.request(s), t.last
		req.MaxOutput = t.withinWindow(req.MaxOutput)
	}
	e, err := t.fit(ctx, s, req, previous)
	if err != nil {
		return nil, nil, t.limited(ctx, err)
	}
	full := req
	if t.p.Replay == nil { // no service gets the request of a replay
		// Before the money: a request without its images must not be paid.
		if full, err = t.withMedia(req); err != nil {
			return nil, nil, err
		}
	}
	if !t.inTurn {
		err := t.record(ctx, false, evTurn, map[string]any{"turn": t.turns + 1})
		if err != nil {
			return nil, nil, err
		}
		t.inTurn, t.attempts = true, 0
	}
	t.attempts++
	if request == nil {
		t.misses++
	}
	at := &attempt{
		turn:     t.turns + 1,
		number:   t.attempts,
		reserved: e.Cost,
		bytes:    e.Bytes,
		media:    e.Media,
	}
	// The hash distinguishes it from the reservation of a later state of the log, which a person gave up (rye threads accept).
	at.id = fmt.Sprintf(
		"%s/%d/%d/%d-%.8s",
		t.id,
		at.turn,
		at.number,
		t.log.Seq(),
		strings.TrimPrefix(t.log.Last(), "sha256:"),
	)
	err = t.money.Reserve(ctx, at.id, s.Model, e.Cost)
	if err != nil {
		return nil, nil, t.limited(ctx, err)
	}
	digest, err := digestOf(req)
	if err == nil {
		err = t.record(ctx, true, evRequest, requestData{
			Turn: at.turn, Attempt: at.number, Provider: s.Provider.ID, Model: s.Model, Digest: digest, Reserved: e.Cost,
			Reservation: at.id, Input: e.Input, Bytes: e.Bytes, Media: e.Media, MaxOutput: req.MaxOutput, Key: node,
		})
	}
	if err != nil {
		// Nothing was sent.
		return nil, nil, errors.Join(err, t.money.Settle(
			context.WithoutCancel(ctx),
			at.id,
			0,
			false,
		))
	}
	full.CacheKey = t.id // after the digest: a replay has another id
	return full, at, nil
}

// repeats returns an error if the loop repeated the call of the model too often. A
// classifier or a hook that always repeats would otherwise continue until the time is over.
// A thread that a person resumes begins again at 0.
func (t *Thread) repeats() error {
	most := t.p.MaxAttempts + int64(t.service)
	if t.p.MaxAttempts > 0 && t.misses >= most {
		return exceeded(diag.LimitExceeded, t.id, "attempts", t.misses, most)
	}
	return nil
}

// fit lowers the maximum of the answer to what money and tokens permit, and returns
// the most that the call can use.
func (t *Thread) fit(
	ctx context.Context,
	s *Service,
	req *message.Request,
	previous *Previous,
) (Estimate, error) {
	balance, err := t.money.Balance(ctx)
	if err != nil {
		return Estimate{}, err
	}
	least := min(max(t.p.MinOutput, 1), req.MaxOutput)
	e, err := s.WorstCase(req, previous)
	if err != nil {
		return e, err
	}
	u := t.used()
	tokens := t.p.Limits.Tokens - u.NewTokens
	fresh := func(e Estimate) int64 {
		return t.fresher.next(e, previous == nil && t.last != nil)
	}
	fits := func(e Estimate) bool {
		return e.Cost <= balance.Left() && fresh(e) <= tokens
	}
	if fits(e) {
		return e, nil
	}
	// Both grow with the maximum of the answer: the largest that fits is found by halving.
	low, high := least, req.MaxOutput
	req.MaxOutput = least
	if e, err = s.WorstCase(req, previous); err != nil {
		return e, err
	}
	switch {
	case fresh(e) > tokens:
		return e, exceeded(
			diag.LimitExceeded,
			t.id,
			"tokens",
			u.NewTokens,
			t.p.Limits.Tokens,
		).
			WithDetail("needed", fresh(e))
	case e.Cost > balance.Left():
		return e, balance.Exceeded("running "+t.id, e.Cost).WithDetail("thread_id", t.id)
	}
	for low+1 < high {
		req.MaxOutput = (low + high) / 2
		x, err := s.WorstCase(req, previous)
		if err != nil {
			return e, err
		}
		if fits(x) {
			low, e = req.MaxOutput, x
		} else {
			high = req.MaxOutput
		}
	}
	req.MaxOutput = low
	return e, nil
}

// resultBytes is how many bytes NextCall expects of each result that is missing: the usual
// result of a thread that this one starts is shorter.
const resultBytes = 2000

// NextCall returns the money that the next call of the model needs: its worst case with the
// shortest answer and with the results that are still missing.
func (t *Thread) NextCall() (policy.USD, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.p.Services[t.service]
	req := t.request(s)
	req.MaxOutput = min(max(t.p.MinOutput, 1), req.MaxOutput)
	results := message.TextBlock(strings.Repeat("x", t.missing()*resultBytes))
	req.Messages = joined(req.Messages, message.Message{Role: message.User, Blocks: []message.Block{results}})
	e, err := s.WorstCase(req, t.last)
	return e.Cost, err
}

// limited records a reached limit.
func (t *Thread) limited(ctx context.Context, err error) error {
	e := diag.Typed(err)
	limit, _ := e.Details["limit"].(string)
	if limit == "" {
		return err
	}
	t.refused = err
	data := map[string]any{"limit": limit, "value": e.Details["value"], "max": e.Details["max"]}
	if renews := e.Details["renews"]; renews != nil {
		data["renews"] = renews
	}
	return errors.Join(err, t.record(ctx, true, evLimit, data))
}

// answered settles and records an answer.
func (t *Thread) answered(
	ctx context.Context,
	node string,
	at *attempt,
	resp *message.Response,
	s *Service,
	duration time.Duration,
	aside bool,
) error {
	cost, assumed := at.cost(s, resp.Model, resp.Usage)
	t.mu.Lock()
	defer t.mu.Unlock()
	resp.Blocks = t.distinct(at.turn, message.Canonical(resp.Blocks))
	resp.Model, resp.StopRaw = strings.ToValidUTF8(resp.Model, "\uFFFD"), strings.ToValidUTF8(resp.StopRaw, "\uFFFD")
	d := responseData{Turn: at.turn, Attempt: at.number, Blocks: resp.Blocks, Stop: resp.Stop, StopRaw: resp.StopRaw, Usage: resp.Usage,
		Cost: cost, Assumed: assumed, Overspent: at.over(cost), Model: resp.Model, Duration: duration.Milliseconds(), Aside: aside, Replayed: t.p.Replay != nil}
	// The money first: a crash between the two settles the request in full.
	over := t.money.Settle(context.WithoutCancel(ctx), at.id, cost, assumed)
	if err := t.record(ctx, true, evResponse, d); err != nil {
		return errors.Join(err, over)
	}
	t.take(node, &Previous{Bytes: at.bytes, Media: at.media}, &d)
	return over
}

// distinct returns the blocks of an answer with an id for each call that no other call
// of the thread has. Some services begin to count again in each answer, and a call with
// the id of an earlier one would look as if it had its result.
func (t *Thread) distinct(turn int64, blocks []message.Block) []message.Block {
	used := map[string]bool{"": true}
	for _, e := range t.entries {
		if e.answer != nil {
			for _, c := range e.answer.resp.Calls() {
				used[c.ID] = true
			}
		}
	}
	out := slices.Clone(blocks)
	for i := range out {
		b := &out[i]
		if b.Type != message.ToolCall {
			continue
		}
		for n := 1; used[b.ID]; n++ {
			if strings.Contains(string(b.Raw), b.ID) {
				b.Raw = nil // it has the other id
			}
			b.ID = fmt.Sprintf("call_%d_%d", turn, n)
		}
		used[b.ID] = true
	}
	return out
}

// take adds an answer to the conversation and the figures.
func (t *Thread) take(key string, sent *Previous, d *responseData) {
	t.usage = t.usage.Add(d.Usage)
	t.fresher.add(d.Usage, d.Aside)
	t.spent = t.spent.Plus(d.Cost)
	t.turns = max(t.turns, d.Turn)
	t.inTurn, t.attempts, t.failure, t.lastErr = false, 0, nil, nil
	if d.Aside {
		return
	}
	t.misses = 0
	a := &answer{turn: d.Turn, resp: message.Response{
		Blocks:  d.Blocks,
		Stop:    d.Stop,
		StopRaw: d.StopRaw,
		Usage:   d.Usage,
		Model:   d.Model,
	}}
	if key != "" {
		t.byKey[key] = a
	}
	t.entries = append(t.entries, entry{answer: a})
	sent.Usage = d.Usage
	t.last, t.fresh = sent, 0
}

// missed settles a failed attempt. It is recorded with its category when it is
// classified, or before the next event.
func (t *Thread) missed(ctx context.Context, at *attempt, s *Service, err error) error {
	var f *Failure
	if !errors.As(err, &f) {
		f = &Failure{Code: string(diag.CodeOf(err)), Message: err.Error(), Err: err}
	}
	mismatch := diag.CodeOf(f.Err) == diag.ReplayMismatch // it has cancelled the context
	if ctx.Err() != nil && !mismatch {
		f.Code, f.Message = string(diag.Cancelled), "cancelled"
	}
	cost, assumed := at.cost(s, s.Model, f.Usage)
	t.mu.Lock()
	defer t.mu.Unlock()
	serr := t.money.Settle(context.WithoutCancel(ctx), at.id, cost, assumed)
	t.usage = t.usage.Add(f.Usage)
	t.fresher.missed(f.Usage)
	t.spent = t.spent.Plus(cost)
	t.lastErr = f.Err
	t.failure = &pending{
		turn:    at.turn,
		attempt: at.number,
		failure: f,
		cost:    cost,
		assumed: assumed,
		over:    at.over(cost),
	}
	if ctx.Err() != nil {
		return errors.Join(
			diag.New(diag.Cancelled, "calling the model of %s: cancelled", t.id),
			t.missedBefore(ctx),
			serr,
		)
	}
	if serr != nil {
		return serr
	}
	return f
}
