package graph

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/threads/transcript"
)

// Dispatcher calls items for a graph. It checks the permission, the signature and the
// lock entry of every item, as for any caller.
type Dispatcher interface {
	// Target resolves and verifies an item without running it.
	Target(ctx context.Context, ref item.Ref) (Target, error)
	// Call performs the verb on the item and returns the data of the result. A result
	// with success: false is an error.
	Call(ctx context.Context, c Call) (any, error)
}

// Results keeps results of calls by a key, which is a digest.
type Results interface {
	// Get returns a result that Put kept, if it is unchanged.
	Get(key string) (any, bool)
	Put(key string, result any) error
}

// Target is what a run needs to know of an item that it calls.
type Target struct {
	Digest item.Digest
	Space  transcript.Space // that has the item
	Graph  bool             // the item is a graph: its run gets an id before it starts
	Thread bool             // the item is a directive: its thread gets an id before it starts
	Pure   bool             // a function of this program without side effects
	Schema any              // config_schema, which marks the parameters that a shell reads; nil without one
	Chain  any              // what the Dispatcher verified; Call receives it again
	Whole  string           // the digests of the item and of all that executes it
}

// Call is one call of a node.
type Call struct {
	Verb   policy.Verb
	Ref    item.Ref
	Params map[string]any
	Held   policy.Held
	Key    string // the idempotency key: equal when the call is repeated after a crash
	RunID  string
	Node   string // the qualified name of the node, with the number of an entry
	Step   int
	Child  *Child // of a graph or a directive
	Share  *Share // of an entry of foreach
	// Approval is nil for the call of a hook, which does not suspend the run.
	Approval *Approval
	Chain    any // of the Target of this call; nil: the Dispatcher resolves the item
}

// Child is the run of a graph, or the thread of a directive, that a node calls.
// A directive that states no permissions may do nothing, as at the command line.
type Child struct {
	Run, Parent string
	Depth       int // levels above
	Left        int // levels that it may have below
	// Note is set by the dispatcher: what the progress line of the node states.
	Note string
	// Suspended is set by the child if it is suspended.
	Suspended *Suspension
}

// Share is what the entries of one foreach have in common: each may spend an equal part
// of the money that the run had when the first one started.
type Share struct {
	Of   int         // how many there are
	Each *policy.USD // set by the dispatcher for the first one
}

// Suspension is the reason why a run is suspended.
type Suspension struct {
	Reason string    // ask, wait, hook or request
	Nodes  []string  // that wait
	WakeAt time.Time // zero: no time wakes it
	Child  string    // the run of the node that suspended
	// Questions are the open ones of the runs below.
	Questions []OpenQuestion
}

// Error describes the suspension. It passes through the walker as an error.
func (s *Suspension) Error() string {
	return "suspended: " + s.Reason
}

// Question is a question that a run asks a person who is present.
type Question struct {
	Run, Graph, Node, Text string
	Step                   int
	Choices                []string
	Ask                    *graphdef.Ask
}

// Params are the parameters of Start and Resume.
type Params struct {
	Project    string // the absolute directory that contains .ai
	Dispatcher Dispatcher
	Held       policy.Held // the permissions of the caller
	Signer     sign.Signer // the runtime key
	Keys       transcript.Keys
	Heads      string // see transcript.Params
	Getenv     func(string) string
	Now        func() time.Time
	Child      *Child // of a run that another run started
	Lock       string // the digest of rye.lock, "" without one
	// Risk knows the programs that start others; nil knows shells and interpreters only.
	Risk *policy.Risk
	Copy string // the id of the working copy that the tools work in, "" for the project
	// Ask asks a person who is present, until the context ends: an answer that comes
	// from elsewhere is taken first. If it is nil or returns ErrNoAnswer, the run
	// suspends.
	Ask func(context.Context, Question) (answer any, by string, err error)
	// Results keeps the results of nodes with cache_result. Nil: each is called.
	Results Results
	// Snapshot writes a text about a run as a knowledge item. It may be nil.
	Snapshot func(ctx context.Context, ref item.Ref, text []byte) error
	// Event is called with each line of the run's log. It may be nil.
	Event func(run string, line *transcript.Line)
	// Present: the dispatcher can ask a person about a call.
	Present bool
	// Progress is called for each node, by several goroutines.
	Progress func(Progress)
	// Settle closes the account from which the run paid the threads below it, when the run
	// ends or is suspended, and returns the cost of these threads, nil if there were none. It
	// may be nil.
	Settle func(ctx context.Context, state string) (*policy.USD, error)
	// Settles reports whether Settle will do something. Nil: it always does.
	Settles func() bool
	// NoSuspend ends a run that would suspend with APPROVAL_REQUIRED.
	NoSuspend bool
	// OneStep suspends the run after one node was committed.
	OneStep bool
	// Only runs one node with the given state.
	Only string
	// State replaces the initial state.
	State map[string]any
	// Set are values that a person injects before the next node.
	Set map[string]any
	By  string // who injects them
	// AcceptChanged continues a run whose graph or items have changed.
	AcceptChanged bool
	// Space has the graph.
	Space transcript.Space
	RunID string // of a new run; "" for a new id
	// Number returns the number of a new run in the user account. Nil: it has none.
	Number func(ctx context.Context, run string, inputs map[string]any) (int64, error)
	// Log is the log of the thread whose loop the graph is: the run records its events there,
	// and the thread writes what is about its start, its end and its resuming.
	Log *transcript.Log
	// Node is the node that the loop of a thread starts at: its walk had ended, and the
	// thread continues. "" is the start of the graph.
	Node string
	// Lines are what Log had when it was opened, to resume the run.
	Lines  []transcript.Line
	forked *startedData
}

