package tree

import (
	"context"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/threadhost"
)

// joined returns the thread that a call started before the process of its caller was
// stopped, nil if it started none. A thread that was ended because of its caller continues in
// a process of its own.
func joined(ctx context.Context, p *project.Project, o *threadhost.Options) (*Spawned, error) {
	if o.Above == nil || !o.Again {
		return nil, nil
	}
	id, s, err := startedBy(ctx, p, o.Above.Stored().ID, o.Call)
	if err != nil || id == "" {
		return nil, err
	}
	out := &Spawned{ThreadID: id, Directive: s.Directive.Ref, Limits: s.Limits}
	state, err := settledState(ctx, p, id)
	if err != nil {
		return nil, err
	}
	out.State = state.State
	if out.PID = state.PID; !state.interrupted() {
		return out, nil
	}
	out.PID, err = continueProcess(ctx, p, id, resumeStart{})
	out.State = threads.Running
	code := diag.CodeOf(err)
	if code == diag.ExecutionFailed || code == diag.Timeout {
		// Its process was stopped, too. The caller reads the child's state, with its id.
		state, err = settledState(ctx, p, id)
		if err != nil {
			return nil, err
		}
		out.State = state.State
		out.PID = 0
	}
	return out, err
}

// unbegunWait is how long a child without a log is waited for: its process, which the stopped
// process started, may be gone.
const unbegunWait = 5 * time.Second

// startedBy finds the child of a thread that a call started. A child whose process has not
// begun is waited for; one that never begins is ended, so that the call can start another.
func startedBy(
	ctx context.Context,
	p *project.Project,
	parent, call string,
) (id string, s *threads.Started, err error) {
	for end := time.Now().Add(unbegunWait); ; {
		var rows []store.Row
		err := ledger.WithStore(ctx, p, func(s *store.Store) (err error) {
			rows, err = s.Children(ctx, parent)
			return err
		})
		if err != nil {
			return "", nil, err
		}
		waits := []store.Row{}
		for _, row := range rows {
			s, err := threads.ReadStarted(p.Spaces.ProjectDir, row.Thread)
			switch {
			case err == nil && s.Spawned != nil && s.Spawned.Call == call:
				return row.Thread, s, nil
			case err != nil && row.Open():
				waits = append(waits, row)
			}
		}
		if len(waits) == 0 {
			return "", nil, nil
		}
		if time.Now().After(end) {
			waits = slices.DeleteFunc(waits, func(r store.Row) bool {
				return r.State != store.Created
			})
			return "", nil, control.EndChildren(ctx, p, waits, threads.Killed)
		}
		if err := control.Pause(ctx, control.LookPause); err != nil {
			return "", nil, err
		}
	}
}

// restState is the state of a child when its caller looks for it again.
type restState struct {
	*graph.Summary
	reason string
}

// interrupted reports whether a child has no result because a person, its caller's end or
// a stopped process ended it.
func (s restState) interrupted() bool {
	return s.State == threads.Cancelled ||
		s.State == threads.Killed ||
		s.State == threads.Failed && s.reason == threads.Orphaned
}

// settledState returns the state of the last thread of a chain after what ends it has
// ended it: child_policy can have asked it to.
func settledState(ctx context.Context, p *project.Project, id string) (out restState, err error) {
	for end := time.Now().Add(control.EndWait); ; {
		list, err := control.List(ctx, p, false)
		if err != nil {
			return out, err
		}
		if out.Summary, err = graph.Status(ctx, p.Spaces.ProjectDir, control.EndOfChain(p, id)); err != nil {
			return out, err
		}
		i := slices.IndexFunc(list, func(t control.Entry) bool {
			return t.ID == id
		})
		if i >= 0 {
			out.reason = list[i].Reason
		}
		if out.State != threads.Running ||
			!graph.Asked(p.Spaces.ProjectDir, out.ID, "cancel") ||
			time.Now().After(end) {
			return out, nil
		}
		if err := control.Pause(ctx, control.LookPause); err != nil {
			return out, err
		}
	}
}

// resumeStart is what the process that continues a thread reads from its stdin.
type resumeStart struct {
	Resume   bool     `json:"resume"`
	ThreadID string   `json:"thread_id"`
	Message  string   `json:"message,omitempty"`
	By       string   `json:"by,omitempty"` // who resumes it, "" for a person
	HandOff  bool     `json:"hand_off,omitempty"`
	Suspends bool     `json:"suspends,omitempty"`
	Locked   bool     `json:"locked"`
	Unlocked bool     `json:"unlocked"`
	Limits   []string `json:"limits,omitempty"`
	Model    string   `json:"model,omitempty"`
	Provider string   `json:"provider,omitempty"`
	Relayed  bool     `json:"relayed,omitempty"`  // a person is asked by the process that continues it
	Attended bool     `json:"attended,omitempty"` // with Relayed: that process has a terminal
}

// ContinueDetached continues a thread in a process of its own, for a surface that shows its questions:
// one without an answer in time suspends it again. by is who continues it.
func ContinueDetached(ctx context.Context, p *project.Project, id, message, by string) (pid int, err error) {
	return continueProcess(ctx, p, id, resumeStart{
		Message:  message,
		By:       by,
		Suspends: true,
	})
}

// continueProcess continues a thread in a process of its own, and returns the process when
// the log has the line of it. The thread may do what it was started with.
func continueProcess(ctx context.Context, p *project.Project, id string, start resumeStart) (pid int, err error) {
	id = control.EndOfChain(p, id)
	start.Resume = true
	start.ThreadID = id
	start.Locked = p.Env.Locked
	start.Unlocked = p.Env.Unlocked
	input, err := jsonx.Marshal(start)
	if err != nil || len(input) > control.MaxDetach {
		return 0, diag.New(diag.TooLarge, "continuing %s: the message has more than %d bytes", id, control.MaxDetach)
	}
	before, err := threads.Resumed(p.Spaces.ProjectDir, id)
	if err != nil {
		return 0, err
	}
	limit := control.StartWait
	if start.HandOff {
		limit = handOffWait
	}
	return control.ContinueDetached(ctx, p, id, p.Env.ThreadArgs, input, limit, func() bool {
		n, err := threads.Resumed(p.Spaces.ProjectDir, id)
		return err == nil && n > before && !start.HandOff || control.EndOfChain(p, id) != id
	})
}

// resumeProcess is the body of the process that continues a thread. No person can be
// asked.
func resumeProcess(ctx context.Context, e *project.Env, m control.StartMessage) error {
	id := m.Text("thread_id")
	if !graph.IsID(id) {
		return diag.New(diag.Usage, "reading what to continue: thread_id is missing")
	}
	e.Locked, e.Unlocked = m.Flag("locked"), m.Flag("unlocked")
	p, err := e.Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	if err := p.CheckLocked(); err != nil {
		return err
	}
	o := &threadhost.Options{
		Held:     policy.Person(),
		Message:  m.Text("message"),
		By:       m.Text("by"),
		Suspends: m.Flag("suspends"),
		Limits:   m.Texts("limits"),
		Model:    m.Text("model"),
		Provider: m.Text("provider"),
		Relayed:  m.Flag("relayed"),
		Attended: m.Flag("attended"),
	}
	if m.Flag("hand_off") {
		_, err = threadhost.HandOff(ctx, p, id, o)
	} else {
		_, err = threadhost.Continue(ctx, p, id, o)
	}
	return err
}
