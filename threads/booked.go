package threads

import (
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/transcript"
)

// Booked is what the log of one thread states for the registry and the ledger.
type Booked struct {
	ID        string
	Directive Identity
	Model     string // that it started with
	Parent    string // the run of a graph whose node started it, "" for none
	Spawned   *Spawned
	Carried   *Carried // from the thread that it continues, or nil
	First     Limits   // of its start
	Limits    Limits   // of its last process
	State     string
	Reason    string         // of an error, or of a suspension
	Number    int64          // in the user account, 0 if the log states none
	Inputs    map[string]any // of the directive
	Name      string         // that a person gave it, "" for none
	Began     time.Time
	Rested    time.Time // of its last line, if it does not run
	Calls     []BookedCall
	Ends      []time.Time // when it ended; it can have been resumed
	Resumes   []time.Time
	Summaries []string // the threads that summarized it
	ended     bool
}

// BookedCall is one call of a model.
type BookedCall struct {
	ID, Model      string
	Reserved, Cost policy.USD
	Assumed, Open  bool
	At             time.Time
	turn, attempt  int64
}

// Book reads the lines of the log of a thread. The error is THREAD_NOT_FOUND for the log of a
// run of a graph, or one without a line.
func Book(project, id string, lines []transcript.Line) (*Booked, error) {
	if !IsThread(lines) {
		return nil, notThread(id, lines)
	}
	b := &Booked{ID: id, State: Running, Began: lines[0].At()}
	for i := range lines {
		data, err := dataOf(project, id, &lines[i])
		if err == nil {
			err = b.line(&lines[i], data)
		}
		if err != nil {
			return nil, diag.New(diag.TranscriptBroken, "reading the log of %s: line %d: %w", id, lines[i].Seq, err)
		}
	}
	if b.State != Running {
		b.Rested = lines[len(lines)-1].At()
	}
	return b, nil
}

// Open reports whether the thread had begun and not ended at a time.
func (b *Booked) Open(at time.Time) bool {
	if b.Began.After(at) {
		return false
	}
	open := true
	for i, end := range b.Ends {
		if end.After(at) {
			break
		}
		open = i < len(b.Resumes) && !b.Resumes[i].After(at)
	}
	return open
}

func (b *Booked) line(l *transcript.Line, data []byte) error {
	switch l.Event {
	case evStarted:
		var d startedData
		err := into(data, &d)
		b.Directive = d.Directive
		b.Model = d.Model
		b.Spawned = d.Spawned
		b.Carried = d.Carried
		b.First = d.Limits
		b.Limits = d.Limits
		b.Number = d.Number
		b.Inputs = d.Inputs
		if d.Parent != nil {
			b.Parent = *d.Parent
		}
		return err
	case "session_named":
		var d struct {
			Name string `json:"name"`
		}
		err := into(data, &d)
		b.Name = d.Name
		return err
	case evRequest:
		var d requestData
		err := into(data, &d)
		b.Calls = append(b.Calls, BookedCall{
			ID:       d.Reservation,
			Model:    d.Model,
			Reserved: d.Reserved,
			Open:     true,
			At:       l.At(),
			turn:     d.Turn,
			attempt:  d.Attempt,
		})
		return err
	case evResponse:
		var d responseData
		err := into(data, &d)
		d.believe(b.request(d.Turn, d.Attempt))
		b.answer(d.Turn, d.Attempt, d.Cost, d.Assumed)
		return err
	case evError:
		var d errorData
		err := into(data, &d)
		d.believe(b.request(d.Turn, d.Attempt))
		b.answer(d.Turn, d.Attempt, d.Cost, d.Assumed)
		return err
	case evSuspended:
		var d Suspension
		err := into(data, &d)
		b.State = Suspended
		b.Reason = d.Reason
		return err
	case evResumed:
		var d resumedData
		err := into(data, &d)
		if d.Limits != nil {
			b.Limits = *d.Limits
		}
		b.State = Running
		b.Reason = ""
		if b.ended {
			b.Resumes = append(b.Resumes, l.At())
			b.ended = false
		}
		return err
	case evContinued:
		var d continuedData
		err := into(data, &d)
		b.State = Continued
		b.Summaries = append(append(b.Summaries, d.Thread), d.Threads...)
		return err
	case evCompacted:
		var d compactedData
		err := into(data, &d)
		b.Summaries = append(b.Summaries, d.Threads...)
		return err
	case evCompleted, evFailed, evCancelled, evKilled:
		var d endData
		err := into(data, &d)
		b.State = map[string]string{
			evCompleted: Completed,
			evFailed:    Failed,
			evCancelled: Cancelled,
			evKilled:    Killed,
		}[l.Event]
		b.Reason = restReason(b.State, d.Error)
		b.Ends = append(b.Ends, l.At())
		b.ended = true
		return err
	}
	return nil
}

// request returns the open request that an answer belongs to.
func (b *Booked) request(turn, attempt int64) *requestData {
	for _, c := range b.Calls {
		if c.Open && c.turn == turn && c.attempt == attempt {
			return &requestData{Reserved: c.Reserved}
		}
	}
	return &requestData{}
}

// answer settles the call that an answer belongs to.
func (b *Booked) answer(turn, attempt int64, cost policy.USD, assumed bool) {
	for i := range b.Calls {
		c := &b.Calls[i]
		if c.Open && c.turn == turn && c.attempt == attempt {
			c.Open = false
			c.Cost = cost
			c.Assumed = assumed
			return
		}
	}
}

// restReason is the reason in the registry of a thread that has ended or is suspended: only
// an error has one.
func restReason(state string, e *diag.Failure) string {
	switch {
	case state != Failed || e == nil:
		return ""
	case e.Code == diag.ThreadState && strings.Contains(e.Message, ": "+Orphaned+": "):
		return Orphaned
	}
	return string(e.Code)
}