// Progress is a change of a node as a person sees it.
type Progress struct {
	Run, Node string
	Step, Max int
	Depth     int
	Status    string // ok, failed, suspended, skipped, retry
	Text      string
	Duration  time.Duration
}

// Result is the end of a run, or its suspension.
type Result struct {
	RunID     string      `json:"run_id"`
	Status    string      `json:"status"`
	Output    any         `json:"output"`
	Steps     int         `json:"steps"`
	Errors    []NodeError `json:"errors"`
	Cost      cost        `json:"cost"`
	Reason    string      `json:"reason,omitempty"` // of a suspension
	Waiting   []string    `json:"waiting,omitempty"`
	WakeAt    string      `json:"wake_at,omitempty"`
	Child     string      `json:"child,omitempty"` // the run that the waiting node called
	Suspended *Suspension `json:"-"`
	// Questions are those that wait for an answer, also of the runs below.
	Questions []OpenQuestion `json:"questions,omitempty"`
}

// Data returns the result as values.
func (r *Result) Data() map[string]any {
	b, err := jsonx.Marshal(r)
	if err != nil {
		return map[string]any{"run_id": r.RunID, "status": r.Status}
	}
	v, _ := jsonx.ParseMessage(b)
	m, _ := v.(map[string]any)
	return m
}

const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID returns a new id of a run: the last segment of the graph's id and a ULID in
// lower case.
func NewID(id string, now time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return idFrom(id, now, b)
}

func idFrom(id string, now time.Time, b [16]byte) string {
	ms := uint64(now.UnixMilli())
	binary.BigEndian.PutUint16(b[:2], uint16(ms>>32))
	binary.BigEndian.PutUint32(b[2:6], uint32(ms))
	hi := binary.BigEndian.Uint64(b[:8])
	lo := binary.BigEndian.Uint64(b[8:])
	var out [26]byte
	for i := 25; i >= 0; i-- {
		out[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return nameOf(id) + "-" + string(out[:])
}

// TimeOf returns when an id was made, which is the start of its run or thread.
func TimeOf(id string) time.Time {
	var ms int64
	at := strings.LastIndexByte(id, '-') + 1
	for _, c := range []byte(id[at:min(len(id), at+10)]) {
		ms = ms<<5 | int64(max(strings.IndexByte(crockford, c), 0))
	}
	return time.UnixMilli(ms).UTC()
}

// nameOf returns the beginning of the ids of the runs of a graph.
func nameOf(id string) string {
	name := strings.ReplaceAll(id[strings.LastIndexByte(id, '/')+1:], "_", "-")
	return name[:min(len(name), 32)]
}

// childID returns the id of the run of one item of a foreach node. It is the same
// after a crash, because the id of the node's child is recorded.
func childID(base string, index int) string {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(base+"\n"), uint64(index)))
	return base[:len(base)-16] + encode(sum[:10])
}

// encode returns 10 bytes as 16 letters.
func encode(b []byte) string {
	var out []byte
	var acc, bits uint
	for _, c := range b {
		acc = acc<<8 | uint(c)
		bits = bits + 8
		for bits >= 5 {
			bits -= 5
			out = append(out, crockford[acc>>bits&31])
		}
	}
	return string(out)
}

