package graph

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/transcript"
)

// Summary is the state of a run as its log states it.
type Summary struct {
	ID      string      `json:"run_id"`
	Graph   string      `json:"graph"`
	Digest  item.Digest `json:"digest"`
	State   string      `json:"state"`
	Reason  string      `json:"reason,omitempty"`  // of a suspension, or orphaned
	Waiting []string    `json:"waiting,omitempty"` // the nodes that wait
	WakeAt  string      `json:"wake_at,omitempty"`
	Child   string      `json:"child,omitempty"` // the run that the waiting node called
	Node    string      `json:"node,omitempty"`  // the last one that started
	Steps   int         `json:"steps"`
	Parent  string      `json:"parent,omitempty"`
	Number  int64       `json:"number,omitempty"` // in the user account
	Copy    string      `json:"copy,omitempty"`   // the working copy that its tools work in
	Started string      `json:"started"`
	Updated string      `json:"updated"`
	PID     int         `json:"pid,omitempty"`
	// Thread is set if the run is the loop of a thread.
	Thread bool `json:"thread,omitempty"`

	questions []askData // open questions
	held      []heldSet // with which it started
}

// StartedBy reports whether a caller with these permissions, or what it called, started
// the run: the permissions of the run begin with them.
// An agent reaches the runs whose recorded permissions begin with its own. A user at a terminal
// reaches all. No thread is needed, so the rule applies to MCP clients too.
func (s *Summary) StartedBy(held policy.Held) bool {
	if len(held) == 0 || len(s.held) < len(held) {
		return false
	}
	for i, g := range held {
		if !s.held[i].is(g) {
			return false
		}
	}
	return true
}

// Question is an open question of a run.
func (s *Summary) question(node string) *askData {
	for i := range s.questions {
		if s.questions[i].Node == node {
			return &s.questions[i]
		}
	}
	return nil
}

// orphaned is the reason of a run whose process was stopped.
const orphaned = "orphaned"

// Status returns the state of a run. The error is THREAD_NOT_FOUND if no run has the id.
func Status(ctx context.Context, project, id string) (*Summary, error) {
	for known := -1; ; {
		lines, err := transcript.Read(project, id)
		if err != nil {
			return nil, err
		}
		s, err := status(project, id, lines)
		if err != nil || s.State != StateRunning || Owner(ctx, project, id) >= 0 {
			return s, err
		}
		// A process that has ended since the log was read has written its end.
		if known == len(lines) {
			s.State = StateError
			s.Reason = orphaned
			s.PID = 0
			return s, nil
		}
		known = len(lines)
	}
}

func status(project, id string, lines []transcript.Line) (*Summary, error) {
	s := &Summary{ID: id, State: StateRunning}
	for i := range lines {
		if err := s.add(project, &lines[i]); err != nil {
			return nil, diag.New(diag.TranscriptBroken, "reading the log of %s: %w", id, err)
		}
	}
	if len(lines) == 0 {
		s.State = StateError
		s.Reason = orphaned
		return s, nil
	}
	s.Updated = lines[len(lines)-1].Time
	if s.State != StateRunning {
		s.PID = 0
	}
	return s, nil
}

