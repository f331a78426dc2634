package activity

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// childTool starts a thread. It prints "thread ID" when the thread has begun.
const childTool = "tool:rye/agent/threads/thread_directive"

// Tree has the blocks of a log and of the logs below it.
type Tree struct {
	ID     string
	Depth  int
	Blocks []*Block
	Tokens int64
	Spent  policy.USD
	Model  Model
	Turn   int64
	State  string // how the last process ended; "" while one works

	start  Start
	kept   int // lines that a block keeps of what its call prints
	headed bool
	graph  bool // the log is of a run of a graph
	nodes  int  // of the graph
	number int  // of the last call
	calls  map[string]*Block
	asked  map[string]*Block
	live   []*Block // that were begun, also some that have ended
	text   *Block
	reason *Block
	last   string    // the last note
	until  time.Time // when the next attempt of a failed call is made; zero for none
	below  map[string]*Tree
}

// KeepOutput has the tree keep all that calls print.
func (t *Tree) KeepOutput() {
	t.kept = math.MaxInt
}

// New returns the tree of a log without lines.
func New(s Start) *Tree {
	return &Tree{
		ID:    s.ThreadID,
		start: s,
		kept:  keptLines,
		calls: map[string]*Block{},
		asked: map[string]*Block{},
		below: map[string]*Tree{},
	}
}

// Before takes the lines of processes that ended: later lines come from a new process, whose
// first line is the head again.
func (t *Tree) Before(lines []transcript.Line) {
	for i := range lines {
		t.line(&lines[i])
	}
	for _, b := range t.Live() { // the next process makes a call again, or states that it was stopped
		b.State = ""
	}
	t.text = nil
	t.reason = nil
	t.live = nil
	t.headed = false
	t.State = ""
	t.Model = Model{}
	t.until = time.Time{}
	t.last = ""
}

// Log returns the tree of a log below this one, and this one for its own id.
func (t *Tree) Log(id string) *Tree {
	if id == t.ID || id == "" {
		return t
	}
	for _, b := range t.below {
		if found := b.Log(id); found != nil {
			return found
		}
	}
	return nil
}

// Add takes a line of a log: the log of the tree, or one below. Lines of other logs begin one
// below.
func (t *Tree) Add(log string, l *transcript.Line) []Change {
	at := t.Log(log)
	if at == nil {
		at = t.open(log)
	}
	return at.line(l)
}

// open begins a log below.
func (t *Tree) open(id string) *Tree {
	if b := t.below[id]; b != nil {
		return b
	}
	b := New(Start{ThreadID: id})
	b.Depth = t.Depth + 1
	t.below[id] = b
	return b
}

func (t *Tree) block(k Kind, l *transcript.Line) *Block {
	b := &Block{
		Kind:  k,
		Log:   t.ID,
		Depth: t.Depth,
		State: Open,
		Began: l.At(),
	}
	t.begins(b)
	return b
}

func (t *Tree) begins(b *Block) {
	b.Turn = t.Turn
	t.Blocks = append(t.Blocks, b)
	t.live = append(t.live, b)
}

// ended returns the change of a block that ends with a line.
func (t *Tree) ended(b *Block, s State, l *transcript.Line) Change {
	b.State, b.Ended = s, l.At()
	return Change{Block: b, Ended: true}
}

func (t *Tree) note(text string, l *transcript.Line) []Change {
	if text == "" || text == t.last { // the loop and the kernel find the same limit
		return nil
	}
	t.last = text
	b := t.block(Note, l)
	b.Text = text
	return []Change{t.ended(b, Done, l)}
}

// line takes the next line of the log.
func (t *Tree) line(l *transcript.Line) []Change {
	render := notes()[l.Event]
	if render != nil && !(l.Event == "thread_resumed" && t.graph) {
		out := t.interrupted(l)
		return append(out, t.note(render(t, l), l)...)
	}
	switch l.Event {
	case "thread_started":
		return t.started(l)
	case "turn_started":
		var d struct {
			Turn int64 `json:"turn"`
		}
		if l.Decode(&d) == nil {
			t.Turn = d.Turn
		}
	case "model_request":
		return t.request(l)
	case "token_delta":
		return t.delta(l)
	case "model_response":
		return t.response(l)
	case "tool_call":
		return t.call(l)
	case "tool_output":
		return t.output(l)
	case "tool_denied":
		return t.deny(l)
	case "tool_result":
		return t.result(l)
	case "approval_requested":
		return t.ask(l)
	case "approval_resolved":
		return t.answer(l)
	case "message_added":
		return t.message(l)
	case "thread_suspended", "thread_completed", "thread_error", "thread_cancelled", "thread_killed", "thread_continued":
		return t.end(l)
	default:
		if t.graph || l.Event == "graph_started" && len(t.Blocks) == 0 && !t.headed {
			return t.graphLine(l)
		}
	}
	return nil
}

