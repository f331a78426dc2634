package threads

import (
	"context"
	"encoding/json"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// The events that the kernel records.
const (
	evStarted   = "thread_started"
	evPrompt    = "prompt"
	evAdded     = "message_added"
	evTurn      = "turn_started"
	evRequest   = "model_request"
	evDelta     = "token_delta"
	evResponse  = "model_response"
	evError     = "model_error"
	evSwitched  = "model_switched"
	evCall      = "tool_call"
	evDenied    = "tool_denied"
	evAsked     = "approval_requested"
	evAnswered  = "approval_resolved"
	evOutput    = "tool_output"
	evResult    = "tool_result"
	evReturn    = "directive_return"
	evLimit     = "limit_reached"
	evContinued = "thread_continued"
	evCompacted = "context_compacted"
	evSuspended = "thread_suspended"
	evResumed   = "thread_resumed"
	evCompleted = "thread_completed"
	evFailed    = "thread_error"
	evCancelled = "thread_cancelled"
	evKilled    = "thread_killed"
)

type startedData struct {
	Directive Identity       `json:"directive"`
	Version   string         `json:"version,omitempty"`
	Signer    string         `json:"signer"`
	Owner     string         `json:"owner,omitempty"`    // of the key of the signer
	Attempts  int64          `json:"attempts,omitempty"` // of one call of the model, at most
	Extends   []Identity     `json:"extends"`
	Inputs    map[string]any `json:"inputs"`
	Loop      Identity       `json:"loop"`
	Steps     []Identity     `json:"steps"`
	Model     string         `json:"model"`
	Provider  Identity       `json:"provider"`
	Limits    Limits         `json:"limits"`
	Held      []heldSet      `json:"held"`
	Workspace WorkingCopy    `json:"workspace"`
	Sandbox   any            `json:"sandbox,omitempty"`
	Carried   *Carried       `json:"carried,omitempty"`
	Parent    *string        `json:"parent"`
	Spawned   *Spawned       `json:"spawned,omitempty"`
	Lock      string         `json:"lock,omitempty"`
	Program   string         `json:"rye"`
	PID       int            `json:"pid"`
	Number    int64          `json:"number,omitempty"` // of the thread in the user account
	// Interactive states that a turn without calls waits for the next message of a person.
	Interactive bool `json:"interactive,omitempty"`
	// Attachments are the images and files of the first message.
	Attachments []message.Block `json:"attachments,omitempty"`
	Replay      string          `json:"replay,omitempty"` // the thread whose answers this one gets
}

type heldSet struct {
	Caps    []string        `json:"caps"`
	Source  string          `json:"source"`
	Profile *policy.Profile `json:"profile,omitempty"`
}

// Where the tools of a thread work.
const (
	Here     = "here"     // in the project
	Worktree = "worktree" // in a copy of a commit of it
	FullCopy = "copy"     // in a copy of all its files
	Read     = "read"     // in the project, of which they change no file
)

// WorkingCopy is where the tools of a thread work.
type WorkingCopy struct {
	Mode string `json:"mode"`
	Copy string `json:"copy,omitempty"` // the id of the copy: the id of the thread that it was made for
	// Dir is the directory of the person that tools see outside of projects. Empty marks that
	// they see an empty one in its place.
	Dir   string `json:"dir,omitempty"`
	Empty bool   `json:"empty,omitempty"`
}

// UnmarshalJSON reads also the mode alone.
func (w *WorkingCopy) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &w.Mode) == nil {
		return nil
	}
	type plain WorkingCopy
	return json.Unmarshal(b, (*plain)(w))
}

// Spawned states which thread started one that has its own process.
type Spawned struct {
	By   string `json:"by"`
	Root string `json:"root"` // of the tree
	// Call is the key of the call that started it: one that is repeated finds it again.
	Call string `json:"call,omitempty"`
}

// SystemText is one block of the system text, and where it is from.
type SystemText struct {
	Source string      `json:"source"`
	Digest item.Digest `json:"digest,omitzero"`
	Text   string      `json:"text"`
}

