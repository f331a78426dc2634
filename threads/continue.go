package threads

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// Continued is the state of a thread whose work another thread continues, because the window
// of its model was full or a person wanted it.
const Continued = "continued"

// Carried is what a thread takes over from the one that it continues. A chain of threads
// has one account, its root's, and its limits apply to all of the chain. A thread that
// follows a completed one has an account and limits of its own: see Follow.
type Carried struct {
	From string `json:"continues,omitempty"`
	Root string `json:"chain_root,omitempty"`
	// Follows is the completed thread whose conversation the thread has, "" in a chain.
	Follows string `json:"follows,omitempty"`
	// Text is the message of the person after that conversation. It is in the first line of the
	// log, so that no stopped process loses it.
	Text string `json:"text,omitempty"`
	Cost Cost   `json:"cost"` // of the chain so far
	// NewTokens are the tokens of the chain that its limit counts, 0 in logs of older versions,
	// whose limit counts all tokens.
	NewTokens int64             `json:"new_tokens,omitempty"`
	Messages  []message.Message `json:"messages"`
	Window    int64             `json:"window,omitempty"` // that the service stated, of the first model
}

// Next is the thread that continues.
type Next struct {
	ID      string
	Text    string // a summary for the model, "" if there is none
	Tokens  int64  // of the text
	Failed  bool   // the summary was not made
	Spend   policy.USD
	Turns   int64    // that are carried, at most, in tokens
	Threads []string // that made the summary
}

// continuedData are the data of thread_continued. With them the next thread can be
// started, also by another process.
type continuedData struct {
	To      string   `json:"to"`
	Tokens  int64    `json:"summary_tokens"`
	Turns   int64    `json:"carried_turns"`
	Failed  bool     `json:"summary_failed,omitempty"`
	Thread  string   `json:"summary_thread,omitempty"`
	Threads []string `json:"summary_threads,omitempty"` // if there are several
	Carried *Carried `json:"carried"`
}

// begin sets the thread to where the chain is.
func (c *Carried) begin(t *Thread) {
	if c == nil {
		return
	}
	t.turns = c.Cost.Turns
	t.spent = c.Cost.Spend
	t.usage.Input = c.Cost.InputTokens
	t.usage.Output = c.Cost.OutputTokens
	t.fresher.used = cmp.Or(c.NewTokens, c.Cost.InputTokens+c.Cost.OutputTokens)
	t.active = time.Duration(c.Cost.DurationMS) * time.Millisecond
	t.learn(c.Window)
	t.grow(c.Messages)
	t.grow(c.Text)
	for _, m := range c.Messages {
		t.growMedia(m.Blocks)
	}
	if c.follows() {
		t.growMedia(t.p.Attachments)
	}
}

// MayContinue reports whether another thread can continue the work: the model has answered,
// and the thread is not a node's or a replay.
func (t *Thread) MayContinue() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.p.Continue != nil && t.lastAnswer() != nil
}

// prepareNext prepares the thread that continues, if the loop ended with that. A thread whose model
// has not answered cannot be continued: the next one would begin with the same request.
func (t *Thread) prepareNext(ctx context.Context) error {
	t.mu.Lock()
	wanted := t.ending != nil &&
		t.ending.State == Continued &&
		!t.done &&
		t.p.Continue != nil &&
		t.lastAnswer() != nil
	t.mu.Unlock()
	if !wanted {
		return nil
	}
	n, err := t.p.Continue(ctx, t)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent = t.spent.Plus(n.Spend)
	turns, _, tail := t.trailing(n.Turns)
	messages := []message.Message{}
	if n.Text != "" {
		messages = append(messages, message.Message{Role: message.User, Blocks: []message.Block{message.TextBlock(n.Text)}})
	}
	c := &Carried{
		From:      t.id,
		Root:      t.id,
		Cost:      t.cost(),
		NewTokens: t.fresher.used,
		Messages:  append(messages, tail...),
		Window:    t.windows[0],
	}
	c.Root = t.p.Carried.RootOf(t.id)
	d := &continuedData{
		To:      n.ID,
		Tokens:  n.Tokens,
		Turns:   turns,
		Failed:  n.Failed,
		Carried: c,
	}
	if last := len(n.Threads) - 1; last >= 0 {
		d.Thread = n.Threads[last]
		if last > 0 {
			d.Threads = n.Threads
		}
	}
	raw, err := t.clean(d)
	if err != nil {
		return err
	}
	t.next = &continuedData{}
	if err := json.Unmarshal(raw, t.next); err != nil { // the next model reads what the log has
		return diag.New(diag.Internal, "continuing %s: %w", t.id, err)
	}
	return nil
}

