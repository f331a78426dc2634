// Package threads runs one thread: it does the work of a directive with a model, in
// this process. It is the kernel below the loop. It starts, records, resumes and ends
// the thread, reserves money before each call of a model, keeps the limits, and passes
// each call of a tool through the gates.
//
// It has no loop over turns: the order of a turn is the graph item of the loop, which
// Params.Loop walks. It knows no wire format of a service, and must not import
// threads/provider. It opens no project: what it needs of one are functions of Params.
package threads

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// Limits are the limits of a thread, all of them finite.
type Limits = policy.ThreadLimits

// The states of a thread.
const (
	Running   = "running"
	Suspended = "suspended"
	Completed = "completed"
	Failed    = "error"
	Cancelled = "cancelled"
	Killed    = "killed" // a person ended its process by force
)

// Ledger is the account of the thread: money is reserved in it before it is spent. Each
// method is one transaction and is idempotent by id.
type Ledger interface {
	// Balance returns the amount that the thread can reserve now: the rest of its own maximum,
	// or of the maximum of the day or the month if that is less.
	Balance(ctx context.Context) (policy.Balance, error)
	// Reserve fails with BUDGET_EXCEEDED if the amount does not fit.
	Reserve(ctx context.Context, id, model string, amount policy.USD) error
	// Settle records what a reservation has cost. Its error is OVERSPENT if that is more
	// than was reserved.
	Settle(ctx context.Context, id string, actual policy.USD, assumed bool) error
	// Recover settles the reservations that a stopped process left open: in full if the
	// request was sent, else with nothing.
	Recover(ctx context.Context, sent func(id string) bool) error
	// Keep states that the thread lives until stop is called. lost is called if it must
	// not continue: with THREAD_STATE if another process has taken it over, which then writes
	// the log, or with TOKEN_INVALID.
	Keep(ctx context.Context, lost func(error)) (stop func())
	// Settled returns the cost of a reservation, whether it is assumed, and ok false while it is open.
	Settled(ctx context.Context, id string) (cost policy.USD, assumed, ok bool, err error)
	// Pause closes the account of a thread that is suspended: what is reserved for it stays.
	Pause(ctx context.Context, reason string) error
	// Release closes the account in a state.
	Release(ctx context.Context, state, reason string) error
}

// Service is one model of a provider item.
type Service struct {
	Provider  item.Ref
	Digest    item.Digest
	Model     string
	Tier      string // "" if the model was named
	Window    int64  // tokens of the longest request; 0 is unknown
	MaxOutput int64  // tokens of the longest answer
	// WorstCase returns the most that a request can cost. previous is the last call of
	// the conversation, whose messages the request has too, or nil.
	WorstCase func(req *message.Request, previous *Previous) (Estimate, error)
	// Inputs are the kinds of input of the model: text, image, pdf, audio.
	Inputs []string
	// CheckMedia returns why the model does not read an image or a file. Nil: it reads every
	// one.
	CheckMedia func(b *message.Block) error
	// MediaTokens returns the tokens that are reserved for an image or a file; nil: none.
	MediaTokens func(b *message.Block) int64
	// Cost returns the cost of a usage of the model that answered.
	Cost func(model string, u message.Usage) (cost policy.USD, assumed bool)
}

// Previous is a call that was answered.
type Previous struct {
	Usage message.Usage
	Bytes int64 // Estimate.Bytes of the call
	Media int64 // Estimate.Media of the call
}

// Estimate is the most that a call can use.
type Estimate struct {
	Input  int64 // tokens
	Output int64 // tokens, with those for reasoning
	Bytes  int64 // of the encoded request, without images and files
	Media  int64 // tokens of images and files
	Cost   policy.USD
}

// Failure is a call of a model that failed: what error classification reads.
type Failure struct {
	Status       int               `json:"status_code,omitempty"`
	Code         string            `json:"code,omitempty"`
	Type         string            `json:"type,omitempty"`
	Message      string            `json:"message,omitempty"`
	Reason       string            `json:"reason,omitempty"`
	Headers      map[string]string `json:"headers,omitempty"`
	RetryAfterMS int64             `json:"retry_after_ms,omitempty"`
	Body         string            `json:"body,omitempty"` // of the error, as the service wrote it
	Usage        message.Usage     `json:"-"`
	Err          error             `json:"-"`
}

// Error returns the message.
func (f *Failure) Error() string {
	if f.Err != nil {
		return f.Err.Error()
	}
	return f.Message
}

// Unwrap returns the error of the service.
func (f *Failure) Unwrap() error {
	return f.Err
}