// Prompt is what the model reads first.
type Prompt struct {
	System  []SystemText `json:"system"`
	Message struct {
		Blocks []message.Block `json:"blocks"`
	} `json:"message"`
	Tools []Offered `json:"tools"`
}

type addedData struct {
	Role   message.Role    `json:"role"`
	Source string          `json:"source"`
	Blocks []message.Block `json:"blocks"`
}

// requestData is the data of model_request. Resuming needs the reservation, the size that the
// next estimate is based on, and the node that asked.
type requestData struct {
	Turn        int64      `json:"turn"`
	Attempt     int64      `json:"attempt"`
	Provider    string     `json:"provider"`
	Model       string     `json:"model"`
	Digest      string     `json:"request_digest"`
	Reserved    policy.USD `json:"reserved"`
	Reservation string     `json:"reservation"`
	Input       int64      `json:"input_estimate"`
	Bytes       int64      `json:"bytes"`           // of the encoded request
	Media       int64      `json:"media,omitempty"` // tokens of its images and files
	MaxOutput   int64      `json:"max_output"`
	Key         string     `json:"key,omitempty"` // of the node that asked for it
}

type deltaData struct {
	Turn int64 `json:"turn"`
	message.Delta
}

type responseData struct {
	Turn    int64           `json:"turn"`
	Attempt int64           `json:"attempt"`
	Blocks  []message.Block `json:"blocks"`
	Stop    message.Stop    `json:"stop"`
	StopRaw string          `json:"stop_raw,omitempty"`
	Usage   message.Usage   `json:"usage"`
	Cost    policy.USD      `json:"cost"`
	Assumed bool            `json:"assumed,omitempty"`
	// Overspent is how much more than its reservation the call cost.
	Overspent policy.USD `json:"overspent,omitempty"`
	Model     string     `json:"model"`
	Duration  int64      `json:"duration_ms"`
	Aside     bool       `json:"aside,omitempty"`    // not a part of the conversation
	Replayed  bool       `json:"replayed,omitempty"` // from a recording; no service was called
}

// believe replaces the cost and the tokens of an answer that an earlier version wrote with counts beyond every amount of money
// by what its request had reserved.
func (d *responseData) believe(r *requestData) {
	if !d.Cost.Kept() {
		d.Cost = r.Reserved
		d.Usage = message.Usage{Input: r.Input, Assumed: 1}
		d.Assumed = true
	}
}

// believe takes the reserved amount as the cost of a failed attempt.
func (d *errorData) believe(r *requestData) {
	if !d.Cost.Kept() {
		d.Cost = r.Reserved
		d.Usage = nil
		d.Assumed = true
	}
}

type errorData struct {
	Turn     int64      `json:"turn"`
	Attempt  int64      `json:"attempt"`
	ID       string     `json:"id,omitempty"`
	Category string     `json:"category,omitempty"`
	Code     string     `json:"code,omitempty"`
	Status   int        `json:"status_code,omitempty"`
	Message  string     `json:"message"`
	RetryIn  int64      `json:"retry_in_ms,omitempty"`
	Cost     policy.USD `json:"cost"`
	Assumed  bool       `json:"assumed,omitempty"` // the service did not report the cost
	// Overspent is how much more than its reservation the attempt cost.
	Overspent policy.USD     `json:"overspent,omitempty"`
	Usage     *message.Usage `json:"usage,omitempty"`
	Overflow  string         `json:"overflow,omitempty"` // the request was, or can have been, too long
	Window    int64          `json:"window,omitempty"`   // tokens that the service really has, for the rest of the thread
}

type switchedData struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

type callData struct {
	Turn     int64       `json:"turn"`
	CallID   string      `json:"call_id"`
	Name     string      `json:"name"`
	Ref      string      `json:"ref"`
	Digest   item.Digest `json:"digest,omitzero"`
	Input    any         `json:"input"`
	Tier     string      `json:"tier,omitempty"`
	Decision string      `json:"decision"`
	By       string      `json:"by,omitempty"` // the program that makes the call; "" is the model
}

