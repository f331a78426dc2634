// Package waiting finds the open questions of threads and graph runs in their
// logs.
//
// It reads logs only: it asks no person, and it does not know which process runs a thread.
package waiting

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/threads"
)

// The kinds of what a thread waits for.
const (
	Approval = "approval" // of a call
	Question = "question" // of a hook, a limit or a node of a graph
)

// Wait is the question that a thread or a run waits for.
type Wait struct {
	Kind  string    `json:"kind"`
	ID    string    `json:"id"` // of the question, or the node of a run
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
	Open  int       `json:"open,omitempty"` // how many questions are open, if there are several
}

// MaxText is the greatest length of a text, in characters.
const MaxText = 300

// Of returns the first open question of a thread or run of a project, or nil.
func Of(ctx context.Context, project, id string) (*Wait, error) {
	s, err := threads.ReadStarted(project, id)
	if diag.CodeOf(err) == diag.ThreadNotFound {
		return ofRun(ctx, project, id)
	}
	if err != nil {
		return nil, err
	}
	open, err := threads.OpenQuestions(project, id)
	switch {
	case err != nil:
		return nil, err
	case len(open) > 0:
		return newWait(
			Approval,
			open[0].ID,
			open[0].Question,
			open[0].Since,
			len(open),
		), nil
	case s.Suspended != nil && s.Suspended.Ask != nil && s.Suspended.Reason != threads.ByApproval:
		return newWait(
			Question,
			s.Suspended.Ask.ID,
			s.Suspended.Ask.Question,
			s.Rested,
			1,
		), nil
	}
	return nil, nil
}

func ofRun(ctx context.Context, project, id string) (*Wait, error) {
	s, err := graph.Status(ctx, project, id)
	if err != nil {
		return nil, err
	}
	return ofSummary(s), nil
}

// Run is a run that waits for a person.
type Run struct {
	*graph.Summary

	Wait *Wait
}

// Runs returns the suspended runs of a project that wait for a person. project can be "".
func Runs(ctx context.Context, project string) ([]Run, error) {
	if project == "" {
		return nil, nil
	}
	all, err := graph.List(ctx, project)
	if err != nil {
		return nil, err
	}
	var out []Run
	for _, s := range all {
		if w := ofSummary(s); w != nil && s.State == graph.StateSuspended {
			out = append(out, Run{s, w})
		}
	}
	return out, nil
}

func ofSummary(s *graph.Summary) *Wait {
	open := s.Questions()
	if len(open) == 0 {
		return nil
	}
	kind := Question
	if open[0].Approval {
		kind = Approval
	}
	since, _ := time.Parse(time.RFC3339Nano, s.Updated) // rye wrote it
	return newWait(kind, open[0].Node, open[0].Question, since, len(open))
}

// Encode returns the form of the registry, "" for nil.
func (w *Wait) Encode() string {
	if w == nil {
		return ""
	}
	b, err := json.Marshal(w)
	if err != nil {
		return ""
	}
	return string(b)
}

// Decode reads the form of the registry.
func Decode(text string) *Wait {
	w := &Wait{}
	if text == "" || json.Unmarshal([]byte(text), w) != nil {
		return nil
	}
	return w
}

func newWait(kind, id, text string, since time.Time, open int) *Wait {
	if r := []rune(text); len(r) > MaxText {
		text = string(r[:MaxText-1]) + "…"
	}
	w := &Wait{
		Kind:  kind,
		ID:    id,
		Text:  text,
		Since: since,
	}
	if open > 1 {
		w.Open = open
	}
	return w
}

// Short describes what is waited for in a line of at most width characters: the command of a
// call, or the beginning of the question.
func (w *Wait) Short(width int) string {
	text := w.Text
	_, after, ok := strings.Cut(text, `he command "`)
	if ok && w.Kind == Approval {
		if quoted, err := strconv.QuotedPrefix(`"` + after); err == nil {
			if command, err := strconv.Unquote(quoted); err == nil {
				text = command
			}
		}
	}
	text = strings.ReplaceAll(text, "\n", " ")
	text = hidden.Visible(text)
	if r := []rune(text); len(r) > width {
		return string(r[:max(width-1, 0)]) + "…"
	}
	return text
}

// State describes a waiting thread for a person, now.
func (w *Wait) State(now time.Time, width int) string {
	return "waiting for you: " + w.Short(width) + ", " + Age(now.Sub(w.Since))
}

// Age writes a time since something: 42 s, 3 min, 5 h, 2 d.
func Age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " d"
}
