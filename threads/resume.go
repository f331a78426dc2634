package threads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// Started is what the first line of a thread's log states: with it a thread can be
// started again.
type Started struct {
	Directive Identity
	Inputs    map[string]any
	Model     string
	Provider  string
	Limits    Limits
	// ProviderDigest is the digest of the provider item.
	ProviderDigest item.Digest
	Replay         string // the recording that answered it, "" for a model
	Held           policy.Held
	Loop           Identity
	Steps          []Identity
	State          string
	Time           string
	Rested         time.Time   // of its last line
	Suspended      *Suspension // nil if it is not
	Parent         string      // the run of a graph whose node started the thread
	Carried        *Carried    // from the thread that it continues, or nil
	Spawned        *Spawned    // nil if no thread started it
	Workspace      WorkingCopy
	Number         int64           // in the user account, 0 if the log states none
	Attachments    []message.Block // of the first message
	Interactive    bool            // a turn without calls waits for the next message of a person
}

// ReadStarted reads the beginning of a thread's log, and its state. It is
// THREAD_NOT_FOUND if the log belongs to a run of a graph.
func ReadStarted(project, id string) (*Started, error) {
	lines, err := transcript.Read(project, id)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 || lines[0].Event != evStarted {
		return nil, notThread(id, lines)
	}
	var d startedData
	data, err := dataOf(project, id, &lines[0])
	if err == nil {
		err = into(data, &d)
	}
	if err != nil {
		return nil, diag.New(diag.TranscriptBroken, "reading %s: %w", id, err)
	}
	s := &Started{
		Directive:      d.Directive,
		Inputs:         d.Inputs,
		Model:          d.Model,
		Provider:       strings.TrimPrefix(d.Provider.Ref, "tool:"),
		ProviderDigest: d.Provider.Digest,
		Replay:         d.Replay,
		Limits:         d.Limits,
		Loop:           d.Loop,
		Steps:          d.Steps,
		Spawned:        d.Spawned,
		State:          Running,
		Time:           lines[0].Time,
	}
	s.Number = d.Number
	s.Carried = d.Carried
	s.Workspace = d.Workspace
	s.Attachments = d.Attachments
	s.Interactive = d.Interactive
	s.Rested = lines[len(lines)-1].At()
	if d.Parent != nil {
		s.Parent = *d.Parent
	}
	for _, h := range d.Held {
		set := policy.Set{}
		for _, c := range h.Caps {
			set = append(set, policy.Cap(c))
		}
		s.Held = s.Held.
			With(policy.Grant{Caps: set, Source: h.Source, Profile: h.Profile})
	}
	for i := range lines {
		switch lines[i].Event {
		case evCompleted:
			s.State = Completed
		case evFailed:
			s.State = Failed
		case evCancelled:
			s.State = Cancelled
		case evKilled:
			s.State = Killed
		case evContinued:
			s.State = Continued
		case evSuspended:
			s.State = Suspended
			if s.Suspended, err = suspension(lines[:i+1]); err != nil {
				return nil, diag.New(diag.TranscriptBroken, "reading %s: %w", id, err)
			}
		case evResumed:
			s.State = Running
			s.Suspended = nil
			var r resumedData
			if into(lines[i].Data, &r) == nil && r.Limits != nil {
				s.Limits = *r.Limits
			}
		}
	}
	return s, nil
}

// Resumed returns how often a thread was resumed.
func Resumed(project, id string) (n int, err error) {
	lines, err := transcript.Read(project, id)
	for i := range lines {
		if lines[i].Event == evResumed {
			n++
		}
	}
	return n, err
}

