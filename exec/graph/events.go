package graph

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/transcript"
)

// The events of a run's log.
const (
	evStarted   = "graph_started"
	evNode      = "node_started"
	evItem      = "item_committed"
	evBranch    = "branch_committed"
	evCommitted = "node_committed"
	evFailed    = "node_failed"
	evAsk       = "ask_opened"
	evAnswer    = "ask_answered"
	evWait      = "wait_started"
	evWaited    = "wait_ended"
	evInjected  = "state_injected"
	evHook      = "hook_run"
	evSuspended = "thread_suspended"
	evResumed   = "thread_resumed"
	evCompleted = "graph_completed"
	evError     = "graph_failed"
	evCancelled = "graph_cancelled"
)

// The events of a thread whose loop the graph is. The thread writes them.
const (
	evThread          = "thread_started"
	evThreadCompleted = "thread_completed"
	evThreadError     = "thread_error"
	evThreadCancelled = "thread_cancelled"
	evThreadContinued = "thread_continued"
)

// The states of a run.
const (
	StateRunning   = "running"
	StateSuspended = "suspended"
	StateCompleted = "completed"
	StateError     = "error"
	StateCancelled = "cancelled"
	StateContinued = "continued" // of a thread: a new thread continues it
)

// target is an item that a graph names by a fixed id, with its digest at the start.
type target struct {
	Ref    string           `json:"ref"`
	Digest item.Digest      `json:"digest"`
	Space  transcript.Space `json:"space,omitempty"`
}

// origin is the line that a fork starts from.
type origin struct {
	Run  string `json:"run"`
	Seq  int64  `json:"seq"`
	Line string `json:"line"` // the hash of the line
}

type heldSet struct {
	Caps    []string        `json:"caps"`
	Profile *policy.Profile `json:"profile,omitempty"` // the ceiling of the sandbox
	Source  string          `json:"source"`
}

type limitData struct {
	Depth    int         `json:"depth"`
	Duration int64       `json:"duration_seconds"`
	Turns    *int64      `json:"turns,omitempty"`
	Tokens   *int64      `json:"tokens,omitempty"`
	Spawns   *int64      `json:"spawns,omitempty"`
	Spend    *policy.USD `json:"spend,omitempty"`
}

type startedData struct {
	Graph   string           `json:"graph"`
	Digest  item.Digest      `json:"digest"`
	Space   transcript.Space `json:"space,omitempty"` // that has the graph
	Inputs  map[string]any   `json:"inputs"`
	State   map[string]any   `json:"state"`
	Node    string           `json:"node"`           // that the run starts at
	Only    bool             `json:"only,omitempty"` // the run ends after that node
	Targets []target         `json:"targets"`
	Held    []heldSet        `json:"held"`
	Limits  limitData        `json:"limits"`
	Parent  string           `json:"parent,omitempty"`
	Depth   int              `json:"depth"` // levels above
	Lock    string           `json:"lock,omitempty"`
	Copy    string           `json:"copy,omitempty"` // the working copy that the tools work in
	Forked  *origin          `json:"forked_from,omitempty"`
	Errors  []NodeError      `json:"errors,omitempty"` // of a fork
	Steps   int              `json:"steps,omitempty"`  // of a fork
	Nodes   int              `json:"nodes,omitempty"`  // of the graph, without nodes of branches
	PID     int              `json:"pid"`
	Number  int64            `json:"number,omitempty"` // of the run in the user account
}

type nodeData struct {
	Node   string      `json:"node"`
	Step   int         `json:"step"`
	Ref    string      `json:"ref,omitempty"`
	Digest item.Digest `json:"digest,omitzero"`
	Params string      `json:"params_digest,omitempty"`
	Key    string      `json:"idempotency_key,omitempty"`
	Child  string      `json:"child,omitempty"`
}

type itemData struct {
	Node   string     `json:"node"`
	Index  int        `json:"index"`
	Of     int        `json:"of,omitempty"`      // all entries
	AtOnce int        `json:"at_once,omitempty"` // entries that run at the same time
	Result any        `json:"result"`
	Error  *NodeError `json:"error,omitempty"`
}

