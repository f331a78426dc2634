package threads

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/compact"
	"github.com/ryeos/rye/threads/message"
)

// Shortening is how the conversation of a thread becomes shorter. The log keeps all of it.
type Shortening struct {
	Results []Reference // in place of results of calls
	// Keep is the first turn that the model reads as it was, with Text in place of all before
	// it; 0 replaces no turn.
	Keep     int64
	Text     string
	Artifact string   // that has what Text replaces
	Threads  []string // that summarized it
	Spend    policy.USD
	Failed   string // why there is no summary
}

// Reference is a text in place of a result.
type Reference struct {
	CallID   string `json:"call_id"`
	Text     string `json:"text"`
	Artifact string `json:"artifact,omitempty"` // that has the result
}

// compactedData are the data of context_compacted.
type compactedData struct {
	Step     string      `json:"step"` // references or summary
	Key      string      `json:"key,omitempty"`
	Before   int64       `json:"before"`
	After    int64       `json:"after"`
	Window   int64       `json:"window"`
	Results  []Reference `json:"results,omitempty"`
	Keep     int64       `json:"first_turn,omitempty"`
	Turns    int64       `json:"turns,omitempty"`
	Text     string      `json:"text,omitempty"`
	Artifact string      `json:"artifact,omitempty"`
	Threads  []string    `json:"threads,omitempty"`
	Spend    policy.USD  `json:"spend"`
	Failed   string      `json:"summary_failed,omitempty"`
}

// shortened is what of the conversation the model reads in another form than the log has it.
type shortened struct {
	results map[string]string // the texts in place of results, by call
	from    int               // the first entry that the model reads
	text    string            // in place of the entries before it, and of what was taken over
	byKey   map[string]string // what was done, by the node of the loop that asked for it
}

// Shortened returns the shortening for a node of the loop, "" if there was none: a process that
// was stopped may have made it.
func (t *Thread) Shortened(node string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.short.byKey[node]
}

// Shorten makes the conversation shorter for a node of the loop and records it. Between two of them, each request
// begins with the one before.
func (t *Thread) Shorten(ctx context.Context, node string, s *Shortening) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	bad := func(format string, args ...any) error {
		return diag.New(diag.ValidationFailed, "making the conversation of "+t.id+" shorter: "+format, args...)
	}
	for _, r := range s.Results {
		if t.results[r.CallID] == nil {
			return bad("the call %q has no result", r.CallID)
		}
	}
	at := t.entryOf(s.Keep)
	if s.Keep > 0 && at < 0 {
		return bad("the model does not read a turn %d", s.Keep)
	}
	d := compactedData{
		Step:    compact.References,
		Key:     node,
		Before:  t.used().ContextTokens,
		Window:  t.window(),
		Results: s.Results,
		Threads: s.Threads,
		Spend:   s.Spend,
	}
	if s.Keep > 0 {
		d.Step = compact.Summary
		d.Keep = s.Keep
		d.Text = s.Text
		d.Artifact = s.Artifact
		d.Failed = s.Failed
		for _, e := range t.entries[t.short.from:at] {
			if e.answer != nil {
				d.Turns++
			}
		}
	}
	raw, err := t.clean(d)
	if err != nil {
		return err
	}
	var kept compactedData // the model reads what the log has
	if err := json.Unmarshal(raw, &kept); err != nil {
		return diag.New(diag.Internal, "making the conversation of %s shorter: %w", t.id, err)
	}
	if at > t.short.from ||
		slices.ContainsFunc(kept.Results, func(r Reference) bool { _, was := t.short.results[r.CallID]; return !was }) {
		t.misses = 0 // the next request differs
	}
	t.shorten(&kept)
	kept.After = t.used().ContextTokens
	return t.record(ctx, true, evCompacted, kept)
}

// shorten applies a line of the log.
func (t *Thread) shorten(d *compactedData) {
	if t.short.results == nil {
		t.short.results = map[string]string{}
		t.short.byKey = map[string]string{}
	}
	for _, r := range d.Results {
		t.short.results[r.CallID] = r.Text
	}
	at := t.entryOf(d.Keep)
	if d.Keep > 0 && at >= 0 {
		t.short.from = at
		t.short.text = d.Text
	}
	if d.Key != "" {
		t.short.byKey[d.Key] = d.Step
	}
	t.spent = t.spent.Plus(d.Spend)
	t.recount()
}

// entryOf returns the index of the answer of a turn that the model reads, -1 for none.
func (t *Thread) entryOf(turn int64) int {
	for i := t.short.from; i < len(t.entries); i++ {
		a := t.entries[i].answer
		if a != nil && a.turn == turn {
			return i
		}
	}
	return -1
}

