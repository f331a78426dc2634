package graphdef

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cond"
	"github.com/ryeos/rye/internal/hooks"
	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// The bounds of a graph.
const (
	MaxNodes     = 1000
	MaxName      = 64
	MaxNesting   = 3       // of parallel blocks
	MaxState     = 4 << 20 // bytes as JSON
	maxStepsHigh = 1_000_000
)

// Runtime is the executor of a graph.
const Runtime = "rye/core/runtimes/state_graph_runtime"

// The types of nodes.
const (
	TypeAction   = "action"
	TypeReturn   = "return"
	TypeGate     = "gate"
	TypeForeach  = "foreach"
	TypeParallel = "parallel"
	TypeAsk      = "ask"
	TypeWait     = "wait"
)

// Graph is a parsed graph.
type Graph struct {
	Ref  item.Ref
	Path string // as findings show it

	Inputs      *schema.Schema  // nil: any inputs
	Permissions *policy.Set     // nil: not declared
	Sandbox     *policy.Profile // a ceiling of what the nodes call; nil: not declared
	Limits      Limits

	Start          string
	StateSchema    *schema.Schema // nil: the state is open
	StateKeys      map[string]any // the properties that the schema declares
	StateClosed    bool           // the schema permits no other keys
	State          map[string]any // the initial state
	MaxSteps       int
	MaxConcurrency int
	Continue       bool // on_error: continue
	SnapshotEvery  int  // nodes; 0: a snapshot at error edges and at the end only
	Hooks          []*Hook
	EnvRequires    []string
	Nodes          map[string]*Node
	Order          []string // the names of the nodes in the order of the file

	doc     *tree.Doc
	unclear bool // permissions cannot be read
}

// Limits are the limits of a run. Depth and Duration have defaults.
type Limits struct {
	Depth    int
	Duration time.Duration
	// What each thread below the run may use at most, and all of them together. Nil is
	// not declared.
	Turns, Tokens, Spawns *int64
	Spend                 *policy.USD
}

// Node is one node.
type Node struct {
	Name        string
	Type        string
	Description string
	Next        []Edge
	OnError     string
	Assign      map[string]*interpolate.Template
	EnvRequires []string

	Action *Action // of action and foreach

	Output *interpolate.Template // of return, nil: the state
	Fail   bool                  // status: fail

	Over           *interpolate.Template // of foreach
	As, Collect    string
	Parallel       bool
	MaxConcurrency int

	Branches []*Branch // of parallel, in the order of the file
	Join     int       // how many branches must succeed

	CollectErrors bool // on_item_error or on_branch_error: collect

	Ask  *Ask
	Wait *Wait

	path    string // of the node in the document
	unclear bool   // an edge of it cannot be read
}

// Edge is one entry of next.
type Edge struct {
	To   string
	When *cond.Cond
	path string
}

// Action is a call of an item.
type Action struct {
	Verb        policy.Verb
	Kind        item.Kind
	ID          *interpolate.Template
	Params      *interpolate.Template
	Timeout     time.Duration // 0: the item's own
	MaxAttempts int
	Retry       Retry
	Cache       bool // the result of an earlier call is used
	path        string
	raw         map[string]any // the parameters as they are written
	unclear     bool           // params cannot be read
}

// Retry is when an action is repeated.
type Retry struct {
	Type      string // exponential, fixed, or "" for not at all
	Base, Max time.Duration
}

// Delay returns the pause after an attempt, whose number starts at 1.
func (r Retry) Delay(attempt int) time.Duration {
	if r.Type == "fixed" {
		return r.Base
	}
	d := r.Base
	for range min(attempt-1, 32) {
		if d >= r.Max {
			break
		}
		d *= 2
	}
	return min(d, r.Max)
}

// Branch is one branch of a parallel node: an action, or nodes of its own.
type Branch struct {
	Name   string
	Action *Action
	Assign map[string]*interpolate.Template
	Start  string
	Nodes  map[string]*Node
	Order  []string
	path   string
}