// Resume continues a thread at the step in flight. No call of the model and no tool
// whose result the log has is made again. text is a message of the person, "" for none.
func Resume(ctx context.Context, id string, p Params, text string) (*Result, error) {
	t := newThread(id, p)
	log, lines, torn, err := transcript.Open(ctx, t.logParams())
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	t.log, t.lines = log, slices.Clone(lines)
	state, err := t.replay(lines)
	switch {
	case err != nil:
		return nil, err
	case state == Completed || state == Continued:
		return nil, diag.New(diag.ThreadState, "resuming %s: it is %s", id, state).
			WithReason("ended").
			WithDetail("state", state)
	case declined(lines):
		return nil, diag.New(diag.ApprovalDenied, "resuming %s: a person refused what it asks for", id)
	}
	if t.money, err = p.Account(ctx, id, p.Limits.Spend); err != nil {
		return nil, err
	}
	if err := t.settleOpen(ctx); err != nil {
		return nil, errors.Join(err, t.money.Release(context.WithoutCancel(ctx), Failed, ""))
	}
	// The result of the earlier end would hide the result of the next one if this process is
	// stopped between the last line and the result.
	if err := transcript.Base(p.Project, id).Remove(ResultFile); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	d := resumedData{
		From:     log.Seq(),
		Torn:     torn,
		Message:  text,
		Changes:  p.Changes,
		Repeated: slices.Sorted(maps.Keys(t.started)),
		Limits:   &p.Limits,
		PID:      p.PID,
	}
	if err := t.record(ctx, true, evResumed, d); err != nil {
		return nil, err
	}
	if err := t.accept(ctx, lines); err != nil {
		return nil, err
	}
	if text != "" || len(p.Attached) > 0 {
		attached, err := t.kept(ctx, p.Attached)
		if err != nil {
			return nil, err
		}
		t.mu.Lock()
		err = t.step(
			ctx,
			Identity{Ref: t.resumedBy()},
			messageOf(t.resumedBy(), text, attached...),
		)
		t.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	t.began = t.p.Now()
	return t.walk(ctx, lines)
}

func (t *Thread) resumedBy() string {
	return cmp.Or(t.p.ResumedBy, "person")
}

// messageOf returns the event of a message with a text, if it is not empty, after images and
// files.
func messageOf(source, text string, attached ...message.Block) Event {
	blocks := []any{}
	for _, b := range attached {
		blocks = append(blocks, b)
	}
	if text != "" {
		blocks = append(blocks, map[string]any{"type": "text", "text": text})
	}
	return Event{Event: evAdded, Data: map[string]any{"role": "user", "source": source, "blocks": blocks}}
}

// settleOpen settles requests without an answer in full: the service may have answered
// and charged. The cost of one that was settled before the process stopped is known.
func (t *Thread) settleOpen(ctx context.Context) error {
	if err := t.money.Recover(ctx, t.wasSent); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(t.open)) {
		r := t.open[id]
		cost, assumed, ok, err := t.money.Settled(ctx, id)
		switch {
		case err != nil:
			return err
		case !ok: // the ledger is a new one
			cost = r.amount
			assumed = true
		}
		t.spent = t.spent.Plus(cost)
		d := errorData{
			Turn:    r.data.Turn,
			Attempt: r.data.Attempt,
			ID:      "interrupted",
			Code:    string(diag.ExecutionFailed),
			Message: "interrupted; it may have been answered",
			Cost:    cost,
			Assumed: assumed || cost == r.amount,
		}
		if err := t.record(ctx, false, evError, d); err != nil {
			return err
		}
	}
	clear(t.open)
	return nil
}

// wasSent reports whether the log has the request of a reservation, also one whose answer
// could not be settled. Of another thread of the chain, whose log was not read, every
// request is believed to be sent.
func (t *Thread) wasSent(id string) bool {
	return t.sent[id] || !strings.HasPrefix(id, t.id+"/")
}

// Sent returns a function that reports whether a thread has sent the request of a
// reservation. If its log cannot be read, each is believed to be sent.
func Sent(project, id string) func(reservation string) bool {
	t := newThread(id, Params{Project: project})
	lines, err := transcript.Read(project, id)
	if err == nil {
		_, err = t.unanswered(lines)
	}
	if err != nil {
		return func(string) bool { return true }
	}
	return t.wasSent
}

// replay sets the thread to what the lines of its log state, and returns its state.
func (t *Thread) replay(lines []transcript.Line) (state string, err error) {
	state = Running
	var keys []string // of nodes in flight
	for i := range lines {
		l := &lines[i]
		data, err := dataOf(t.p.Project, t.id, l)
		if err == nil {
			err = t.line(l.Event, data, &keys)
		}
		if err != nil {
			return "", diag.New(diag.TranscriptBroken, "reading the log of %s: line %d: %w", t.id, l.Seq, err)
		}
		switch l.Event {
		case evCompleted:
			state = Completed
		case evFailed:
			state = Failed
		case evCancelled:
			state = Cancelled
		case evKilled:
			state = Killed
		case evContinued:
			state = Continued
		case evSuspended:
			state = Suspended
		case evResumed:
			state = Running
		}
	}
	if len(lines) == 0 || lines[0].Event != evStarted {
		return "", diag.New(diag.ThreadNotFound, "resuming %s: it is not a thread", t.id).
			WithReason("no_thread").
			WithDetail("id", t.id)
	}
	t.active += transcript.Active(lines, evStarted)
	t.pendingReturn()
	return state, nil
}