// trailing returns the newest whole turns with at most so many tokens: answers with the
// results of all their calls, and the messages that followed. They begin at the entry end.
// Reasoning is left out: it belongs to the conversation that ended.
func (t *Thread) trailing(tokens int64) (turns int64, end int, out []message.Message) {
	end = len(t.entries)
	for i := end - 1; i >= t.short.from; i-- {
		if t.entries[i].answer == nil {
			continue
		}
		turn := t.spoken(nil, t.entries[i:end], false)
		for j := range turn {
			turn[j].Blocks = withoutReasoning(turn[j].Blocks)
		}
		b, err := jsonx.Marshal(turn)
		if tokens -= int64(len(b)+3) / 4; err != nil || tokens < 0 {
			break
		}
		out = append(turn, out...)
		end = i
		turns++
	}
	return turns, end, out
}

func withoutReasoning(blocks []message.Block) (out []message.Block) {
	for _, b := range blocks {
		if b.Type != message.Reasoning && b.Type != message.Opaque {
			out = append(out, b)
		}
	}
	return out
}

// full is the error of a thread whose conversation is too long and cannot be continued.
func (e *Ending) full() error {
	return diag.New(diag.ContextFull, "%s", cmp.Or(e.Message, "the conversation is longer than the model can read"))
}

// restContinued records that another thread continues. The account stays open: it now belongs
// to that thread.
func (t *Thread) restContinued(ctx context.Context, r *Result) error {
	raw, err := t.clean(t.next)
	if err != nil {
		return err
	}
	if err := t.log.Rest(ctx, evContinued, raw); err != nil {
		return err
	}
	r.ContinuedBy = t.next.To
	r.carried = t.next.Carried
	return t.writeResult(r)
}

// Carried returns the state that the continuing thread takes over, nil if none continues.
func (r *Result) Carried() *Carried {
	return r.carried
}

// Link is one thread of a chain.
type Link struct {
	ID        string   `json:"thread_id"`
	Directive string   `json:"directive"`
	State     string   `json:"state"`
	Turns     int64    `json:"turns"` // of the chain, at the end of the thread
	Cost      Cost     `json:"cost"`  // of the chain, too
	Next      string   `json:"continued_by,omitempty"`
	From      string   `json:"continues,omitempty"`
	Carried   *Carried `json:"-"` // for the next thread
}

// Chain returns the threads of a chain to which a thread belongs, from its root. The last
// one may be continued by a thread whose log a stopped process did not begin.
func Chain(project, id string) ([]Link, error) {
	l, err := link(project, id)
	if err != nil {
		return nil, err
	}
	out := []Link{*l}
	for out[0].From != "" {
		l, err := link(project, out[0].From)
		if err != nil {
			return nil, err
		}
		out = append([]Link{*l}, out...)
	}
	for next := out[len(out)-1].Next; next != ""; next = out[len(out)-1].Next {
		l, err := link(project, next)
		if diag.CodeOf(err) == diag.ThreadNotFound {
			break
		}
		if err != nil {
			return nil, err
		}
		out = append(out, *l)
	}
	return out, nil
}

func link(project, id string) (*Link, error) {
	s, err := Summarize(project, id)
	if err != nil {
		return nil, err
	}
	l := &Link{
		ID:        id,
		Directive: s.Directive.Ref,
		State:     s.State,
		Turns:     s.Cost.Turns,
		Cost:      s.Cost,
		Next:      s.ContinuedBy,
		From:      s.Continues,
	}
	if s.State != Continued {
		return l, nil
	}
	lines, err := transcript.Read(project, id)
	for i := range lines {
		if err == nil && lines[i].Event == evContinued {
			var d continuedData
			var data []byte
			if data, err = dataOf(project, id, &lines[i]); err == nil {
				err = into(data, &d)
			}
			l.Carried = d.Carried
		}
	}
	if err != nil {
		return nil, diag.New(diag.TranscriptBroken, "reading the log of %s: %w", id, err)
	}
	return l, nil
}