// Caller makes one attempt of a call of a service.
type Caller func(ctx context.Context, req *message.Request, onDelta func(message.Delta)) (*message.Response, error)

// Identity names an item with the digest of its file.
type Identity struct {
	Ref    string           `json:"ref"`
	Digest item.Digest      `json:"digest,omitzero"`
	Space  transcript.Space `json:"space,omitempty"` // that has the item, "" in logs of older versions
}

// Directive is what a thread does.
type Directive struct {
	Identity
	Version string
	Signer  string
	Owner   string
	Extends []Identity
	Inputs  map[string]any
	Outputs []item.Input
	Checks  []Check
}

// Check is a tool that checks the outputs before the thread ends.
type Check struct {
	Tool     string
	Attempts int64
}

// Offered is a tool as a model sees it, and the item that a call of it executes.
type Offered struct {
	message.ToolDef
	Ref    string      `json:"ref"`
	Digest item.Digest `json:"digest,omitzero"`
	Verb   policy.Verb `json:"verb,omitempty"` // of rye_search, rye_load, rye_execute and rye_sign
	Tier   policy.Tier `json:"tier,omitempty"` // of the item; reads run together
}

// ToolCall is a call that passed the schema of its tool.
type ToolCall struct {
	ID     string
	Node   string // the key of the node of the loop during which the call is made
	Tool   Offered
	Input  map[string]any
	Held   policy.Held
	By     string                                                            // the program that makes the call; "" is the model
	Key    string                                                            // equal when the call is repeated after a crash
	Again  bool                                                              // a process that was stopped had begun it
	Start  func(ref string, digest item.Digest, tier, decision string) error // records the call of these bytes; it must be called before the work starts
	Output func(stream, text string)                                         // receives output while the tool runs
	// Approve returns the answer of a person about the call, which the log has then. It is
	// nil if none can come: no person can be asked, or the thread is suspended for it.
	Approve func(ctx context.Context, q *Question) (*Reply, error)

	cut bool // a model reads the result of the program's call
}

// ToolResult is the result of a call.
type ToolResult struct {
	Data    any             // as a program reads it, and a model if Blocks is nil
	Blocks  []message.Block // as a model reads it
	IsError bool
	Page    bool // it is a part of a text that fits, and is not cut
	Sandbox any
	// Fingerprint identifies the data without what the tool declares as volatile; "" for a
	// result without such values.
	Fingerprint string

	replayed bool
}

// Guarded is a result as the model reads it.
type Guarded struct {
	Blocks   []message.Block
	Cut      bool
	Artifact []byte // the whole as text, if it was cut
}

// Observer receives the lines of a thread's log as they are written. It must not write
// to the log.
type Observer func(transcript.Line)

