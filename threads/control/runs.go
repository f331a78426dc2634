package control

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/dotpath"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/heads"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/transcript"
)

// ResumeCall returns the call that continues a run, and the run to resume: the parent
// of a run waits for it and continues it, so it is the topmost run that has not
// completed.
func ResumeCall(ctx context.Context, p *project.Project, id string) (run string, call primary.Call, err error) {
	dir := p.Spaces.ProjectDir
	s, err := graph.Status(ctx, dir, id)
	if err != nil {
		return "", primary.Call{}, err
	}
	for s.Parent != "" && s.State != graph.StateCompleted {
		parent, err := graph.Status(ctx, dir, s.Parent)
		if err != nil || parent.State == graph.StateCompleted {
			break
		}
		s = parent
	}
	call, err = runCall(p, s)
	return s.ID, call, err
}

// ForkCall verifies the log of a run and returns the call that starts its graph again.
func ForkCall(ctx context.Context, p *project.Project, id string) (primary.Call, error) {
	rep, err := Verify(ctx, p, id)
	if err == nil {
		err = rep.Err()
	}
	if err != nil {
		return primary.Call{}, err
	}
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
	if err != nil {
		return primary.Call{}, err
	}
	return runCall(p, s)
}

// runCall returns the call of a run's graph with the inputs of the run.
func runCall(p *project.Project, s *graph.Summary) (primary.Call, error) {
	ref, err := item.ParseRef(s.Graph, item.Tool)
	if err != nil {
		return primary.Call{}, err
	}
	inputs, err := graph.Inputs(p.Spaces.ProjectDir, s.ID)
	return primary.Call{Ref: ref, Held: policy.Person(), Params: inputs}, err
}

// AnswerWait is how long AnswerRun waits for the process of a run to take an answer.
const AnswerWait = 5 * time.Second

// Answer answers a question of a run as a person. If a process runs it, AnswerRun
// waits until that process has taken the answer; the error is THREAD_STATE if it took a
// different answer first. It returns the state of the run afterwards.
func Answer(
	ctx context.Context,
	p *project.Project,
	id, node, text string,
) (*graph.Summary, error) {
	run, asks, want, err := graph.Answer(
		ctx,
		p.Spaces.ProjectDir,
		id,
		node,
		text,
		"person",
		p.Env.Now(),
	)
	if err != nil {
		return nil, err
	}
	return answered(ctx, p, id, run, asks, want)
}

// Decide answers the question about a call of a run with graph.Once or graph.Deny.
func Decide(
	ctx context.Context,
	p *project.Project,
	id, node, decision string,
) (*graph.Summary, error) {
	run, asks, want, err := graph.Decide(
		ctx,
		p.Spaces.ProjectDir,
		id,
		node,
		decision,
		"person",
		p.Env.Now(),
	)
	if err != nil {
		return nil, err
	}
	return answered(ctx, p, id, run, asks, want)
}

// answered waits until the process of a run, if there is one, has taken an answer.
func answered(
	ctx context.Context,
	p *project.Project,
	id, run, asks string,
	want any,
) (*graph.Summary, error) {
	dir := p.Spaces.ProjectDir
	for end := time.Now().Add(AnswerWait); ; {
		s, err := graph.Status(ctx, dir, id)
		if err != nil || s.State != graph.StateRunning || time.Now().After(end) {
			return s, err
		}
		taken, got, by, err := graph.Answered(dir, run, asks)
		switch {
		case err != nil:
			return nil, err
		case taken && !reflect.DeepEqual(got, want):
			return nil, diag.New(diag.ThreadState, "answering %s: %s was answered before, by %s", run, asks, by).WithReason("ended")
		case taken:
			return s, nil
		}
		if err := Pause(ctx, LookPause); err != nil {
			return nil, err
		}
	}
}

// LookPause is the time between two reads of the state of a run.
const LookPause = 100 * time.Millisecond

func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// SendEvent writes an event into the inbox of the run that a run waits for, itself or
// a run below it, and returns the state of that run. A thread reads its events before its
// next turn. by is who sends it.
func SendEvent(
	ctx context.Context,
	p *project.Project,
	id, event string,
	payload any,
	by string,
) (*graph.Summary, error) {
	if !dotpath.IsName(event) {
		return nil, diag.New(diag.Usage, "sending to %s: %q is not the name of an event: letters, digits, _ and -, not a digit or - first", id, event)
	}
	s, err := graph.Deepest(ctx, p.Spaces.ProjectDir, EndOfChain(p, id))
	if err != nil {
		return nil, err
	}
	switch s.State {
	case graph.StateCompleted, graph.StateError, graph.StateCancelled, graph.StateKilled:
		return nil, diag.New(diag.ThreadState, "sending to %s: it is %s", s.ID, s.State).
			WithReason("ended").
			WithDetail("state", s.State)
	}
	m := graph.Message{
		Kind:    "event",
		Name:    event,
		Payload: payload,
		By:      by,
		Keep:    s.Thread,
	}
	return s, graph.Send(p.Spaces.ProjectDir, s.ID, m, p.Env.Now())
}

