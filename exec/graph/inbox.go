package graph

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/threads/transcript"
)

// Message is one file of a run's inbox: an answer, an event, or the request to cancel.
type Message struct {
	Kind    string `json:"kind"` // answer, event or cancel
	Name    string `json:"name"` // the node of an answer, the name of an event
	Payload any    `json:"payload"`
	By      string `json:"by"`
	Time    string `json:"time"`
	// Keep keeps messages of the same kind and name that the run has not taken.
	Keep bool `json:"-"`

	file string
}

const (
	inboxDir   = "inbox"
	maxMessage = 1 << 20
)

// Send writes a message into the inbox of a run. A message of the same kind and name
// that the run has not taken is replaced; an answer is refused then: the first one is
// taken.
func Send(project, run string, m Message, now time.Time) error {
	m.Time = now.UTC().Format(time.RFC3339)
	old, err := messages(project, run)
	if err != nil {
		return err
	}
	b, err := jsonx.Marshal(m)
	if err != nil || len(b) > maxMessage {
		return diag.New(diag.ValidationFailed, "sending to %s: the payload is too large", run)
	}
	b = append(b, '\n')
	if m.Kind == kindAnswer {
		return sendAnswer(project, run, m.Name, b, old)
	}
	base := transcript.Base(project, run)
	name := NewID("m", now)
	file := strings.TrimPrefix(name, "m-") + ".json"
	if err := base.Write(inboxDir+"/"+file, b, 0o600); err != nil {
		return err
	}
	for _, o := range old {
		if !m.Keep && o.Kind == m.Kind && o.Name == m.Name {
			err := base.Remove(inboxDir + "/" + o.file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

const kindAnswer = "answer"

// answerFile is the one file of the answers to a question: of two processes that answer at the
// same time, the file system has one of them create it.
func answerFile(node string) string {
	return fmt.Sprintf("answer-%x.json", sha256.Sum256([]byte(node)))
}

func sendAnswer(project, run, node string, b []byte, old []Message) error {
	answered := diag.New(diag.ThreadState, "answering %s: %s has an answer already, which the run has not taken yet", run, node).
		WithReason("answered").WithDetail("run_id", run)
	// A version before this one gave each answer a file of its own.
	if slices.ContainsFunc(old, func(m Message) bool {
		return m.Kind == kindAnswer &&
			m.Name == node
	}) {
		return answered
	}
	err := transcript.Base(project, run).Create(inboxDir+"/"+answerFile(node), b, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return answered
	}
	return err
}

// untaken removes an answer that came after the run had taken a first one, and reports whether
// it did. The run removes an answer that it takes.
func untaken(project, run, node string) (bool, error) {
	err := transcript.Base(project, run).Remove(inboxDir + "/" + answerFile(node))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// messages returns the messages of a run, oldest first. A file that is not a message
// is ignored.
func messages(project, run string) ([]Message, error) {
	rel := transcript.Dir + "/" + run + "/" + inboxDir
	entries, err := os.ReadDir(transcript.Base(project, run).Path(inboxDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diag.Doing("reading the inbox of "+run, err)
	}
	var out []Message
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		b, _, err := openat.Read(project, rel+"/"+e.Name(), maxMessage+2)
		if err != nil {
			continue
		}
		v, fs := jsonx.ParseMessage(b)
		fields, ok := v.(map[string]any)
		if len(fs) > 0 || !ok {
			continue
		}
		m := Message{Payload: fields["payload"], file: e.Name()}
		m.Kind, _ = fields["kind"].(string)
		m.Name, _ = fields["name"].(string)
		m.By, _ = fields["by"].(string)
		m.Time, _ = fields["time"].(string)
		out = append(out, m)
	}
	return out, nil
}

// inbox returns the message of a kind and name, or nil: of several the newest. A question has
// one answer; of those that a version before this one wrote, the first is taken.
func (w *walker) inbox(kind, name string) (*Message, error) {
	list, err := messages(w.p.Project, w.log.ID())
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
	list, err := messages(project, id)
	return err == nil && slices.ContainsFunc(list, func(m Message) bool {
		return m.Kind == kind
	})
}

// Inbox returns the messages that a run or thread has not taken, the oldest first.
func Inbox(project, id string) ([]Message, error) {
	return messages(project, id)
}

// Take removes messages that the log of a thread has.
func Take(project, id string, list []Message) error {
	for _, m := range list {
		err := transcript.Base(project, id).Remove(inboxDir + "/" + m.file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Cancelled removes the requests to cancel from the inbox of a suspended run: they must
// not cancel the process that resumes it.
func Cancelled(project, id string) error {
	return taken(project, id, "cancel", "")
}

func taken(project, id, kind, name string) error {
	list, err := messages(project, id)
	if err != nil {
		return err
	}
	for _, m := range list {
		if m.Kind == kind && m.Name == name {
			err := transcript.Base(project, id).Remove(inboxDir + "/" + m.file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
