package threads

import (
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// Summary is what the log of a thread states about it.
type Summary struct {
	ID        string              `json:"thread_id"`
	Directive Identity            `json:"directive"`
	Version   string              `json:"version,omitempty"`
	Signer    string              `json:"signer"`
	State     string              `json:"state"`
	Provider  Identity            `json:"provider"`
	Model     string              `json:"model"`
	Limits    Limits              `json:"limits"`
	Cost      Cost                `json:"cost"`
	Inputs    map[string]any      `json:"inputs"`
	Outputs   map[string]any      `json:"outputs,omitempty"`
	Text      string              `json:"text,omitempty"`
	Error     *diag.Failure       `json:"error,omitempty"`
	Calls     []CallSummary       `json:"calls"`
	Shorter   []ShorteningSummary `json:"shorter,omitempty"` // each time that the conversation became shorter
	Loop      Identity            `json:"loop"`
	Steps     []Identity          `json:"steps"` // the items that ran, in the order of their first run
	Started   string              `json:"started"`
	Updated   string              `json:"updated"`
	PID       int                 `json:"pid,omitempty"`
	// Continues and ContinuedBy are the threads before and after it in its chain, whose
	// cost Cost is.
	Continues   string      `json:"continues,omitempty"`
	Follows     string      `json:"follows,omitempty"` // the completed thread whose conversation it has
	ContinuedBy string      `json:"continued_by,omitempty"`
	Suspended   *Suspension `json:"suspended,omitempty"`

	request requestData // the newest one
}

// ShorteningSummary is one time that the conversation became shorter.
// It reads results that became references as they were, and cuts them only if the whole costs
// more than the summary may.
type ShorteningSummary struct {
	Turn    int64  `json:"turn"` // after which it did
	Step    string `json:"step"` // references or summary
	Results int    `json:"results"`
	Turns   int64  `json:"turns"`
	Before  int64  `json:"before"` // tokens
	After   int64  `json:"after"`
	Failed  string `json:"summary_failed,omitempty"`
}

// CallSummary is one call of a tool.
type CallSummary struct {
	Turn     int64  `json:"turn"`
	CallID   string `json:"call_id"`
	Name     string `json:"name"`
	Ref      string `json:"ref,omitempty"`
	Decision string `json:"decision"`
	By       string `json:"by,omitempty"` // the program that made it; "" is the model
	Done     bool   `json:"done"`
	IsError  bool   `json:"is_error"`
	Duration int64  `json:"duration_ms"`
}

// Summarize reads the log of a thread without verifying it.
func Summarize(project, id string) (*Summary, error) {
	lines, err := transcript.Read(project, id)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 || lines[0].Event != evStarted {
		return nil, notThread(id, lines)
	}
	return summarize(project, id, lines)
}

// ReadResult returns the result that the log of a thread states, nil if it has not ended.
func ReadResult(project, id string) (*Result, error) {
	s, err := Summarize(project, id)
	if err != nil || s.State == Running {
		return nil, err
	}
	return &Result{
		ThreadID: id,
		Status:   s.State,
		Outputs:  s.Outputs,
		Text:     s.Text,
		Cost:     s.Cost,
		Model:    s.Model,
		Error:    s.Error,
	}, nil
}

func summarize(project, id string, lines []transcript.Line) (*Summary, error) {
	s := &Summary{
		ID:      id,
		State:   Running,
		Started: lines[0].Time,
		Calls:   []CallSummary{},
		Steps:   []Identity{},
	}
	for i := range lines {
		s.Updated = lines[i].Time
		data, err := dataOf(project, id, &lines[i])
		if err == nil {
			err = s.line(lines[i].Event, data)
		}
		if err != nil {
			return nil, diag.New(diag.TranscriptBroken, "reading the log of %s: line %d: %w", id, lines[i].Seq, err)
		}
	}
	return s, nil
}

func (s *Summary) line(event string, data []byte) error {
	switch event {
	case evStarted:
		var d startedData
		err := into(data, &d)
		s.Directive = d.Directive
		s.Version = d.Version
		s.Signer = d.Signer
		s.Provider = d.Provider
		s.Model = d.Model
		s.Limits = d.Limits
		s.Inputs = d.Inputs
		s.Loop = d.Loop
		s.PID = d.PID
		if d.Carried != nil {
			s.Continues = d.Carried.From
			s.Follows = d.Carried.Follows
			s.Cost = d.Carried.Cost
		}
		return err
	case "node_started":
		var d struct {
			Ref    string      `json:"ref"`
			Digest item.Digest `json:"digest"`
		}
		err := into(data, &d)
		id := (Identity{Ref: d.Ref, Digest: d.Digest})
		if d.Ref != "" && !slices.Contains(s.Steps, id) {
			s.Steps = append(s.Steps, id)
		}
		return err
	case evRequest:
		return into(data, &s.request)
	case evResponse:
		var d responseData
		err := into(data, &d)
		d.believe(&s.request)
		s.Cost.Turns = max(s.Cost.Turns, d.Turn)
		s.add(d.Usage, Cost{Spend: d.Cost})
		s.Model = d.Model
		return err
	case evError:
		var d errorData
		err := into(data, &d)
		d.believe(&s.request)
		if d.Usage != nil {
			s.add(*d.Usage, Cost{})
		}
		s.Cost.Spend = s.Cost.Spend.Plus(d.Cost)
		return err
	case evCall:
		var d callData
		err := into(data, &d)
		s.Calls = append(s.Calls, CallSummary{
			Turn:     d.Turn,
			CallID:   d.CallID,
			Name:     d.Name,
			Ref:      d.Ref,
			Decision: d.Decision,
			By:       d.By,
		})
		return err
	case evResult:
		var d resultData
		err := into(data, &d)
		for i := range s.Calls {
			if c := &s.Calls[i]; c.CallID == d.CallID {
				c.Done = true
				c.IsError = d.IsError
				c.Duration = d.Duration
			}
		}
		return err
	case evResumed:
		var d resumedData
		err := into(data, &d)
		s.State = Running
		s.Error = nil
		s.PID = d.PID
		s.Suspended = nil
		if d.Limits != nil {
			s.Limits = *d.Limits
		}
		return err
	}
	if event == evCompacted {
		var d compactedData
		err := into(data, &d)
		s.Shorter = append(s.Shorter, ShorteningSummary{s.Cost.Turns, d.Step, len(d.Results), d.Turns, d.Before, d.After, d.Failed})
		s.Cost.Spend = s.Cost.Spend.Plus(d.Spend)
		return err
	}
	if event == evContinued {
		var d continuedData
		err := into(data, &d)
		if s.State, s.ContinuedBy = Continued, d.To; d.Carried != nil {
			s.Cost = d.Carried.Cost
		}
		return err
	}
	if event == evSuspended {
		d := suspendedData{Suspension: &Suspension{}}
		err := into(data, &d)
		s.State = Suspended
		s.Cost = d.Cost
		s.Text = d.Text
		s.Suspended = d.Suspension
		return err
	}
	return s.end(event, data)
}

func (s *Summary) add(u message.Usage, c Cost) {
	s.Cost.InputTokens += u.InputTotal()
	s.Cost.OutputTokens += u.Output
	s.Cost.Spend = s.Cost.Spend.Plus(c.Spend)
}

// end applies a line with which the thread ends or is suspended.
func (s *Summary) end(event string, data []byte) error {
	state := map[string]string{
		evCompleted: Completed,
		evFailed:    Failed,
		evCancelled: Cancelled,
		evKilled:    Killed,
	}[event]
	if state == "" {
		return nil
	}
	var d endData
	err := into(data, &d)
	if d.Cost.Spend.Kept() { // see believe
		s.Cost = d.Cost
	}
	s.State = state
	s.Outputs = d.Outputs
	s.Text = d.Text
	s.Error = d.Error
	return err
}
