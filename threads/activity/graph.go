package activity

import (
	"fmt"
	"strings"
	"time"

	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/transcript"
)

// graphLine takes a line of the log of a run.
func (t *Tree) graphLine(l *transcript.Line) []Change {
	switch l.Event {
	case "graph_started":
		var d struct {
			Graph string `json:"graph"`
			Depth int    `json:"depth"`
			Nodes int    `json:"nodes"`
		}
		if l.Decode(&d) == nil {
			t.nodes = d.Nodes
			t.Depth = max(t.Depth, d.Depth)
			t.start.Ref = d.Graph
		}
		t.graph = true
	case "thread_resumed":
		t.State = ""
	case "node_started":
		return t.nodeStarts(l)
	case "item_committed":
		return t.entry(l)
	case "branch_committed", "node_committed", "node_failed":
		return t.nodeEnds(l)
	case "ask_opened", "ask_answered":
		return t.graphAsk(l)
	case "graph_completed", "graph_failed", "graph_cancelled":
		return t.end(l)
	}
	return nil
}

// named returns the open block of a node, a new one if there is none.
func (t *Tree) named(name string, step int, l *transcript.Line) *Block {
	for i := len(t.Blocks) - 1; i >= 0; i-- {
		b := t.Blocks[i]
		if b.Kind == Node && b.Title == name && b.State == Open {
			return b
		}
	}
	b := t.block(Node, l)
	b.Title = name
	b.Number = step
	b.Nodes = t.nodes
	return b
}

func (t *Tree) nodeStarts(l *transcript.Line) []Change {
	var d struct {
		Node  string `json:"node"`
		Step  int    `json:"step"`
		Child string `json:"child"`
	}
	if l.Decode(&d) != nil {
		return nil
	}
	b := t.named(d.Node, d.Step, l)
	if d.Child != "" {
		b.ID = d.Child
		t.open(d.Child)
	}
	return []Change{{Block: b}}
}

// entry takes the end of one entry of a foreach.
func (t *Tree) entry(l *transcript.Line) []Change {
	var d struct {
		Node   string `json:"node"`
		Of     int    `json:"of"`
		AtOnce int    `json:"at_once"`
		Error  *struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if l.Decode(&d) != nil {
		return nil
	}
	b := t.named(d.Node, 0, l)
	b.Total = d.Of
	b.AtOnce = d.AtOnce
	if b.Done++; d.Error != nil {
		b.Failures++
	}
	return []Change{{Block: b}}
}

func (t *Tree) nodeEnds(l *transcript.Line) []Change {
	var d struct {
		Node     string `json:"node"`
		Branch   string `json:"branch"`
		Step     int    `json:"step"`
		Duration *int64 `json:"duration_ms"`
		Cached   bool   `json:"cached"`
		Edge     string `json:"edge"`
		Error    *struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if l.Decode(&d) != nil {
		return nil
	}
	if d.Branch != "" {
		of := t.named(d.Node, d.Step, l)
		b := t.block(Node, l)
		b.Title = d.Node + "." + d.Branch
		b.Number = of.Number
		b.Nodes = t.nodes
		b.Began = of.Began
		return []Change{t.nodeEnd(b, d.Error != nil, failure(d.Error), l)}
	}
	b := t.named(d.Node, d.Step, l)
	if d.Edge == "retry" {
		return t.note(
			fmt.Sprintf(
				"retry  %s: %s",
				shortened(d.Node, maxInput),
				shortened(failure(d.Error), maxMessage),
			),
			l,
		)
	}
	if d.Cached {
		b.Text = "cached"
	}
	s := t.below[b.ID]
	if s != nil && !s.graph && s.State != "" {
		b.Text = b.ID + " $" + Money(s.Spent)
		b.Spent = s.Spent
	}
	c := t.nodeEnd(b, d.Error != nil, failure(d.Error), l)
	if d.Duration != nil {
		b.Began = b.Ended.Add(-time.Duration(*d.Duration) * time.Millisecond)
	}
	return []Change{c}
}

func failure(e *struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}) string {
	if e == nil {
		return ""
	}
	return e.Code + ": " + e.Message
}

func (t *Tree) nodeEnd(b *Block, failed bool, why string, l *transcript.Line) Change {
	state := Done
	if failed {
		state = Failed
		b.Text = why
	}
	return t.ended(b, state, l)
}

// suspendedNodes ends the nodes that are open when a run is suspended.
func (t *Tree) suspendedNodes(
	reason string,
	nodes []string,
	l *transcript.Line,
) (out []Change) {
	if len(nodes) == 0 {
		return nil
	}
	b := t.named(nodes[0], 0, l)
	b.Text = strings.TrimSpace(reason + " " + strings.Join(nodes, ", "))
	return []Change{t.ended(b, Suspended, l)}
}

func (t *Tree) graphAsk(l *transcript.Line) []Change {
	var d struct {
		Node     string `json:"node"`
		Question string `json:"question"`
		By       string `json:"by"`
		Answer   any    `json:"answer"`
	}
	if l.Decode(&d) != nil {
		return nil
	}
	if l.Event == "ask_opened" {
		b := t.block(Question, l)
		b.ID = d.Node
		b.Text = d.Question
		t.asked[d.Node] = b
		return []Change{{Block: b}}
	}
	b := t.asked[d.Node]
	if b == nil {
		return nil
	}
	delete(t.asked, d.Node)
	b.Args = strings.TrimSpace(figure(d.Answer) + " by " + d.By)
	return []Change{t.ended(b, Done, l)}
}

// Spend returns the cost of a tree and of the logs below it.
func (t *Tree) Spend() policy.USD {
	sum := t.Spent
	for _, b := range t.below {
		sum = sum.Plus(b.Spend())
	}
	return sum
}

// Ending returns the id below a node that a line of a log ends, "" if it ends none with one.
func (t *Tree) Ending(log string, l *transcript.Line) string {
	at := t.Log(log)
	if at == nil || l.Event != "node_committed" && l.Event != "node_failed" {
		return ""
	}
	var d struct {
		Node string `json:"node"`
		Edge string `json:"edge"`
	}
	if l.Decode(&d) != nil || d.Edge == "retry" {
		return ""
	}
	for _, b := range at.live {
		if b.Kind == Node && b.Title == d.Node && b.State == Open {
			return b.ID
		}
	}
	return ""
}

// Runs returns the ids below the nodes that are open.
func (t *Tree) Runs() []string {
	var out []string
	for _, b := range t.Live() {
		if b.Kind == Node && b.ID != "" || b.Kind == Child {
			out = append(out, b.ID)
		}
	}
	return out
}