// pendingReturn finds the outputs of a directive_return whose result the log has.
func (t *Thread) pendingReturn() {
	a := t.lastAnswer()
	if a == nil {
		return
	}
	for _, c := range a.resp.Calls() {
		r := t.results[c.ID]
		if c.Name == ReturnTool && r != nil && !r.isError {
			if tool, problem := t.offered(c.Name); problem == "" {
				if input, bad := t.fits(tool, c); bad == "" {
					t.returned = input
					t.done = true
				}
			}
		}
	}
}

// line applies one line of the log. keys are the keys of the nodes in flight, the newest
// last.
func (t *Thread) line(event string, data []byte, keys *[]string) error {
	switch event {
	case "node_started":
		var d struct {
			Key string `json:"idempotency_key"`
		}
		err := into(data, &d)
		*keys = append(*keys, WalkKey(t.walks, d.Key))
		return err
	case "graph_started":
		t.walks++
		return nil
	case "node_committed", "node_failed":
		*keys = nil
		clear(t.skip)
		return nil
	case evPrompt:
		t.prompt = &Prompt{}
		err := into(data, t.prompt)
		t.grow(t.prompt)
		return err
	case evAdded:
		var d addedData
		err := into(data, &d)
		if err == nil {
			t.add(&d)
			t.count(*keys)
		}
		return err
	case evTurn:
		t.inTurn = true
		t.attempts = 0
		return nil
	case evSwitched:
		t.service = min(t.service+1, len(t.p.Services)-1)
		t.recount()
		return nil
	case evCompacted:
		var d compactedData
		err := into(data, &d)
		if err == nil {
			t.shorten(&d)
		}
		return err
	case evAsked, evAnswered:
		return t.askedLine(event, data)
	case evCall:
		var d callData
		err := into(data, &d)
		t.begins(d.CallID)
		switch {
		case d.By != "":
			t.asideLine(d.CallID, d.Ref, d.Input, nil)
		case d.Decision != "refused":
			t.started[d.CallID] = true
		}
		return err
	case evResult:
		var d resultData
		err := into(data, &d)
		switch {
		case err != nil:
		case d.By != "":
			t.asideLine(d.CallID, d.Ref, nil, &recordedResult{d.IsError, d.Content})
		default:
			t.takeResult(&d)
		}
		return err
	}
	if t.p.Source(event) == "step" {
		t.count(*keys)
	}
	return t.modelLine(event, data)
}

// count remembers that the step in flight has recorded one more event.
func (t *Thread) count(keys []string) {
	if n := len(keys); n > 0 {
		t.skip[keys[n-1]]++
	}
}

// modelLine applies a line about a call of the model.
func (t *Thread) modelLine(event string, data []byte) error {
	switch event {
	case evRequest:
		var d requestData
		err := into(data, &d)
		t.open[d.Reservation] = reservation{amount: d.Reserved, key: d.Key, data: d}
		t.sent[d.Reservation] = true
		t.attempts = d.Attempt
		return err
	case evResponse:
		var d responseData
		if err := into(data, &d); err != nil {
			return err
		}
		r := t.answers(d.Turn, d.Attempt)
		d.believe(&r.data)
		t.take(
			r.key,
			&Previous{Bytes: r.data.Bytes, Media: r.data.Media},
			&d,
		)
	case evError:
		var d errorData
		if err := into(data, &d); err != nil {
			return err
		}
		r := t.answers(d.Turn, d.Attempt)
		d.believe(&r.data)
		t.learn(d.Window)
		t.spent = t.spent.Plus(d.Cost)
		if d.Usage != nil {
			t.usage = t.usage.Add(*d.Usage)
			t.fresher.missed(*d.Usage)
		}
	}
	return nil
}

// answers removes the request that an answer belongs to, and returns it.
func (t *Thread) answers(turn, attempt int64) reservation {
	for id, r := range t.open {
		if r.data.Turn == turn && r.data.Attempt == attempt {
			delete(t.open, id)
			return r
		}
	}
	return reservation{}
}

// dataOf returns the data of a line with its artifacts in their positions.
func dataOf(project, id string, l *transcript.Line) ([]byte, error) {
	if !strings.Contains(string(l.Data), `"artifacts":`) {
		return l.Data, nil
	}
	data, err := transcript.Expand(project, id, l)
	if err != nil {
		return nil, err
	}
	return jsonx.Marshal(data)
}

func into(data []byte, v any) error {
	if err := jsonx.Decode(data, v); err != nil {
		return fmt.Errorf("its data: %w", err)
	}
	return nil
}
