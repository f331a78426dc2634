// Package inbox has the messages for threads and runs of graphs: files in the directory of the
// log, in the order of an increasing number. It also states whether a client of a person is
// attached to a thread, and waits for messages while one is.
//
// It does not decide what a message does, and records nothing in a log.
package inbox

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/threads/transcript"
)

// Message is one file of a run's inbox: an answer, an event, or the request to cancel.
type Message struct {
	// ID names the message in the log: what the log has is not taken again. Send sets it.
	ID      string `json:"id"`
	Kind    string `json:"kind"` // answer, event, message, name, cancel, suspend or handoff
	Name    string `json:"name"` // the node of an answer, the name of an event
	Payload any    `json:"payload"`
	By      string `json:"by"`
	Time    string `json:"time"`
	// Keep keeps messages of the same kind and name that the run has not taken.
	Keep bool `json:"-"`

	file string
}

// Dir is the directory of the messages in the directory of a log.
const Dir = "inbox"

const maxMessage = 1 << 20

// Send writes a message into the inbox of a run, and sets its id. A message of the same kind and
// name that the run has not taken is replaced; an answer is refused then: the first one is
// taken.
func Send(project, run string, m *Message, now time.Time) error {
	m.ID = rand.Text()
	m.Time = now.UTC().Format(time.RFC3339)
	old, err := List(project, run)
	if err != nil {
		return err
	}
	b, err := jsonx.Marshal(m)
	if err != nil || len(b) > maxMessage {
		return diag.New(diag.ValidationFailed, "sending to %s: the payload is too large", run)
	}
	b = append(b, '\n')
	if m.Kind == Answer {
		return sendAnswer(project, run, m.Name, b, old)
	}
	base := transcript.Base(project, run)
	// The new message is there before the one that it replaces is gone: a run that reads
	// between the two does what the message asks for.
	if err := sendNumbered(base, b, old); err != nil {
		return err
	}
	for _, o := range old {
		if !m.Keep && o.Kind == m.Kind && o.Name == m.Name {
			err := base.Remove(Dir + "/" + o.file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// sendNumbered creates the file of a message with a number above all that the inbox has. Clocks
// of several processes do not decide about the order, and of two senders the file system has one
// create a file.
func sendNumbered(base atomicfile.Base, b []byte, old []Message) error {
	next := int64(1)
	for _, o := range old {
		next = max(next, o.number()+1)
	}
	for ; ; next++ {
		err := base.Create(fmt.Sprintf("%s/m%012d.json", Dir, next), b, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// Withdraw removes a message that the run has not read, and reports whether it did.
func Withdraw(project, run, id string) (bool, error) {
	list, err := List(project, run)
	if err != nil {
		return false, err
	}
	for _, m := range list {
		if m.ID != id {
			continue
		}
		err := transcript.Base(project, run).Remove(Dir + "/" + m.file)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	return false, nil
}

// number returns the number in the name of the file, 0 for one of an earlier version. The names
// of those begin with a digit, so that they are read first.
func (m *Message) number() int64 {
	digits, ok := strings.CutPrefix(strings.TrimSuffix(m.file, ".json"), "m")
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Answer is the kind of the answer to a question.
const Answer = "answer"

// AnswerFile is the one file of the answers to a question: of two processes that answer at the
// same time, the file system has one of them create it.
func AnswerFile(node string) string {
	return fmt.Sprintf("answer-%x.json", sha256.Sum256([]byte(node)))
}

func sendAnswer(project, run, node string, b []byte, old []Message) error {
	answered := diag.New(diag.ThreadState, "answering %s: %s has an answer already, which the run has not taken yet", run, node).
		WithReason("answered").WithDetail("run_id", run)
	// A version before this one gave each answer a file of its own.
	if slices.ContainsFunc(old, func(m Message) bool {
		return m.Kind == Answer &&
			m.Name == node
	}) {
		return answered
	}
	err := transcript.Base(project, run).Create(Dir+"/"+AnswerFile(node), b, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return answered
	}
	return err
}

// List returns the messages that a run or thread has not taken, the oldest first. A file that is
// not a message is ignored.
func List(project, run string) ([]Message, error) {
	rel := transcript.Dir + "/" + run + "/" + Dir
	entries, err := os.ReadDir(transcript.Base(project, run).Path(Dir))
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
		m.ID, _ = fields["id"].(string)
		m.ID = cmp.Or(m.ID, strings.TrimSuffix(m.file, ".json"))
		m.Kind, _ = fields["kind"].(string)
		m.Name, _ = fields["name"].(string)
		m.By, _ = fields["by"].(string)
		m.Time, _ = fields["time"].(string)
		out = append(out, m)
	}
	return out, nil
}

// Files returns the names of the files in the inbox of a run or thread: messages, and what
// is being written.
func Files(project, id string) []string {
	entries, _ := os.ReadDir(transcript.Base(project, id).Path(Dir)) // without it there are none
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			out = append(out, e.Name())
		}
	}
	return out
}

// Take removes messages that the log of a thread has.
func Take(project, id string, list []Message) error {
	for _, m := range list {
		err := transcript.Base(project, id).Remove(Dir + "/" + m.file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