type deniedData struct {
	CallID     string    `json:"call_id"`
	Ref        string    `json:"ref,omitempty"`
	Capability string    `json:"capability,omitempty"`
	Code       diag.Code `json:"code"`
	Message    string    `json:"message"`
}

type askedData struct {
	ID      string   `json:"approval_id"`
	CallID  string   `json:"call_id"`
	Tier    string   `json:"tier"`
	Grants  []string `json:"grants"`
	Expires string   `json:"expires"`
	Summary string   `json:"summary"`
	// Capability and Rule are what an answer for the thread permits.
	Capability string      `json:"capability,omitempty"`
	Rule       string      `json:"rule,omitempty"`
	Digest     item.Digest `json:"digest,omitzero"` // of the item
	// Prefixes are what an answer for a prefix permits: beginnings of commands.
	Prefixes []string `json:"prefixes,omitempty"`
	By       string   `json:"by,omitempty"` // the program that makes the call; "" is the model
	// Change is the change of files that the call makes.
	Change *policy.FileChange `json:"change,omitempty"`
}

type answeredData struct {
	ID       string `json:"approval_id"`
	Decision string `json:"decision"`
	By       string `json:"by"`
	Feedback string `json:"feedback,omitempty"` // of a denial: the model reads it
}

type resultData struct {
	CallID   string          `json:"call_id"`
	Ref      string          `json:"ref,omitempty"`
	IsError  bool            `json:"is_error"`
	Content  []message.Block `json:"content"`
	Artifact string          `json:"artifact,omitempty"`
	Bytes    int64           `json:"bytes"`
	Cut      bool            `json:"cut"`
	Duration int64           `json:"duration_ms"`
	Sandbox  any             `json:"sandbox,omitempty"`
	By       string          `json:"by,omitempty"`
	Replayed bool            `json:"replayed,omitempty"` // from a recording; nothing was started
	// Fingerprint identifies the result without what its tool declares as volatile; "" if
	// the content does.
	Fingerprint string `json:"fingerprint,omitempty"`
}

type resumedData struct {
	From     int64               `json:"from_seq"`
	Torn     int64               `json:"torn_bytes,omitempty"`
	Message  string              `json:"message,omitempty"`
	Changes  []transcript.Change `json:"accepted_changes,omitempty"`
	Repeated []string            `json:"repeated,omitempty"`
	Limits   *Limits             `json:"limits,omitempty"`
	PID      int                 `json:"pid"`
}

type endData struct {
	Cost    Cost           `json:"cost"`
	Outputs map[string]any `json:"outputs,omitempty"`
	Text    string         `json:"text,omitempty"`
	Error   *diag.Failure  `json:"error,omitempty"`
}

// clean renders data without the values of keys.
func (t *Thread) clean(data any) (json.RawMessage, error) {
	raw, err := jsonx.Marshal(data)
	if err != nil {
		return nil, diag.New(diag.Internal, "recording an event of %s: %w", t.id, err)
	}
	if t.p.Redact != nil {
		raw = t.p.Redact(raw)
	}
	return raw, nil
}

// record appends an event; when flush is set it is on the disk before the return.
func (t *Thread) record(ctx context.Context, flush bool, event string, data any) error {
	raw, err := t.clean(data)
	if err != nil {
		return err
	}
	// What happened is recorded although the caller has cancelled.
	ctx = context.WithoutCancel(ctx)
	if flush {
		err = t.log.Commit(ctx, event, raw)
	} else {
		err = t.log.Append(event, raw)
	}
	return err
}

// cleanBlocks removes the values of keys: the model, the steps and the log have the
// same text.
func (t *Thread) cleanBlocks(blocks []message.Block) ([]message.Block, error) {
	raw, err := t.clean(blocks)
	var out []message.Block
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil, diag.New(diag.Internal, "reading the result of a call: %w", err)
	}
	return out, nil
}