// IsID reports whether s has the form of an id of a run.
func IsID(s string) bool {
	i := strings.LastIndexByte(s, '-')
	return i > 0 && len(s) <= 64 && len(s)-i-1 == 26 && strings.Trim(s[i+1:], crockford) == "" &&
		strings.Trim(s[:i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") == "" && s[0] != '.'
}

// Start starts a run of a graph and walks it until it ends or suspends. The inputs
// must fit the graph's schema. A run that ends in the state error has an error and a
// Result.
func Start(
	ctx context.Context,
	g *graphdef.Graph,
	digest item.Digest,
	inputs map[string]any,
	p Params,
) (*Result, error) {
	w, err := newWalker(g, p)
	if err != nil {
		return nil, err
	}
	if err := w.environment(); err != nil {
		return nil, err
	}
	started := p.forked
	if started == nil {
		if started, err = w.first(ctx, digest, inputs); err != nil {
			return nil, err
		}
	}
	started.PID = os.Getpid()
	id := p.RunID
	if p.Child != nil {
		id = p.Child.Run
		started.Parent = p.Child.Parent
		started.Depth = p.Child.Depth
	}
	if id == "" {
		id = NewID(g.Ref.ID, w.p.Now())
	}
	if w.log = p.Log; w.log == nil {
		if w.log, err = transcript.Create(ctx, w.logParams(id)); err != nil {
			return nil, err
		}
		defer func() { _ = w.log.Close() }()
		if p.Number != nil {
			if started.Number, err = p.Number(ctx, id, started.Inputs); err != nil {
				return nil, err
			}
		}
	}
	w.began = w.p.Now()
	w.started = started
	w.startedAt = w.p.Now().UTC().Format(time.RFC3339)
	if err := w.begun(ctx); err != nil {
		return nil, err
	}
	return w.finish(ctx, w.run(ctx))
}

// begun records the start of the run.
func (w *walker) begun(ctx context.Context) error {
	w.root = &frame{nodes: w.g.Nodes, assigned: cloneMap(w.started.State), cur: w.started.Node}
	w.errors = w.started.Errors
	w.step = w.started.Steps
	w.owed = w.joins(w.root, w.started.Node)
	return w.record(ctx, evStarted, w.started, w.owed)
}

// logParams are the parameters of the log of a run.
func (w *walker) logParams(id string) transcript.Params {
	p := transcript.Params{
		Project: w.p.Project,
		ID:      id,
		Signer:  w.p.Signer,
		Now:     w.p.Now,
		Keys:    w.p.Keys,
		Heads:   w.p.Heads,
	}
	if w.p.Event != nil {
		p.Written = func(l *transcript.Line) {
			w.p.Event(id, l)
		}
	}
	return p
}

// first returns the data of the first line of a new run.
func (w *walker) first(
	ctx context.Context,
	digest item.Digest,
	inputs map[string]any,
) (*startedData, error) {
	g := w.g
	p := w.p
	d := &startedData{
		Graph:  g.Ref.String(),
		Digest: digest,
		Space:  p.Space,
		Inputs: inputs,
		State:  g.State,
		Node:   g.Start,
		Lock:   p.Lock,
		Copy:   p.Copy,
		Only:   p.Only != "",
		Nodes:  len(g.Nodes),
	}
	d.Limits = limitData{w.depth, int64(g.Limits.Duration / time.Second), g.Limits.Turns, g.Limits.Tokens, g.Limits.Spawns, g.Limits.Spend}
	if p.Node != "" {
		d.Node = p.Node
	}
	if p.State != nil {
		d.State = p.State
		if err := g.CheckState(d.State, "the given state"); err != nil {
			return nil, err
		}
	}
	if p.Only != "" {
		if d.Node = p.Only; g.Nodes[p.Only] == nil {
			return nil, diag.New(diag.Usage, "running one node of %s: it has no node %q", g.Ref, p.Only)
		}
	}
	d.Held = heldSets(p.Held)
	refs := g.FixedTargets()
	for _, ref := range refs {
		t, err := p.Dispatcher.Target(ctx, ref)
		if err != nil {
			// A node that is never reached may name an item that does not exist here.
			continue
		}
		d.Targets = append(d.Targets, target{ref.String(), t.Digest, t.Space})
	}
	return d, nil
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func cloneMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