// interrupted takes what an error of the model, or the next process of the thread, ends.
func (t *Tree) interrupted(l *transcript.Line) []Change {
	switch l.Event {
	case "model_error":
		t.Model = Model{}
		var d errorData
		if t.until = (time.Time{}); l.Decode(&d) == nil && d.RetryIn != nil {
			t.until = l.At().Add(time.Duration(*d.RetryIn) * time.Millisecond)
		}
	case "thread_resumed":
		t.State = ""
		t.Model = Model{}
		t.until = time.Time{}
	default:
		return nil
	}
	return t.textEnds(l)
}

func (t *Tree) started(l *transcript.Line) []Change {
	var d struct {
		Directive struct {
			Ref string `json:"ref"`
		} `json:"directive"`
		Version  string `json:"version"`
		Signer   string `json:"signer"`
		Owner    string `json:"owner"`
		Attempts int64  `json:"attempts"`
		Model    string `json:"model"`
		Limits   struct {
			Turns int64      `json:"turns"`
			Spend policy.USD `json:"spend"`
		} `json:"limits"`
		Spawned *struct {
			By string `json:"by"`
		} `json:"spawned"`
	}
	if l.Decode(&d) != nil {
		return nil
	}
	s := &t.start
	s.Ref, s.Version, s.Model = cmp.Or(s.Ref, d.Directive.Ref), cmp.Or(s.Version, d.Version), cmp.Or(s.Model, d.Model)
	s.Signer = cmp.Or(s.Signer, d.Owner, d.Signer)
	s.Attempts = cmp.Or(s.Attempts, d.Attempts)
	s.Turns, s.Spend = cmp.Or(s.Turns, d.Limits.Turns), cmp.Or(s.Spend, d.Limits.Spend)
	return t.Head(l)
}

// Head returns the first block, unless the log has it already.
func (t *Tree) Head(l *transcript.Line) []Change {
	if t.headed {
		return nil
	}
	t.headed = true
	s := &t.start
	b := t.block(Head, l)
	b.ID = t.ID
	b.Spent = t.Spent
	b.Max = s.Spend
	b.MaxTurns = s.Turns
	b.Title = strings.TrimPrefix(s.Ref, "directive:")
	if s.Version != "" {
		b.Title += "@" + s.Version
	}
	b.Args = s.Signer
	b.Text = s.Model
	return []Change{t.ended(b, Done, l)}
}

func (t *Tree) request(l *transcript.Line) []Change {
	var d struct {
		Turn     int64      `json:"turn"`
		Model    string     `json:"model"`
		Reserved policy.USD `json:"reserved"`
	}
	if l.Decode(&d) == nil {
		t.Model = Model{Name: d.Model, Since: l.At(), Reserved: d.Reserved}
		t.Turn = max(t.Turn, d.Turn)
	}
	t.until = time.Time{}
	return nil
}

func (t *Tree) delta(l *transcript.Line) []Change {
	var d message.Delta
	if l.Decode(&d) != nil {
		return nil
	}
	switch d.Kind {
	case message.DeltaText:
		t.Model.Writing = true
		t.Model.Call = ""
		if t.text == nil {
			t.text = t.block(Text, l)
		}
		t.text.Text += d.Text
		return []Change{{Block: t.text, Piece: d.Text}}
	case message.DeltaReasoning:
		if t.Model.Thinking.IsZero() {
			t.Model.Thinking = l.At()
		}
		if t.reason == nil {
			t.reason = t.block(Reasoning, l)
		}
		t.reason.Text += d.Text
		return []Change{{Block: t.reason, Piece: d.Text}}
	case message.DeltaCallStart:
		t.Model.Call = short(d.Name)
	}
	return nil
}

// textEnds ends the text that arrived.
func (t *Tree) textEnds(l *transcript.Line) (out []Change) {
	for _, b := range []**Block{&t.reason, &t.text} {
		if *b != nil {
			out = append(out, t.ended(*b, Done, l))
			*b = nil
		}
	}
	return out
}

func (t *Tree) response(l *transcript.Line) []Change {
	var d struct {
		Turn   int64           `json:"turn"`
		Blocks []message.Block `json:"blocks"`
		Usage  message.Usage   `json:"usage"`
		Cost   policy.USD      `json:"cost"`
		Aside  bool            `json:"aside"`
	}
	if l.Decode(&d) != nil {
		return nil
	}
	t.Model = Model{}
	streamed := t.text != nil
	out := t.textEnds(l)
	for _, b := range d.Blocks {
		switch {
		case b.Type == message.ToolCall && b.Input != nil: // as the model wrote it
			c := t.calls[b.ID]
			if c == nil {
				c = &Block{
					Kind:  Call,
					ID:    b.ID,
					Log:   t.ID,
					Depth: t.Depth,
				}
				t.calls[b.ID] = c
			}
			c.Title, c.Args = short(b.Name), arguments(b.Input)
		case b.Type == message.Text && !streamed && !d.Aside && strings.TrimSpace(b.Text) != "":
			text := t.block(Text, l)
			text.Text = b.Text
			out = append(
				out,
				Change{Block: text, Piece: b.Text},
				t.ended(text, Done, l),
			)
		}
	}
	t.Tokens += d.Usage.Total()
	t.Spent = t.Spent.Plus(d.Cost)
	b := t.block(Turn, l)
	b.Number = int(d.Turn)
	b.MaxTurns = t.start.Turns
	b.Tokens = t.Tokens
	b.Spent = t.Spent
	b.Max = t.start.Spend
	return append(out, t.ended(b, Done, l))
}

