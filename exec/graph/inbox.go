package graph

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/ryeos/rye/threads/inbox"
	"github.com/ryeos/rye/threads/transcript"
)

// Message is one file of a run's inbox: an answer, an event, or the request to cancel.
type Message = inbox.Message

const kindAnswer = inbox.Answer

// Send writes a message into the inbox of a run, as inbox.Send states.
func Send(project, run string, m Message, now time.Time) error {
	return inbox.Send(project, run, &m, now)
}

// Inbox returns the messages that a run or thread has not taken, the oldest first.
func Inbox(project, id string) ([]Message, error) {
	return inbox.List(project, id)
}

// Take removes messages that the log of a thread has.
func Take(project, id string, list []Message) error {
	return inbox.Take(project, id, list)
}

// untaken removes an answer that came after the run had taken a first one, and reports whether
// it did. The run removes an answer that it takes.
func untaken(project, run, node string) (bool, error) {
	err := transcript.Base(project, run).Remove(inbox.Dir + "/" + inbox.AnswerFile(node))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// inbox returns the message of a kind and name, or nil: of several the newest. A question has
// one answer; of those that a version before this one wrote, the first is taken.
func (w *walker) inbox(kind, name string) (*Message, error) {
	list, err := inbox.List(w.p.Project, w.log.ID())
	if err != nil {
		return nil, err
	}
	if kind != kindAnswer {
		slices.Reverse(list)
	}
	for _, m := range list {
		if m.Kind == kind && m.Name == name {
			return &m, nil
		}
	}
	return nil, nil
}

// taken removes messages whose content the log has recorded.
func (w *walker) taken(kind, name string) error {
	return taken(w.p.Project, w.log.ID(), kind, name)
}

// Asked reports whether the inbox of a run has a message of a kind.
func Asked(project, id, kind string) bool {
	list, err := inbox.List(project, id)
	return err == nil && slices.ContainsFunc(list, func(m Message) bool {
		return m.Kind == kind
	})
}

// Cancelled removes the requests to cancel from the inbox of a suspended run: they must
// not cancel the process that resumes it.
func Cancelled(project, id string) error {
	return taken(project, id, "cancel", "")
}

func taken(project, id, kind, name string) error {
	list, err := inbox.List(project, id)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(m Message) bool {
		return m.Kind != kind || m.Name != name
	})
	return inbox.Take(project, id, list)
}
