package graph

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/chainlog"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/transcript"
)

// Fork is a step of a run from which a new run starts.
type Fork struct {
	Run string
	At  string // the number of a line, or NODE[:COUNT]
	Set map[string]any
}

// StartFork starts a new run with the state that another run had after a step. Files
// and child runs of the other run are not copied.
func StartFork(
	ctx context.Context,
	g *graphdef.Graph,
	digest item.Digest,
	f Fork,
	p Params,
) (*Result, error) {
	rep, err := transcript.Verify(ctx, transcript.Params{
		Project: p.Project,
		ID:      f.Run,
		Keys:    p.Keys,
		Heads:   p.Heads,
	})
	if err == nil {
		err = rep.Err()
	}
	if err == nil {
		err = rep.Own()
	}
	if err != nil {
		return nil, err
	}
	end, err := f.line(rep.Lines)
	if err != nil {
		return nil, err
	}
	w, err := newWalker(g, p)
	if err != nil {
		return nil, err
	}
	w.log = transcript.Named(f.Run)
	lines := rep.Lines[:end+1]
	if err := w.replay(lines); err != nil {
		return nil, err
	}
	for name := range w.nodes {
		if strings.Contains(name, ".") {
			return nil, diag.New(diag.Usage, "forking %s: at line %d a branch is in flight; choose a line after the node was committed", f.Run, end+1)
		}
	}
	state := w.root.assigned
	maps.Copy(state, f.Set)
	if err := g.CheckState(state, "the state with the given values"); err != nil {
		return nil, err
	}
	if w.root.cur == "" {
		return nil, diag.New(diag.Usage, "forking %s: no node follows line %d", f.Run, end+1).WithReason("fork_end")
	}
	fresh, err := w.first(ctx, digest, w.started.Inputs)
	if err != nil {
		return nil, err
	}
	fresh.State = state
	fresh.Node = w.root.cur
	fresh.Errors = w.errors
	fresh.Steps = w.step
	fresh.Forked = &origin{Run: f.Run, Seq: lines[end].Seq, Line: digestOfLine(&lines[end])}
	p.forked = fresh
	return Start(ctx, g, digest, w.started.Inputs, p)
}

func digestOfLine(l *transcript.Line) string {
	b, err := l.Bytes()
	if err != nil {
		return ""
	}
	return chainlog.Digest(b)
}

// line returns the index of the line that At names.
func (f *Fork) line(lines []transcript.Line) (int, error) {
	if n, err := strconv.Atoi(f.At); err == nil {
		if n < 1 || n > len(lines) {
			return 0, diag.New(diag.Usage, "forking %s: the log has the lines 1 to %d", f.Run, len(lines))
		}
		return n - 1, nil
	}
	node, times, counted := strings.Cut(f.At, ":")
	count := 1
	if counted {
		var err error
		if count, err = strconv.Atoi(times); err != nil || count < 1 {
			return 0, diag.New(diag.Usage, "forking %s: --at %s: the count is a number from 1", f.Run, f.At)
		}
	}
	for i := range lines {
		if lines[i].Event != evCommitted {
			continue
		}
		var d committedData
		err := jsonx.Decode(lines[i].Data, &d)
		if err == nil && d.Node == node {
			if count--; count == 0 {
				return i, nil
			}
		}
	}
	return 0, diag.New(diag.Usage, "forking %s: it did not commit the node %s that often", f.Run, f.At)
}

// Inputs returns the inputs of a run.
func Inputs(project, id string) (map[string]any, error) {
	lines, err := transcript.Read(project, id)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 || lines[0].Event != evStarted {
		return nil, diag.New(diag.TranscriptBroken, "reading the log of %s: it has no start", id)
	}
	data, err := dataOf(project, id, &lines[0])
	if err != nil {
		return nil, err
	}
	var d startedData
	if err := jsonx.Decode(data, &d); err != nil {
		return nil, diag.New(diag.TranscriptBroken, "reading the log of %s: %w", id, err)
	}
	return d.Inputs, nil
}

// Dir returns the directory of the logs of a project.
func Dir(project string) string {
	return transcript.Base(project, ".").Path(".")
}

// Step is one line of a log as a person reads it.
type Step struct {
	Seq   int64          `json:"seq"`
	Time  string         `json:"time"`
	Event string         `json:"event"`
	Node  string         `json:"node,omitempty"`
	Text  string         `json:"text"`
	Set   map[string]any `json:"assign,omitempty"`
}

// Log is a log as a person reads it.
type Log struct {
	Run   string         `json:"run_id"`
	Graph string         `json:"graph"`
	Steps []Step         `json:"steps"`
	State map[string]any `json:"state"`

	parent   string
	children []string // of node_started
}

// ReadLog reads a log without verifying it.
func ReadLog(project, id string) (*Log, error) {
	lines, err := transcript.Read(project, id)
	if err != nil {
		return nil, err
	}
	out := &Log{Run: id, Steps: []Step{}, State: map[string]any{}}
	for i := range lines {
		data, err := dataOf(project, id, &lines[i])
		if err != nil {
			return nil, err
		}
		v, _ := jsonx.ParseMessage(data)
		m, _ := v.(map[string]any)
		out.add(&lines[i], m)
	}
	return out, nil
}

func (l *Log) add(line *transcript.Line, m map[string]any) {
	s := Step{Seq: line.Seq, Time: line.Time, Event: line.Event}
	s.Node, _ = m["node"].(string)
	s.Text = s.Node
	switch line.Event {
	case evStarted:
		l.Graph, _ = m["graph"].(string)
		l.parent, _ = m["parent"].(string)
		state, _ := m["state"].(map[string]any)
		maps.Copy(l.State, state)
		s.Text = fmt.Sprintf("%s %v", l.Graph, m["digest"])
	case evNode:
		if child, _ := m["child"].(string); IsID(child) {
			l.children = append(l.children, child)
		}
	case evCommitted:
		set, _ := m["assign"].(map[string]any)
		if !strings.Contains(s.Node, ".") {
			maps.Copy(l.State, set)
		}
		s.Set = set
		s.Text += assigned(set)
		if next, _ := m["next"].(string); next != "" {
			s.Text += " -> " + next
		}
	case evInjected:
		set, _ := m["set"].(map[string]any)
		maps.Copy(l.State, set)
		s.Set, s.Text = set, fmt.Sprintf("by %v%s", m["by"], assigned(set))
	case evFailed:
		e, _ := m["error"].(map[string]any)
		s.Text += fmt.Sprintf(" %v: %v (%v)", e["code"], e["message"], m["edge"])
	case evSuspended:
		s.Text = fmt.Sprintf("%v %v", m["reason"], m["nodes"])
	case transcript.EventCheckpoint:
		s.Text = fmt.Sprintf("signed up to line %v", m["seq"])
	case evItem:
		s.Text += fmt.Sprintf(" %v", m["index"])
	case evBranch:
		s.Text += fmt.Sprintf(" %v", m["branch"])
	}
	l.Steps = append(l.Steps, s)
}

// assigned renders what a node assigned, cut to a readable length.
func assigned(set map[string]any) string {
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(set)) {
		b, _ := jsonx.Marshal(set[k])
		text := []rune(string(b))
		if len(text) > 60 {
			text = append(text[:60], '…')
		}
		out.WriteString(" " + k + "=" + string(text))
	}
	return out.String()
}
