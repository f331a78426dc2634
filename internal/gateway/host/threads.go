package host

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/transcript"
)

// Thread is a thread, or a run of a graph with an account, in a list. Amounts are in US dollars.
type Thread struct {
	ID       string    `json:"thread_id"`
	Number   int64     `json:"number,omitempty" doc:"what persons name the thread by"`
	Name     string    `json:"name,omitempty"`
	Kind     string    `json:"kind" enum:"thread,run"`
	Item     string    `json:"directive"`
	Project  string    `json:"project"`
	State    string    `json:"state"`
	Reason   string    `json:"reason,omitempty"`
	Parent   string    `json:"parent,omitempty"`
	Root     string    `json:"root"`
	Level    int       `json:"level" doc:"below the first of the list"`
	Model    string    `json:"model,omitempty"`
	Turns    int64     `json:"turns"`
	Spend    string    `json:"spend"`
	Reserved string    `json:"reserved"`
	Max      string    `json:"max"`
	Started  time.Time `json:"started"`
	Asks     *Asks     `json:"asks,omitempty" doc:"the question that a person must answer"`

	// Part is how much of Max is spent, from 0 to 1.
	Part float64 `json:"-"`
}

// Asks is a question in a list.
type Asks struct {
	Kind  string    `json:"kind" enum:"approval,question"`
	ID    string    `json:"id"`
	Text  string    `json:"text"`
	Short string    `json:"-"`
	Since time.Time `json:"since"`
	Open  int       `json:"open,omitempty" doc:"how many are open, if there are several"`
}

// maxShort is the number of characters of a question on one line.
const maxShort = 120

// listed converts an entry of the registry.
func listed(t *control.Entry) Thread {
	out := Thread{
		ID:       t.ID,
		Number:   t.Number,
		Name:     t.Name,
		Kind:     t.Kind,
		Item:     t.Item,
		Project:  t.Project,
		State:    t.State,
		Reason:   t.Reason,
		Parent:   t.Parent,
		Root:     t.Root,
		Level:    t.Level,
		Model:    t.Model,
		Turns:    t.Turns,
		Spend:    t.Spend.String(),
		Reserved: t.Reserved.String(),
		Max:      t.Max.String(),
		Started:  t.Started,
		Part:     partOf(t.Spend, t.Max),
	}
	if w := t.Waiting; w != nil {
		out.Asks = &Asks{
			Kind:  w.Kind,
			ID:    w.ID,
			Text:  w.Text,
			Short: w.Short(maxShort),
			Since: w.Since,
			Open:  w.Open,
		}
	}
	return out
}

// partOf returns the part of a maximum that is spent.
func partOf(spent, most policy.USD) float64 {
	// Without a limit there is no part of it.
	if most <= 0 {
		return 0
	}
	return min(1, float64(spent)/float64(most))
}

// Threads returns the threads of all projects of the caller: roots from the newest on, each followed by
// the threads below it.
func (v *View) Threads(ctx context.Context) ([]Thread, error) {
	out := []Thread{}
	for _, dir := range v.dirs() {
		p, err := v.h.reading(ctx, dir)
		if err != nil {
			return nil, err
		}
		list, err := control.List(ctx, p, false)
		if err != nil {
			return nil, err
		}
		for i := range list {
			out = append(out, listed(&list[i]))
		}
	}
	return inTrees(out), nil
}

// inTrees orders threads as trees and sets their levels.
func inTrees(list []Thread) []Thread {
	slices.SortStableFunc(list, func(a, b Thread) int {
		return b.Started.Compare(a.Started)
	})
	known := map[string]bool{}
	for i := range list {
		known[list[i].ID] = true
	}
	below := map[string][]Thread{}
	var roots []Thread
	for i := range list {
		t := list[i]
		// The parent of a thread can be removed.
		if t.Parent == "" || !known[t.Parent] {
			roots = append(roots, t)
			continue
		}
		below[t.Parent] = append(below[t.Parent], t)
	}
	out := make([]Thread, 0, len(list))
	var add func(t Thread, level int)
	add = func(t Thread, level int) {
		t.Level = level
		out = append(out, t)
		children := below[t.ID]
		// Children are in the order of their start.
		for _, c := range slices.Backward(children) {
			add(c, level+1)
		}
	}
	for i := range roots {
		add(roots[i], 0)
	}
	return out
}