// Sizes returns the conversation as the model reads it, in tokens.
func (t *Thread) Sizes() compact.View {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.used()
	v := compact.View{Window: u.Window, Tokens: u.ContextTokens, Turns: []compact.Turn{}}
	req := t.request(t.p.Services[t.service])
	req.Messages = nil
	v.Head = inTokens(req)
	if t.prompt != nil {
		v.Head += inTokens(t.prompt.Message.Blocks)
	}
	v.Summary = inTokens(t.before())
	for i := t.short.from; i < len(t.entries); {
		end := i + 1
		for end < len(t.entries) && t.entries[end].answer == nil {
			end++
		}
		v.Turns = append(v.Turns, t.sizeOf(t.entries[i:end]))
		i = end
	}
	return v
}

// sizeOf returns one turn: an answer and the messages after it.
func (t *Thread) sizeOf(entries []entry) compact.Turn {
	out := compact.Turn{Tokens: inTokens(t.spoken(nil, entries, false)), Results: []compact.Result{}}
	if entries[0].answer == nil {
		return out
	}
	out.Number = entries[0].answer.turn
	for _, c := range entries[0].answer.resp.Calls() {
		if t.results[c.ID] != nil {
			_, short := t.short.results[c.ID]
			out.Results = append(out.Results, compact.Result{CallID: c.ID, Tokens: inTokens(t.resultOf(c.ID, false).Content), Short: short})
		}
	}
	return out
}

// Older is what a summary would replace.
type Older struct {
	Messages []message.Message // the first message, an earlier summary, and the turns
	Persons  []string          // messages of persons in all turns that are replaced, the oldest first
	Turns    int64
}

// Older returns the conversation before a turn with all results as they were. If the turn is 0,
// it is all of the conversation, and so many tokens of its newest turns stay.
func (t *Thread) Older(keep, tail int64) Older {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.entryOf(keep)
	stays := end
	if end < 0 {
		end = len(t.entries)
		_, stays, _ = t.trailing(tail)
	}
	var out Older
	if t.prompt != nil {
		out.Messages = joined(nil, message.Message{Role: message.User, Blocks: t.first()})
	}
	for _, m := range t.before() {
		out.Messages = joined(out.Messages, m)
	}
	out.Messages = t.spoken(out.Messages, t.entries[t.short.from:end], true)
	for i, e := range t.entries[:end] {
		if e.answer != nil && i >= t.short.from {
			out.Turns++
		}
		if e.source != byPerson || i >= stays {
			continue
		}
		for _, b := range e.message.Blocks {
			if b.Type == message.Text {
				out.Persons = append(out.Persons, b.Text)
			}
		}
	}
	return out
}

// byPerson is the source of a message of a person.
const byPerson = "person"

// before returns the messages that the model reads in place of turns that it does not read any
// more.
func (t *Thread) before() []message.Message {
	switch {
	case t.short.text != "":
		return []message.Message{{Role: message.User, Blocks: []message.Block{message.TextBlock(t.short.text)}}}
	case t.p.Carried.follows():
		return t.followed()
	case t.p.Carried != nil:
		return t.p.Carried.Messages
	}
	return nil
}

// Keep writes an artifact of the thread and returns its id.
func (t *Thread) Keep(text string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.store([]byte(text))
}

// learn takes the window that a service stated, for the rest of the thread.
func (t *Thread) learn(window int64) {
	if window <= 0 {
		return
	}
	if t.windows == nil {
		t.windows = map[int]int64{}
	}
	t.windows[t.service] = window
}

// window returns the tokens of the longest request of the current model, 0 if unknown.
func (t *Thread) window() int64 {
	if w := t.windows[t.service]; w > 0 {
		return w
	}
	return t.p.Services[t.service].Window
}

// withinWindow lowers the maximum of an answer to what the request leaves of the window: many
// services refuse both together if they are longer. It is halved, because each other figure
// changes the beginning of a request.
//
// A service that refuses a request without a figure has the window of that request: the estimate
// is on both sides.
func (t *Thread) withinWindow(most int64) int64 {
	window := t.window()
	if window <= 0 {
		return most
	}
	left := window - t.used().ContextTokens
	for most > left && most/2 >= max(t.p.MinOutput, 1) {
		most /= 2
	}
	return most
}

// recount estimates the whole next request, because no answer has counted its beginning.
func (t *Thread) recount() {
	t.last, t.fresh = nil, bytesOf(t.request(t.p.Services[t.service]))
}

// imageBytes are counted for an image or a file in place of its content: their tokens do not
// depend on the bytes.
const imageBytes = 6400

// bytesOf returns the size of a value in JSON.
func bytesOf(v any) int64 {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return 0
	}
	n := int64(len(b))
	var blocks []message.Block
	switch v := v.(type) {
	case []message.Block:
		blocks = v
	case []message.Message:
		for _, m := range v {
			blocks = slices.Concat(blocks, m.Blocks)
		}
	case *message.Request:
		for _, m := range v.Messages {
			blocks = slices.Concat(blocks, m.Blocks)
		}
	}
	for _, x := range blocks {
		for _, b := range append([]message.Block{x}, x.Content...) {
			if len(b.Data) > 0 {
				n += imageBytes - int64(base64.StdEncoding.EncodedLen(len(b.Data)))
			}
		}
	}
	return n
}

func inTokens(v any) int64 {
	return (bytesOf(v) + 3) / 4
}
