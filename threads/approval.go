package threads

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/transcript"
)

// The answers to the question about a call.
const (
	Once = "once"
	// ForThread permits also later calls of the same capability and rule, until the thread
	// ends. A thread that continues this one asks again.
	ForThread = "thread"
	// ForPrefix permits also later calls of the same capability whose dangerous commands all
	// begin as the commands of this one.
	ForPrefix = "prefix"
	// LeftOpen states that the person who was asked for a thread of another process left.
	LeftOpen = "left"
	Deny     = "deny"
)

// The givers of an answer that are not persons.
const (
	ByTimeout = "timeout"
	byGrant   = "grant" // an earlier answer for the thread
	byNobody  = "error" // the terminal or the client could not be read
)

// unanswered is how long a question stays open that the allowance sets no time for.
const unanswered = 7 * 24 * time.Hour

// inboxPause is the time between two reads of the inbox while a process waits for an
// answer.
// The process records the first answer that it sees; a later command is refused.
const inboxPause = 200 * time.Millisecond

// Question is what a person is asked about a call. Its text has everything that a yes permits.
type Question struct {
	Tier       string
	Text       string
	Capability string      // that the call needs
	Digest     item.Digest // of the item: an answer is for this version of it
	Rule       string      // why a person is asked
	// Change is the change of files that the call makes, nil without one.
	Change *policy.FileChange
	// Prefixes are the beginnings of the commands that the question is about, nil if an
	// answer for them is not offered. Within reports whether prefixes permit the call.
	Prefixes []string
	Within   func(prefixes []string) bool
	// Timeout is how long a process waits for the answer, 0 as long as the person is present.
	Timeout time.Duration
	// Open is how long the question of a suspended thread stays open if no person is present.
	// With 0 the thread is not suspended for it.
	Open time.Duration
	// Left is how long the question stays open if the person who is present leaves without an
	// answer. With 0 the thread is not suspended for it.
	Left time.Duration
	// Ask asks the person who is present; nil if none is. Its error is ErrLeft if the person
	// left. The cause of the end of its context is an *Elsewhere if another surface answered.
	Ask func(ctx context.Context) (Reply, error)
	// Before is called before a new question is recorded; its error refuses the call.
	Before func() error
}

// ErrLeft means that the person who was asked left without an answer: the question stays open.
var ErrLeft = errors.New("the person left without an answer")

// Elsewhere is the cause of the end of a question that another process answered.
type Elsewhere struct {
	Reply
	At string // the terminal of that process, "" if it is not known
}

// Error states the answer.
func (e *Elsewhere) Error() string {
	at := "elsewhere"
	if e.At != "" {
		at = "on " + e.At
	}
	return "answered " + at + ": " + e.Decision
}

// AnsweredElsewhere marks the cause for what asks the person.
func (e *Elsewhere) AnsweredElsewhere() {}

// Reply is the answer to a question.
type Reply struct {
	Decision string
	Feedback string // of a denial: the model reads it
	By       string
	Stop     bool // the person also stops the turn; it is not recorded
}

// Late reports whether the question was not answered in time.
func (r *Reply) Late() bool {
	return r.By == ByTimeout
}

// Unasked reports whether no person was asked: the terminal or the client could not be read.
func (r *Reply) Unasked() bool {
	return r.By == byNobody
}

// Decision is the answer to a question of a thread that another process wrote down.
type Decision struct {
	Decision string      `json:"decision"`
	Feedback string      `json:"feedback,omitempty"`
	Question item.Digest `json:"question"` // of its text: another text has no answer
	By       string      `json:"-"`
	Time     time.Time   `json:"-"`
	At       string      `json:"-"` // the terminal at which it was given
}

// asked is a question about a call that the log has.
// If the process was killed while it asked, the answer of a command is that to the open
// question, within its time.
type asked struct {
	askedData
	since time.Time // in askedIn only
	reply *Reply    // nil without an answer
}

func (a *asked) expires() time.Time {
	at, _ := time.Parse(time.RFC3339, a.Expires) // rye wrote it
	return at
}

// grant is an answer that permits later calls.
type grant struct {
	capability, by string
	digest         item.Digest
	rule           string   // of an answer for the thread
	prefixes       []string // of an answer for prefixes
}