// Params are what a thread needs. All functions are required unless their comment
// states something else.
type Params struct {
	Project string
	Parent  string   // the run of a graph whose node started the thread, "" for none
	Spawned *Spawned // of a thread that a thread started as a process, nil for others
	Program string   // the version of rye
	Lock    string   // the digest of rye.lock
	Signer  sign.Signer
	Keys    transcript.Keys
	Heads   string // see transcript.Params
	Now     func() time.Time
	PID     int

	Directive Directive
	Held      policy.Held // of the thread: the caller's and the directive's
	Limits    Limits
	Services  []*Service // the first is used; the others are its fallbacks
	MaxOutput int64      // of one answer; 0 is the model's
	// MinOutput is the lowest maximum of an answer when money or tokens are short: with
	// less, a model cannot finish a call of a tool.
	MinOutput int64
	// MaxAttempts bounds the attempts of one call of the model, whatever the loop decides:
	// each fallback adds one. 0 means without a bound.
	MaxAttempts int64
	Effort      string
	Temp        string
	Serial      bool   // at most one call in an answer
	Message     string // of the person, the last part of the first message
	// Attachments are the images and files of the first message, with their content if the
	// thread is to store it. Attached are those that a person adds when they resume it.
	Attachments []message.Block
	Attached    []message.Block
	ResumedBy   string // who resumes the thread, "" for a person
	// Carried is what the thread takes over from the one that it continues, or nil.
	Carried *Carried
	// Interactive states that a turn without calls waits for the next message of a person.
	Interactive bool
	Workspace   WorkingCopy
	NoSuspend   bool // a thread that would be suspended ends with APPROVAL_REQUIRED
	Sandbox     any

	// Number returns the number of the thread in the user account. Nil: it has none.
	Number func(ctx context.Context, thread string) (int64, error)
	// Account opens the account of the thread, again after a rest.
	Account func(ctx context.Context, thread string, limit policy.USD) (Ledger, error)
	// Loop walks the graph of the loop from its start, or from where the lines of the
	// log end. Its error is nil if the loop ended by itself.
	Loop func(ctx context.Context, t *Thread, log *transcript.Log, lines []transcript.Line) error
	// LoopItem is the item of that graph.
	LoopItem Identity
	// Steps are the items that the loop can call as steps, as they are at the start.
	Steps []Identity
	// Changes are the items of a resumed thread that changed since it started, all of them accepted.
	Changes []transcript.Change
	// Execute runs a provider item for a node of the loop; what it executes calls Attempt.
	Execute func(ctx context.Context, t *Thread, node string, s *Service) error
	// ForModel makes an image or a file ready for models, in a process of its own. Nil keeps
	// it as it is.
	ForModel func(ctx context.Context, b message.Block) (message.Block, error)
	// Guard cuts a result to what the model reads. Nil keeps all of it.
	Guard func(ctx context.Context, c *ToolCall, r *ToolResult) (*Guarded, error)
	// Repeatable reports whether a call that a stopped process had started may start
	// again. Nil repeats none.
	Repeatable func(ctx context.Context, ref string) bool
	// Revoked returns an error if a signer of what the thread follows was revoked since it
	// started. It is asked before each call of the model. Nil means that none is.
	Revoked func(ctx context.Context) error
	// Check runs a check of the outputs, which are the input of c; the model reads its error.
	Check func(ctx context.Context, c *ToolCall, tool string) error
	// Continue names the thread that continues when the loop ends in the state continued, and
	// summarizes the conversation. With nil such a thread ends with CONTEXT_FULL.
	Continue func(ctx context.Context, t *Thread) (*Next, error)
	// Decided returns the answer to a question about a call that another process wrote into
	// the inbox, nil without one, and Took removes it when the log has it. They may be nil.
	Decided func(question string) (*Decision, error)
	Took    func(question string) error
	// Source returns who may record an event: kernel, step or graph, "" for an event that
	// config:agent/events does not have.
	Source func(event string) string
	// Redact removes the values of keys from JSON or text. Nil removes nothing.
	Redact func([]byte) []byte
	// RedactText returns the same for a text that arrives in pieces. Nil removes nothing.
	RedactText func() TextFilter
	// Replay answers the calls of models and tools from the log of an earlier thread. Nil
	// replays none.
	Replay *Replay
	// Observe receives each event. It may be nil.
	Observe Observer
}

// Thread is one thread that this process runs.
type Thread struct {
	p     Params
	id    string
	log   *transcript.Log
	money Ledger

	mu     sync.Mutex
	began  time.Time
	active time.Duration // of earlier processes
	// The time in which a person was asked, which is not a part of elapsed: of the questions
	// that are open now, holds is the number and heldSince the start.
	held      time.Duration
	holds     int
	heldSince time.Time
	limit     *time.Timer // ends the walk when the time is over
	prompt    *Prompt
	entries   []entry // of the conversation, in order
	results   map[string]*recordedResult
	started   map[string]bool   // calls whose tool_call is recorded
	asides    map[string]*aside // calls of programs, as an earlier process recorded them
	made      map[string]int    // calls of programs of this process, by what they run for
	byKey     map[string]*answer
	attempts  int64 // of the turn
	misses    int64 // attempts of this process since the last answer
	turns     int64 // answers
	inTurn    bool  // turn_started is recorded for the next answer
	usage     message.Usage
	fresher   newTokens
	last      *Previous     // of the last answer
	fresh     int64         // bytes of the conversation since
	short     shortened     // what of the conversation the model reads in another form
	windows   map[int]int64 // that services stated, by index
	spent     policy.USD
	service   int // index into Services
	failure   *pending
	lastErr   error // of the last call of the model; nil if it answered
	returned  map[string]any
	done      bool // returned is set
	tries     map[string]int64
	steps     []Identity
	walks     int                    // of the loop, as the log has them
	open      map[string]reservation // requests without an answer, by the id of their reservation
	sent      map[string]bool        // reservations of the requests that the log has
	skip      map[string]int         // events that a step in flight recorded before a crash, by key
	ending    *Ending
	next      *continuedData            // of the thread that is continued
	refused   error                     // the last limit that was reached
	schemas   map[string]*schema.Schema // of the tools, by their text
	asked     []*asked                  // questions about calls that have not begun, the oldest first
	grants    []grant
	waiting   map[string]*asked // for whose answers the thread must be suspended, by the call
	stop      func(error)

	linesMu sync.Mutex
	lines   []transcript.Line // of the log
}

// entry is one part of the conversation: a message that was added, or an answer.
type entry struct {
	message message.Message
	source  string // of the message
	answer  *answer
}