type branchData struct {
	Node   string         `json:"node"`
	Branch string         `json:"branch"`
	Assign map[string]any `json:"assign"`
	Result any            `json:"result"`
	Error  *NodeError     `json:"error,omitempty"`
}

type committedData struct {
	Node     string         `json:"node"`
	Step     int            `json:"step"`
	Assign   map[string]any `json:"assign"`
	Next     string         `json:"next"` // "" at the end
	Duration int64          `json:"duration_ms"`
	Cached   bool           `json:"cached"`
	Output   any            `json:"output,omitempty"` // of a return node
	Fail     bool           `json:"fail,omitempty"`
}

type failedData struct {
	Node    string    `json:"node"`
	Step    int       `json:"step"`
	Error   NodeError `json:"error"`
	Attempt int       `json:"attempt"`
	Edge    string    `json:"edge"` // on_error, continue, fail or retry
	Next    string    `json:"next,omitempty"`
}

type askData struct {
	Node     string   `json:"node"`
	Question string   `json:"question"`
	Choices  []string `json:"choices,omitempty"`
	Schema   any      `json:"schema,omitempty"`
	Expires  string   `json:"expires,omitempty"`
	To       string   `json:"to"`
	Approval bool     `json:"approval,omitempty"` // about a call of the node
	Tier     string   `json:"tier,omitempty"`     // the class of its risk
	Rule     string   `json:"rule,omitempty"`     // why a person is asked
	// Change is the change of files that this call makes.
	Change *policy.FileChange `json:"change,omitempty"`
}

type answerData struct {
	Node   string `json:"node"`
	Answer any    `json:"answer"`
	By     string `json:"by"`
	Time   string `json:"time"`
}

type waitData struct {
	Node    string   `json:"node"`
	Until   string   `json:"until,omitempty"` // the end of the wait, or of its timeout
	Event   string   `json:"event,omitempty"`
	Runs    []string `json:"runs,omitempty"`
	Expires bool     `json:"expires,omitempty"` // until is a timeout
}

type waitedData struct {
	Node    string            `json:"node"`
	At      string            `json:"at"`
	Event   string            `json:"event,omitempty"`
	Payload any               `json:"payload,omitempty"`
	Runs    map[string]string `json:"runs,omitempty"`
}

type injectedData struct {
	By     string         `json:"by"`
	Set    map[string]any `json:"set"`
	Before string         `json:"digest_before"`
}

type suspendedData struct {
	Reason string   `json:"reason"`
	Nodes  []string `json:"nodes,omitempty"`
	WakeAt string   `json:"wake_at,omitempty"`
	Child  string   `json:"child,omitempty"`
}

type resumedData struct {
	From     int64               `json:"from_seq"`
	Torn     int64               `json:"torn_bytes,omitempty"`
	Changes  []transcript.Change `json:"accepted_changes,omitempty"`
	Repeated []string            `json:"repeated,omitempty"`
	PID      int                 `json:"pid"`
}

type endData struct {
	Output any         `json:"output"`
	Errors []NodeError `json:"errors,omitempty"`
	Error  *NodeError  `json:"error,omitempty"`
	Steps  int         `json:"steps"`
	Cost   cost        `json:"cost"`
}

type cost struct {
	Duration int64       `json:"duration_ms"`
	Spend    *policy.USD `json:"spend,omitempty"` // of the threads below
}

// NodeError is the failure of a node as templates and logs show it.
type NodeError struct {
	Node      string         `json:"node"`
	Code      diag.Code      `json:"code"`
	Message   string         `json:"message"`
	Retryable bool           `json:"retryable"`
	Item      *int           `json:"item,omitempty"`
	Index     *int           `json:"index,omitempty"` // in ${result.errors} of foreach
	Branch    string         `json:"branch,omitempty"`
	Details   map[string]any `json:"details,omitempty"`
}

// value returns the error for templates.
func (e NodeError) value() map[string]any {
	out := map[string]any{
		"node":      e.Node,
		"code":      string(e.Code),
		"message":   e.Message,
		"retryable": e.Retryable,
	}
	if e.Item != nil {
		out["item"] = int64(*e.Item)
	}
	if e.Branch != "" {
		out["branch"] = e.Branch
	}
	if e.Details != nil {
		out["details"] = e.Details
	}
	return out
}