// approve returns the answer to the question about a call. It is nil if none can come: no
// person can be asked, or the thread must be suspended for it, which Waits states then.
// Every answer is in the log before it is returned. mayRest: the call has not begun.
func (t *Thread) approve(
	ctx context.Context,
	c *ToolCall,
	q *Question,
	mayRest bool,
) (*Reply, error) {
	d, err := t.question(c, q)
	if err != nil {
		return nil, err
	}
	leaves := mayRest && q.Left > 0 && c.By == ""
	mayRest = mayRest && q.Open > 0 && c.By == ""
	a, err := t.askedAbout(&d)
	if err != nil {
		return nil, err
	}
	if a != nil && a.reply != nil {
		t.forget(a) // an answer is for one start
		if !t.begun(c.ID) {
			return a.reply, t.takeAnswer(a.ID) // the process was stopped before the call began
		}
		a = nil
	}
	if a != nil {
		reply, err := t.earlier(ctx, a, q.Ask == nil && mayRest)
		if reply != nil || err != nil {
			return reply, err
		}
	}
	if decision := t.permitted(&d, q); decision != "" {
		return &Reply{Decision: decision, By: byGrant}, nil
	}
	if q.Ask == nil && !mayRest {
		return nil, nil
	}
	// A person who is present has the whole time for the answer.
	if left := time.Duration(0); a != nil {
		left = a.expires().Sub(t.p.Now())
		if q.Ask != nil && (left < q.Timeout || left <= 0) {
			a = nil
		}
	}
	if a == nil {
		if a, err = t.ask(ctx, d, q); err != nil {
			return nil, err
		}
	}
	if q.Ask != nil {
		reply, err := t.await(ctx, a, q)
		if !errors.Is(err, ErrLeft) {
			return reply, err
		}
		if !leaves {
			_, err := t.resolve(ctx, a, &Reply{Decision: Deny, By: byNobody})
			return nil, err
		}
		if a.expires().Sub(t.p.Now()) < q.Left-time.Minute { // it had the time of a person who is present
			q.Ask = nil
			q.Before = nil
			q.Open = q.Left
			if a, err = t.ask(ctx, d, q); err != nil {
				return nil, err
			}
		}
	}
	t.mu.Lock()
	t.waiting[c.ID] = a
	t.mu.Unlock()
	return nil, nil
}

// question returns a question as the log has it.
func (t *Thread) question(c *ToolCall, q *Question) (askedData, error) {
	d := askedData{
		CallID:     c.ID,
		Tier:       q.Tier,
		Grants:     []string{Once},
		Summary:    q.Text,
		Capability: q.Capability,
		Digest:     q.Digest,
		Rule:       q.Rule,
		Prefixes:   q.Prefixes,
		By:         c.By,
		Change:     q.Change,
	}
	if q.Rule != "" {
		d.Grants = append(d.Grants, ForThread)
	}
	if len(q.Prefixes) > 0 {
		d.Grants = append(d.Grants, ForPrefix)
	}
	raw, err := t.clean(d)
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	return d, err
}

// askedAbout returns the newest question of the same text about the same call, or nil. If it is about a different version of
// the item, only a refusal answers it: a yes is for one version.
func (t *Thread) askedAbout(d *askedData) (*asked, error) {
	var same *asked
	t.mu.Lock()
	for _, a := range slices.Backward(t.asked) {
		if a.CallID == d.CallID && a.Summary == d.Summary {
			same = a
			break
		}
	}
	t.mu.Unlock()
	if same == nil || same.Digest == d.Digest {
		return same, nil
	}
	reply := same.reply
	err := error(nil)
	if reply == nil {
		reply, err = t.answerOf(same)
	}
	if err != nil || reply == nil || reply.Decision != Deny {
		return nil, err
	}
	return same, nil
}

// forget removes a question, so that its answer is not used again.
func (t *Thread) forget(a *asked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = slices.DeleteFunc(t.asked, func(b *asked) bool { return a == b })
}

// begun reports whether a call has started. What it asks after that, as a graph does for each
// of its nodes, has no earlier answer.
func (t *Thread) begun(call string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.started[call]
}