// AskToEnd asks the process of a run to stop, or kills it. running is false if it has
// none.
func AskToEnd(ctx context.Context, p *project.Project, id, state string) (running bool, err error) {
	dir := p.Spaces.ProjectDir
	id = EndOfChain(p, id)
	pid := graph.Owner(ctx, dir, id)
	if pid < 0 {
		return false, nil
	}
	if state == graph.StateCancelled {
		err := graph.Send(
			dir,
			id,
			graph.Message{Kind: "cancel", By: "person"},
			p.Env.Now(),
		)
		if err != nil {
			return true, err
		}
	}
	// Where a process cannot be interrupted, it reads the inbox before its next node.
	if err := signalRun(pid, state == graph.StateKilled); err != nil && state == graph.StateKilled {
		return true, diag.New(diag.ThreadState, "stopping %s: process %d: %w", id, pid, err)
	}
	return true, nil
}

// markRuns records the end of a run and of the runs that it called. The process of a
// killed run was also the process of the runs above it. ended: a process was ended, which may
// have recorded it itself.
func markRuns(
	ctx context.Context,
	p *project.Project,
	id, state string,
	ended bool,
) (*graph.Summary, error) {
	dir := p.Spaces.ProjectDir
	params, err := EndParams(ctx, p)
	if err != nil {
		return nil, err
	}
	below, err := graph.Below(dir, id)
	if err != nil {
		return nil, err
	}
	var others, above []string
	for _, c := range below {
		others = append(others, c.ID)
	}
	own := markRun(ctx, p, id, state, params)
	s, err := graph.Status(ctx, dir, id)
	switch {
	case err != nil:
		return nil, err
	case own != nil && (!ended || s.State != state):
		return s, own
	}
	if ended && state == graph.StateKilled {
		for up := s; up.Parent != ""; {
			if up, err = graph.Status(ctx, dir, up.Parent); err != nil {
				return nil, err
			}
			above = append(above, up.ID)
		}
	}
	for _, other := range append(others, above...) {
		err := markRun(ctx, p, other, state, params)
		if err != nil && diag.CodeOf(err) != diag.ThreadState {
			return nil, err
		}
	}
	return s, ledger.EndAccounts(ctx, p, slices.Concat(others, []string{id}, above), state)
}

// signalRun interrupts the process of a run, or kills it.
func signalRun(pid int, kill bool) error {
	if pid <= 0 {
		return errors.New("the process is not known")
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if kill {
		return process.Kill()
	}
	return process.Signal(os.Interrupt)
}

// MaxResultFile bounds the result of a thread or run, in bytes.
const MaxResultFile = 16 << 20

// Result returns the result of a thread or run that has ended.
func Result(p *project.Project, id string) (map[string]any, error) {
	doing := "reading the result of " + id
	b, _, err := openat.Read(
		p.Spaces.ProjectDir,
		transcript.Dir+"/"+id+"/"+threads.ResultFile,
		MaxResultFile,
	)
	if errors.Is(err, fs.ErrNotExist) {
		// The log is the truth: a process that was killed after its last line wrote no file.
		r, rerr := threads.ReadResult(p.Spaces.ProjectDir, id)
		if rerr != nil || r == nil {
			return nil, diag.New(diag.ThreadState, "%s: it has not ended", doing)
		}
		b, err = jsonx.Marshal(r)
	}
	if err != nil {
		return nil, diag.Doing(doing, err)
	}
	v, findings := jsonx.ParseMessage(b)
	if err := diag.FromFindings(doing, findings); err != nil {
		return nil, err
	}
	data, ok := v.(map[string]any)
	if !ok {
		return nil, diag.New(diag.TranscriptBroken, "%s: it is not a JSON object", doing)
	}
	return data, nil
}

// Verify verifies the log of a run.
func Verify(ctx context.Context, p *project.Project, id string) (*transcript.Report, error) {
	return transcript.Verify(ctx, transcript.Params{
		Project: p.Spaces.ProjectDir,
		ID:      id,
		Keys:    p.Keys.RuntimePublic,
		Heads:   heads.Dir(p.Dirs.State),
	})
}

// AcceptLog has the log of a run continued from its present state, which is an earlier one than this account wrote.
func AcceptLog(ctx context.Context, p *project.Project, id string) (*transcript.Accepted, error) {
	return transcript.Accept(ctx, transcript.Params{
		Project: p.Spaces.ProjectDir,
		ID:      id,
		Now:     p.Env.Now,
		Keys:    p.Keys.RuntimePublic,
		Heads:   heads.Dir(p.Dirs.State),
	})
}

// EndWait is how long EndRun waits for the process of the run.
const EndWait = 10 * time.Second
