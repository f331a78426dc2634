package inbox

import (
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/transcript"
)

// The kinds of messages that a thread reads. The graph of its loop takes those to cancel.
const (
	Text    = "message" // of a person for the model
	Event   = "event"   // of a person, a client or a thread for the model
	Handoff = "handoff" // a new thread continues
	Suspend = "suspend"
	Name    = "name" // of a conversation
)

// Unread are the messages for a thread that its log does not have.
type Unread struct {
	Messages []Message
	// Taken are all that are removed when the log has the messages: some were in it, and the
	// process was stopped before it removed them.
	Taken []Message
	// Named reports whether the log names messages. Skip is then how many lines of the first
	// message it has.
	Named bool
	Skip  int
}

// Read returns the messages for a thread of the accepted kinds that the lines of its log do not
// have: each is read once, whenever a process was stopped.
func Read(project, id string, lines []transcript.Line, accepts func(kind string) bool) (*Unread, error) {
	had, err := readRecorded(lines)
	if err != nil {
		return nil, err
	}
	all, err := List(project, id)
	if err != nil {
		return nil, err
	}
	out := &Unread{Named: len(had.whole) > 0 || had.begun != ""}
	for _, m := range all {
		if !accepts(m.Kind) {
			continue
		}
		out.Taken = append(out.Taken, m)
		switch {
		case had.whole[m.ID]:
		case m.ID == had.begun: // first, because its first line is in the log
			out.Messages = slices.Insert(out.Messages, 0, m)
			out.Skip = 1
		default:
			out.Messages = append(out.Messages, m)
		}
	}
	return out, nil
}

// recorded is what a log has of the inbox: the ids of whole messages, and the id of a message of
// which it has the first line only.
type recorded struct {
	whole map[string]bool
	begun string
}

// readRecorded reads which messages a log has.
func readRecorded(lines []transcript.Line) (*recorded, error) {
	out := &recorded{whole: map[string]bool{}}
	for i := range lines {
		switch lines[i].Event {
		case "inbox":
			var d struct {
				ID      string `json:"id"`
				Kind    string `json:"kind"`
				Payload any    `json:"payload"`
			}
			if err := lines[i].Decode(&d); err != nil {
				return nil, diag.New(diag.TranscriptBroken, "reading line %d: %w", lines[i].Seq, err)
			}
			out.begun = ""
			switch {
			case d.ID == "": // of an earlier version, or of a program that does not state it
			case forModel(d.Kind, d.Payload):
				out.begun = d.ID
			default:
				out.whole[d.ID] = true
			}
		case "message_added":
			if out.begun != "" {
				out.whole[out.begun] = true
				out.begun = ""
			}
		}
	}
	return out, nil
}

// forModel reports whether a second line of the log has a message for the model.
func forModel(kind string, payload any) bool {
	return kind == Text || kind == Event || kind == Handoff && TextOf(payload) != ""
}

// TextOf returns the text of a payload: a text, or the member message, reason or text of an
// object.
func TextOf(payload any) string {
	if s, ok := payload.(string); ok {
		return s
	}
	m, _ := payload.(map[string]any)
	for _, key := range []string{"message", "reason", "text"} {
		if s, ok := m[key].(string); ok {
			return s
		}
	}
	return ""
}

// NameOf returns the name that a message gives a conversation, "" for one of another kind.
func NameOf(m *Message) string {
	p, _ := m.Payload.(map[string]any)
	name, _ := p["name"].(string)
	if m.Kind != Name {
		return ""
	}
	return name
}