// answer is a model_response as the log has it.
type answer struct {
	turn int64
	resp message.Response
}

// pending is a failed attempt whose model_error is not yet recorded.
type pending struct {
	turn, attempt int64
	failure       *Failure
	cost          policy.USD
	assumed       bool
	over          policy.USD // more than the reservation
}

// ID returns the id of the thread.
func (t *Thread) ID() string {
	return t.id
}

// Params returns the parameters with which the thread was started.
func (t *Thread) Params() *Params {
	return &t.p
}

// Held returns the permissions of the thread.
func (t *Thread) Held() policy.Held {
	return t.p.Held
}

// Turn returns the number of the turn, 0 before the first.
func (t *Thread) Turn() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.turn()
}

func (t *Thread) turn() int64 {
	if t.inTurn {
		return t.turns + 1
	}
	return t.turns
}

// Usage is what a thread has used of its limits.
type Usage struct {
	Turns         int64      `json:"turns"`
	InputTokens   int64      `json:"input_tokens"`
	OutputTokens  int64      `json:"output_tokens"`
	Spend         policy.USD `json:"spend"`
	Spawns        int64      `json:"spawns"`
	DurationMS    int64      `json:"duration_ms"`
	NewTokens     int64      `json:"new_tokens"` // that the limit of tokens counts
	ContextTokens int64      `json:"context_tokens"`
	Window        int64      `json:"window"`
}

// Used returns the usage of the thread.
func (t *Thread) Used() Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used()
}

func (t *Thread) used() Usage {
	u := Usage{
		Turns:        t.turns,
		InputTokens:  t.usage.InputTotal(),
		OutputTokens: t.usage.Output,
		NewTokens:    t.fresher.used,
		Spend:        t.spent,
		DurationMS:   t.elapsed().Milliseconds(),
		Window:       t.window(),
	}
	u.ContextTokens = (t.fresh + 3) / 4
	if t.last != nil {
		u.ContextTokens += t.last.Usage.Total()
	}
	return u
}

func (t *Thread) elapsed() time.Duration {
	now := t.p.Now()
	if t.holds > 0 {
		now = t.heldSince
	}
	return t.active + now.Sub(t.began) - t.held
}

// Cost is what a thread has cost, in results and in thread.json.
type Cost struct {
	Turns        int64      `json:"turns"`
	InputTokens  int64      `json:"input_tokens"`
	OutputTokens int64      `json:"output_tokens"`
	Spend        policy.USD `json:"spend"`
	DurationMS   int64      `json:"duration_ms"`
}

func (t *Thread) cost() Cost {
	u := t.used()
	return Cost{u.Turns, u.InputTokens, u.OutputTokens, u.Spend, u.DurationMS}
}

// Service returns the model that the thread uses now.
func (t *Thread) Service() *Service {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.p.Services[t.service]
}

// Lines returns the lines of the transcript so far. The caller must not change them.
func (t *Thread) Lines() ([]transcript.Line, error) {
	t.linesMu.Lock()
	defer t.linesMu.Unlock()
	return slices.Clip(t.lines), nil
}

// written takes a line that is in the log.
func (t *Thread) written(l *transcript.Line) {
	t.linesMu.Lock()
	t.lines = append(t.lines, *l)
	t.linesMu.Unlock()
	if t.p.Observe != nil {
		t.p.Observe(*l)
	}
}

// Flush returns when every line of the transcript is on the disk.
func (t *Thread) Flush() error {
	return t.log.Flush()
}

// exceeded returns the error for a limit.
func exceeded(code diag.Code, thread, limit string, value, most any) *diag.Error {
	return diag.New(code, "running %s: its limit of %s is reached: %v of %v", thread, limit, value, most).
		WithDetail("limit", limit).
		WithDetail("value", value).
		WithDetail("max", most).
		WithDetail("thread_id", thread)
}

// limits returns an error if a limit permits no further call of the model.
func (t *Thread) limits() error {
	u := t.used()
	l := t.p.Limits
	switch {
	case u.Turns >= l.Turns:
		return exceeded(diag.LimitExceeded, t.id, "turns", u.Turns, l.Turns)
	case u.NewTokens >= l.Tokens:
		return exceeded(diag.LimitExceeded, t.id, "tokens", u.NewTokens, l.Tokens)
	}
	return t.duration()
}

// duration returns an error if the time of the thread is over.
func (t *Thread) duration() error {
	s := int64(t.elapsed() / time.Second)
	if s >= t.p.Limits.DurationSeconds {
		return exceeded(diag.LimitExceeded, t.id, "duration_seconds", s, t.p.Limits.DurationSeconds)
	}
	return nil
}