// Tree returns a thread with all below it.
func (v *View) Tree(ctx context.Context, id string) ([]Thread, error) {
	p, err := v.toRead(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := control.Tree(ctx, p, id)
	if err != nil {
		return nil, err
	}
	out := make([]Thread, 0, len(list))
	for i := range list {
		out = append(out, listed(&list[i]))
	}
	return out, nil
}

// Detail is one thread. A thread of a chain, which a later one continues, has no entry in the registry; it
// has the facts of its log.
type Detail struct {
	Thread

	Signer      string         `json:"signer" doc:"of the directive"`
	Version     string         `json:"version,omitempty"`
	Digest      string         `json:"digest" doc:"of the directive"`
	MaxTurns    int64          `json:"max_turns"`
	Text        string         `json:"text,omitempty" doc:"the last answer of a thread that has ended"`
	Code        string         `json:"code,omitempty" doc:"of the error"`
	Message     string         `json:"message,omitempty" doc:"of the error"`
	Inputs      map[string]any `json:"inputs"`
	Outputs     map[string]any `json:"outputs,omitempty"`
	Continues   string         `json:"continues,omitempty"`
	ContinuedBy string         `json:"continued_by,omitempty"`
}

// Thread returns one thread.
func (v *View) Thread(ctx context.Context, id string) (*Detail, error) {
	p, err := v.toRead(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &Detail{Inputs: map[string]any{}}
	tree, err := control.Tree(ctx, p, id)
	switch {
	case err == nil:
		out.Thread = listed(&tree[0])
	case diag.CodeOf(err) != diag.ThreadNotFound:
		return nil, err
	}
	s, err := summary(ctx, p, id)
	if diag.CodeOf(err) == diag.ThreadNotFound && out.ID != "" {
		return out, nil // a run of a graph
	}
	if err != nil {
		return nil, err
	}
	if out.ID == "" {
		out.Thread = ofSummary(p, s)
	}
	out.Signer = s.Signer
	out.Version = s.Version
	out.Digest = s.Directive.Digest.String()
	out.MaxTurns = s.Limits.Turns
	out.Text = s.Text
	out.Outputs = s.Outputs
	out.Continues = s.Continues
	out.ContinuedBy = s.ContinuedBy
	if s.Inputs != nil {
		out.Inputs = s.Inputs
	}
	if s.Error != nil {
		out.Code = string(s.Error.Code)
		out.Message = s.Error.Message
	}
	return out, nil
}

// ofSummary returns a thread that the registry does not have.
func ofSummary(p *project.Project, s *threads.Summary) Thread {
	started, _ := time.Parse(time.RFC3339Nano, s.Started) // rye wrote it
	return Thread{
		ID:       s.ID,
		Kind:     "thread",
		Item:     s.Directive.Ref,
		Project:  p.Spaces.ProjectDir,
		State:    s.State,
		Root:     s.ID,
		Model:    s.Model,
		Turns:    s.Cost.Turns,
		Spend:    s.Cost.Spend.String(),
		Reserved: policy.USD(0).String(),
		Max:      s.Limits.Spend.String(),
		Started:  started,
		Part:     partOf(s.Cost.Spend, s.Limits.Spend),
	}
}

// Line is a line of a log. Its hash of the line before is verified, and not shown.
type Line struct {
	Seq   int64           `json:"seq"`
	Time  string          `json:"time"`
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// Log is a part of a log.
type Log struct {
	Lines  []Line `json:"lines"`
	Next   int64  `json:"next,omitempty" doc:"the first line that is not included"`
	Broken string `json:"broken,omitempty" doc:"what the verification of the log found: its lines are shown all the same"`
}

// maxLogBytes is the size of the largest part of a log.
const maxLogBytes = 4 << 20

// Log returns lines of a log from a number on.
func (v *View) Log(ctx context.Context, id string, from, most int64) (*Log, error) {
	p, err := v.toRead(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &Log{Lines: []Line{}}
	report, err := control.Verify(ctx, p, id)
	switch {
	case diag.CodeOf(err) == diag.TranscriptBroken:
		out.Broken = diag.Redact(err.Error())
	case err != nil:
		return nil, err
	case len(report.Findings) > 0:
		out.Broken = diag.Redact(report.Findings[0].Message)
	}
	size := 0
	err = transcript.NewReader(p.Spaces.ProjectDir, id).Next(func(l *transcript.Line) error {
		if l.Seq < from || out.Next > 0 {
			return nil
		}
		size += len(l.Data)
		if int64(len(out.Lines)) == most || size > maxLogBytes && len(out.Lines) > 0 {
			out.Next = l.Seq
			return nil
		}
		out.Lines = append(out.Lines, LineOf(l))
		return nil
	})
	if diag.CodeOf(err) == diag.TranscriptBroken {
		out.Broken = diag.Redact(err.Error())
		err = nil
	}
	return out, err
}

// LineOf returns a line as clients see it.
func LineOf(l *transcript.Line) Line {
	return Line{
		Seq:   l.Seq,
		Time:  l.Time,
		Event: l.Event,
		Data:  l.Data,
	}
}

// Activity returns the blocks of a thread, and the number of the last line that they are from.
func (v *View) Activity(ctx context.Context, id string) (tree *activity.Tree, last int64, err error) {
	p, err := v.toRead(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	tree = activity.New(activity.Start{ThreadID: id})
	err = transcript.NewReader(p.Spaces.ProjectDir, id).Next(func(l *transcript.Line) error {
		tree.Add(id, l)
		last = l.Seq
		return nil
	})
	return tree, last, err
}

// Cost is what a thread cost with all below it.
type Cost struct {
	Threads []ThreadCost `json:"threads"`
	Models  []ModelCost  `json:"models"`
	Calls   int64        `json:"calls"`
	Spend   string       `json:"spend"`
	Assumed string       `json:"assumed" doc:"the part that services did not report"`
}

// ThreadCost is what one chain of threads cost by itself.
type ThreadCost struct {
	ID    string `json:"thread_id"`
	Item  string `json:"directive"`
	Level int    `json:"level"`
	Calls int64  `json:"calls"`
	Spend string `json:"spend"`
}

// ModelCost is what the calls of a model cost.
type ModelCost struct {
	Model string `json:"model"`
	Calls int64  `json:"calls"`
	Spend string `json:"spend"`

	Part float64 `json:"-"` // of the largest in the list
}

// Cost returns the cost of a thread.
func (v *View) Cost(ctx context.Context, id string) (*Cost, error) {
	p, err := v.toRead(ctx, id)
	if err != nil {
		return nil, err
	}
	var report *costReport
	err = withStore(ctx, p, func(s *store.Store) error {
		report, err = costs(ctx, p, s, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &Cost{
		Threads: []ThreadCost{},
		Models:  []ModelCost{},
		Calls:   report.Total.Calls,
		Spend:   report.Total.Actual.String(),
		Assumed: report.Total.Assumed.String(),
	}
	for i := range report.Threads {
		t := &report.Threads[i]
		out.Threads = append(out.Threads, ThreadCost{
			ID:    t.Thread,
			Item:  t.Ref,
			Level: t.Level,
			Calls: t.Own.Calls,
			Spend: t.Own.Actual.String(),
		})
	}
	for _, m := range report.Models {
		out.Models = append(out.Models, ModelCost{
			Model: m.Model,
			Calls: m.Calls,
			Spend: m.Actual.String(),
		})
	}
	return out, nil
}