func (s *Summary) add(project string, l *transcript.Line) error {
	into := func(v any) error {
		data, err := dataOf(project, s.ID, l)
		if err != nil {
			return err
		}
		return jsonx.Decode(data, v)
	}
	switch l.Event {
	case evThread:
		var d struct {
			PID    int   `json:"pid"`
			Number int64 `json:"number"`
		}
		err := into(&d)
		s.Thread = true
		s.Started = l.Time
		s.PID = d.PID
		s.Number = d.Number
		return err
	case evStarted:
		var d startedData
		err := into(&d)
		s.held = d.Held
		s.Copy = d.Copy
		s.Number = max(d.Number, s.Number)
		s.Graph = d.Graph
		s.Digest = d.Digest
		s.Parent = d.Parent
		s.Started = l.Time
		s.PID = d.PID
		s.Steps = d.Steps
		return err
	case evNode:
		var d nodeData
		err := into(&d)
		s.Node = d.Node
		s.Steps = max(s.Steps, d.Step)
		return err
	case evResumed:
		var d resumedData
		err := into(&d)
		s.State = StateRunning
		s.Reason = ""
		s.Waiting = nil
		s.WakeAt = ""
		s.Child = ""
		s.PID = d.PID
		return err
	case evSuspended:
		var d suspendedData
		err := into(&d)
		s.State = StateSuspended
		s.Reason = d.Reason
		s.Waiting = d.Nodes
		s.WakeAt = d.WakeAt
		s.Child = d.Child
		return err
	case evAsk:
		var d askData
		err := into(&d)
		s.questions = append(s.questions, d)
		return err
	case evAnswer:
		var d answerData
		err := into(&d)
		s.questions = slices.DeleteFunc(s.questions, func(a askData) bool {
			return a.Node == d.Node
		})
		return err
	case evCommitted, evFailed:
		var d failedData
		err := l.Decode(&d)
		if err == nil && d.Edge != "retry" {
			s.questions = slices.DeleteFunc(s.questions, func(a askData) bool {
				return isAbout(a.Node, d.Node)
			})
		}
	case evCompleted, evThreadCompleted:
		s.ended(StateCompleted)
	case evError, evThreadError:
		s.ended(StateError)
	case evCancelled, evThreadCancelled:
		s.ended(StateCancelled)
	case evKilled:
		s.ended(StateKilled)
	case evThreadContinued:
		s.ended(StateContinued)
	}
	return nil
}

// ended sets the state of a run that waits for nothing any more.
func (s *Summary) ended(state string) {
	s.State = state
	s.Reason = ""
	s.Waiting = nil
	s.WakeAt = ""
	s.Child = ""
}

// Owner returns the process that writes the log of a run, 0 if its number is not
// known, -1 if no process does.
func Owner(ctx context.Context, project, id string) int {
	_, err := transcript.Base(project, id).Stat(transcript.LockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return -1 // FreeWithin would create it, with its directories
	}
	err = transcript.Base(project, id).FreeWithin(ctx, transcript.LockFile, time.Millisecond)
	var held *filelock.Held
	if errors.As(err, &held) {
		return held.PID
	}
	return -1
}

// List returns the runs of a project, the newest first. A directory without a readable
// log is left out.
func List(ctx context.Context, project string) ([]*Summary, error) {
	ids, err := IDs(project)
	if err != nil {
		return nil, err
	}
	var out []*Summary
	for _, id := range ids {
		s, err := Status(ctx, project, id)
		if err == nil && s.Graph != "" && !s.Thread {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b *Summary) int {
		return strings.Compare(b.Started+b.ID, a.Started+a.ID)
	})
	return out, nil
}

// IDs returns the ids of the runs of a project, sorted.
func IDs(project string) ([]string, error) {
	entries, err := os.ReadDir(Dir(project))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.Doing("listing the runs", err)
	}
	var out []string
	for _, e := range entries {
		if IsID(e.Name()) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// Find returns the id of the one run that begins with a prefix.
func Find(project, prefix string) (string, error) {
	ids, err := IDs(project)
	if err != nil {
		return "", err
	}
	var found []string
	for _, id := range ids {
		if id == prefix {
			return id, nil
		}
		if strings.HasPrefix(id, prefix) {
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		// The ids end with the time of the start: the newest are those that a person means.
		slices.SortFunc(found, func(a, b string) int {
			return strings.Compare(
				b[strings.LastIndexByte(b, '-'):],
				a[strings.LastIndexByte(a, '-'):],
			)
		})
		newest := strings.Join(found[:min(len(found), 3)], ", ")
		return "", diag.New(diag.AmbiguousItem, "finding the run %s: %d runs begin like this, the newest are %s", prefix, len(found), newest).WithReason("runs")
	}
	return "", diag.New(diag.ThreadNotFound, "finding the run %q: no run has this id", prefix).
		WithReason("no_run").
		WithDetail("id", prefix)
}