// Ask is the question of an ask node.
type Ask struct {
	Question   *interpolate.Template
	Choices    []string
	Schema     *schema.Schema
	RawSchema  any
	Default    any
	HasDefault bool
	Timeout    time.Duration
	Parent     bool // to: parent
}

// Wait is what a wait node waits for: exactly one of the first four is set.
type Wait struct {
	For     time.Duration
	Until   *interpolate.Template
	Event   string
	Runs    *interpolate.Template
	Timeout time.Duration
}

// The layers of hooks: hooks of a graph are of the second, as the hooks of a directive.
// A higher number moves a hook behind the others. Observers see an event also after a
// decision, and decide nothing.
const (
	ownLayer  = 2
	Observers = 5
)

// Hook is an action at an event of the run.
type Hook struct {
	ID, Event string
	Layer     int64
	Cond      *cond.Cond
	Action    *Action
	OnFailure string
}

// events are the events of hooks.
func events() []string {
	return []string{"graph_started", "node_started", "node_completed", "node_failed", "graph_suspended", "graph_completed"}
}

// At returns the position of a node in the file.
func (g *Graph) At(n *Node) diag.Position {
	return g.doc.At(n.path)
}

// actions calls do for every action of the graph, with the qualified name of its node.
func (g *Graph) actions(do func(a *Action, node string)) {
	g.each(func(n *Node, name string) {
		if n.Action != nil {
			do(n.Action, name)
		}
		for _, b := range n.Branches {
			if b.Action != nil {
				do(b.Action, name+"."+b.Name)
			}
		}
	})
	for _, h := range g.Hooks {
		do(h.Action, "hook "+h.ID)
	}
}

// Ref returns the item that an action names by a fixed id.
func (a *Action) Ref() (item.Ref, bool) {
	v, constant := a.ID.Constant()
	s, ok := v.(string)
	if !constant || !ok {
		return item.Ref{}, false
	}
	ref, err := item.ParseRef(s, a.Kind)
	return ref, err == nil && ref.Kind == a.Kind
}

// Targets returns the items that a graph executes by a fixed id, sorted.
func Targets(g *Graph) []item.Ref {
	return g.FixedTargets()
}

// FixedTargets returns the items that the graph executes by a fixed id, sorted.
func (g *Graph) FixedTargets() []item.Ref {
	set := map[item.Ref]bool{}
	g.actions(func(a *Action, _ string) {
		ref, ok := a.Ref()
		if ok && a.Verb == policy.Execute {
			set[ref] = true
		}
	})
	return slices.SortedFunc(maps.Keys(set), func(a, b item.Ref) int {
		return strings.Compare(a.String(), b.String())
	})
}

// Env returns the variables that the graph and its nodes require.
func (g *Graph) Env() []string {
	set := map[string]bool{}
	for _, name := range g.EnvRequires {
		set[name] = true
	}
	g.each(func(n *Node, _ string) {
		for _, name := range n.EnvRequires {
			set[name] = true
		}
	})
	return slices.Sorted(maps.Keys(set))
}

// each calls do for every node, nodes of branches included, with its qualified name.
func (g *Graph) each(do func(n *Node, name string)) {
	eachIn(g.Nodes, g.Order, "", do)
}

func eachIn(
	nodes map[string]*Node,
	order []string,
	prefix string,
	do func(n *Node, name string),
) {
	for _, name := range order {
		n := nodes[name]
		do(n, prefix+name)
		for _, b := range n.Branches {
			eachIn(b.Nodes, b.Order, prefix+name+"."+b.Name+".", do)
		}
	}
}

// Stops reports whether the action of a hook is to keep the run from continuing, whatever
// its result is: if it fails, the node fails.
func (h *Hook) Stops() bool {
	id, _ := h.Action.ID.Constant()
	return id == hooks.ControlID && hooks.Stops(hooks.Stated(h.Action.raw))
}

// Decisions returns the decisions that hooks of an event may make. After a node is committed, and after
// the run, nothing is left to decide.
func Decisions(event string) []string {
	switch event {
	case "node_started":
		return []string{"skip", "fail", "abort", "suspend"}
	case "graph_started", "node_failed":
		return []string{"fail", "abort", "suspend"}
	}
	return nil
}