// permitted returns the earlier answer that permits a call, "" without one.
func (t *Thread) permitted(d *askedData, q *Question) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var prefixes []string
	for _, g := range t.grants {
		switch {
		case g.capability != d.Capability || g.digest != d.Digest || g.by != d.By:
		case g.rule != "" && g.rule == d.Rule:
			return ForThread
		default:
			prefixes = append(prefixes, g.prefixes...)
		}
	}
	if len(prefixes) > 0 && q.Within != nil && q.Within(prefixes) {
		return ForPrefix
	}
	return ""
}

// ask records a question. Its id is made of the call's id and the line.
func (t *Thread) ask(ctx context.Context, d askedData, q *Question) (*asked, error) {
	if q.Before != nil {
		if err := q.Before(); err != nil {
			return nil, err
		}
	}
	open := q.Timeout
	switch {
	case q.Ask == nil:
		open = q.Open
	case open == 0: // as long as the person is present, and after that as a thread that is suspended
		open = max(q.Left, unanswered)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	d.ID = d.CallID + "/" + strconv.FormatInt(t.log.Seq()+1, 10)
	d.Expires = t.p.Now().Add(open).UTC().Format(time.RFC3339)
	if err := t.record(ctx, true, evAsked, d); err != nil {
		return nil, err
	}
	a := &asked{askedData: d}
	t.asked = append(t.asked, a)
	return a, nil
}

// earlier returns the answer in the inbox to a question that the log has, or, if the thread
// would be suspended for it again, the denial of one that has expired.
func (t *Thread) earlier(ctx context.Context, a *asked, suspended bool) (*Reply, error) {
	reply, err := t.answerOf(a)
	switch {
	case err != nil:
		return nil, err
	case reply == nil && suspended && !t.p.Now().Before(a.expires()):
		reply = &Reply{Decision: Deny, By: ByTimeout}
	case reply == nil:
		return nil, nil
	}
	return t.resolve(ctx, a, reply)
}

// answerOf returns the answer in the inbox, nil without one. An answer to another text, or
// one that came after the time of the question, is removed.
func (t *Thread) answerOf(a *asked) (*Reply, error) {
	if t.p.Decided == nil {
		return nil, nil
	}
	d, err := t.p.Decided(a.ID)
	switch {
	case err != nil || d == nil:
		return nil, err
	case d.Question != item.DigestOf([]byte(a.Summary)),
		d.Time.After(a.expires()),
		d.Decision != Deny && !slices.Contains(a.Grants, d.Decision):
		return nil, t.takeAnswer(a.ID)
	}
	return &Reply{Decision: d.Decision, Feedback: d.Feedback, By: d.By}, nil
}

func (t *Thread) takeAnswer(id string) error {
	if t.p.Took == nil {
		return nil
	}
	return t.p.Took(id)
}

// resolve records an answer.
func (t *Thread) resolve(ctx context.Context, a *asked, r *Reply) (*Reply, error) {
	t.mu.Lock()
	err := t.record(ctx, true, evAnswered, answeredData{
		ID:       a.ID,
		Decision: r.Decision,
		By:       r.By,
		Feedback: r.Feedback,
	})
	if err == nil {
		a.reply = r
		t.grantOf(a)
		t.asked = slices.DeleteFunc(t.asked, func(b *asked) bool { return a == b })
	}
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return r, t.takeAnswer(a.ID)
}

func (t *Thread) grantOf(a *asked) {
	switch a.reply.Decision {
	case ForThread:
		t.grants = append(t.grants, grant{
			capability: a.Capability,
			digest:     a.Digest,
			by:         a.By,
			rule:       a.Rule,
		})
	case ForPrefix:
		t.grants = append(t.grants, grant{
			capability: a.Capability,
			digest:     a.Digest,
			by:         a.By,
			prefixes:   a.Prefixes,
		})
	}
}

// askedLine applies a line of the log about a question or its answer.
func (t *Thread) askedLine(event string, data []byte) error {
	if event == evAsked {
		a := &asked{}
		err := into(data, &a.askedData)
		t.asked = append(t.asked, a)
		return err
	}
	var d answeredData
	err := into(data, &d)
	for _, a := range t.asked {
		if a.ID == d.ID && err == nil {
			a.reply = &Reply{Decision: d.Decision, Feedback: d.Feedback, By: d.By}
			t.grantOf(a)
		}
	}
	return err
}

// begins forgets the questions about a call: an answer is for one start.
func (t *Thread) begins(call string) {
	t.asked = slices.DeleteFunc(t.asked, func(a *asked) bool {
		return a.CallID == call
	})
	delete(t.waiting, call)
}

// Waits returns why the thread must be suspended: a call waits for an answer. It is nil if
// none does.
func (t *Thread) Waits() *Suspension {
	t.mu.Lock()
	defer t.mu.Unlock()
	var first *asked
	for _, a := range t.waiting {
		if first == nil ||
			cmp.Or(cmp.Compare(a.Expires, first.Expires), cmp.Compare(a.ID, first.ID)) < 0 {
			first = a
		}
	}
	if first == nil {
		return nil
	}
	return &Suspension{Reason: ByApproval, WakeAt: first.Expires, Ask: &Ask{ID: first.ID, To: "person", Question: first.Summary}}
}

// OpenQuestion is a question about a call of a thread that no person has answered.
type OpenQuestion struct {
	ID       string    `json:"approval_id"`
	CallID   string    `json:"call_id"`
	Question string    `json:"question"`
	Rule     string    `json:"rule,omitempty"`
	Prefixes []string  `json:"prefixes,omitempty"`
	Grants   []string  `json:"grants"`
	Expires  time.Time `json:"expires"`
	Tier     string    `json:"tier,omitempty"`
	Since    time.Time `json:"since"`

	Change *policy.FileChange `json:"-"` // that the call makes in files, nil without one

	capability string
	digest     item.Digest
}

// Details returns lines about what a call would use.
func (q *OpenQuestion) Details() []string {
	return []string{
		"call        " + q.CallID,
		"risk        " + q.Tier,
		"capability  " + q.capability,
		"item        " + q.digest.String(),
	}
}

// OpenQuestions returns the questions about calls that the log of a thread has, and that
// can still be answered, the oldest first.
func OpenQuestions(project, id string) ([]OpenQuestion, error) {
	t, err := askedIn(project, id)
	if err != nil {
		return nil, err
	}
	out := []OpenQuestion{}
	for i, a := range t.asked {
		repeated := slices.ContainsFunc(
			t.asked[i+1:],
			func(b *asked) bool { return b.CallID == a.CallID },
		)
		if a.reply == nil && !repeated {
			out = append(out, OpenQuestion{a.ID, a.CallID, a.Summary, a.Rule, a.Prefixes, a.Grants, a.expires(), a.Tier, a.since, a.Change, a.Capability, a.Digest})
		}
	}
	return out, nil
}

// ReplyTo returns the recorded answer to a question, nil without one.
func ReplyTo(project, id, question string) (*Reply, error) {
	lines, err := transcript.Read(project, id)
	for i := range lines {
		var d answeredData
		if err == nil &&
			lines[i].Event == evAnswered &&
			into(lines[i].Data, &d) == nil &&
			d.ID == question {
			return &Reply{Decision: d.Decision, Feedback: d.Feedback, By: d.By}, nil
		}
	}
	return nil, err
}

// askedIn reads the questions about calls that have not begun.
func askedIn(project, id string) (*Thread, error) {
	t := newThread(id, Params{Project: project})
	lines, err := transcript.Read(project, id)
	if err != nil {
		return nil, err
	}
	for i := range lines {
		l := &lines[i]
		switch l.Event {
		case evAsked, evAnswered, evCall, evResult:
		case evCompleted, evContinued:
			t.asked = nil
			continue
		default:
			continue
		}
		data, err := dataOf(project, id, l)
		if err == nil {
			err = t.askedOr(l.Event, data)
		}
		if l.Event == evAsked && err == nil {
			t.asked[len(t.asked)-1].since = l.At()
		}
		if err != nil {
			return nil, diag.New(diag.TranscriptBroken, "reading the log of %s: line %d: %w", id, l.Seq, err)
		}
	}
	return t, nil
}

func (t *Thread) askedOr(event string, data []byte) error {
	if event == evAsked || event == evAnswered {
		return t.askedLine(event, data)
	}
	var d struct {
		CallID string `json:"call_id"`
	}
	err := into(data, &d)
	t.begins(d.CallID)
	return err
}