func (t *Tree) ask(l *transcript.Line) []Change {
	var d struct {
		ID      string `json:"approval_id"`
		CallID  string `json:"call_id"`
		Summary string `json:"summary"`
	}
	if l.Decode(&d) != nil {
		return nil
	}
	b := t.block(Question, l)
	b.ID = d.ID
	b.Text = d.Summary
	t.asked[d.ID] = b
	return []Change{{Block: b}}
}

func (t *Tree) answer(l *transcript.Line) []Change {
	var d struct {
		ID       string `json:"approval_id"`
		Decision string `json:"decision"`
		By       string `json:"by"`
	}
	if l.Decode(&d) != nil || t.asked[d.ID] == nil {
		return nil
	}
	b := t.asked[d.ID]
	delete(t.asked, d.ID)
	b.Args = strings.TrimSpace(d.Decision + " by " + d.By)
	return []Change{t.ended(b, Done, l)}
}

func (t *Tree) message(l *transcript.Line) []Change {
	var d struct {
		Source string          `json:"source"`
		Blocks []message.Block `json:"blocks"`
	}
	if l.Decode(&d) != nil {
		return nil
	}
	switch d.Source {
	case "hook", "nudge", "max_output", "watchdog", "continuation":
		return nil
	}
	for _, b := range d.Blocks {
		if b.Type == message.Text && strings.TrimSpace(b.Text) != "" {
			out := t.note(
				fmt.Sprintf("message from %s  %s", shortened(d.Source, maxInput), shortened(b.Text, maxMessage)),
				l,
			)
			for i := range out {
				out[i].Block.FromPerson = d.Source == "person"
			}
			return out
		}
	}
	return nil
}

// end takes the end of a process: the thread or run has ended or is suspended.
func (t *Tree) end(l *transcript.Line) []Change {
	var d struct {
		Reason string   `json:"reason"`
		Nodes  []string `json:"nodes"`
		To     string   `json:"to"`
		Cost   struct {
			Spend policy.USD `json:"spend"`
		} `json:"cost"`
		Ask *struct {
			Question string `json:"question"`
		} `json:"ask"`
	}
	_ = l.Decode(&d) // an end of a form that is not known is an end
	t.State = strings.TrimPrefix(strings.TrimPrefix(l.Event, "thread_"), "graph_")
	t.until = time.Time{}
	t.Model = Model{}
	out := t.textEnds(l)
	if t.graph && l.Event == "thread_suspended" {
		out = append(out, t.suspendedNodes(d.Reason, d.Nodes, l)...)
	}
	b := t.block(End, l)
	b.ID = t.ID
	b.Title = t.State
	b.Args = d.Reason
	b.Spent = max(t.Spent, d.Cost.Spend)
	if t.Spent = b.Spent; d.Ask != nil {
		b.Text = d.Ask.Question
	}
	if d.To != "" {
		b.Args = d.To
	}
	return append(out, t.ended(b, Done, l))
}

// Waiting returns how long the thread still waits for a service, 0 if it does not.
func (t *Tree) Waiting(now time.Time) time.Duration {
	if t.until.IsZero() {
		return 0
	}
	return max(0, t.until.Sub(now))
}

// Live returns the blocks that are open, in the order of their start, without texts.
func (t *Tree) Live() []*Block {
	t.live = slices.DeleteFunc(t.live, func(b *Block) bool {
		return b.State != Open
	})
	var out []*Block
	for _, b := range t.live {
		if b.Kind != Text && b.Kind != Reasoning {
			out = append(out, b)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.below)) {
		if s := t.below[id]; s.graph {
			out = append(out, s.Live()...)
		}
	}
	return out
}

// Answered reports whether a text is the last answer of the model.
func (t *Tree) Answered(text string) bool {
	for i := len(t.Blocks) - 1; i >= 0; i-- {
		if t.Blocks[i].Kind == Text {
			return strings.TrimSpace(text) != "" &&
				strings.TrimSpace(t.Blocks[i].Text) == strings.TrimSpace(text)
		}
	}
	return false
}

// IsGraph reports whether the log is of a run of a graph.
func (t *Tree) IsGraph() bool {
	return t.graph
}

// Start returns the facts of the head.
func (t *Tree) Start() Start {
	return t.start
}
