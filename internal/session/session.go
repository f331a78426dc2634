// Package session is the client of one conversation: it starts the thread, attaches to it, sends
// messages, answers questions, stops a turn and follows the log, through each thread of the chain.
//
// It draws nothing and asks no person. The truth is the log of the thread: a client that is
// killed loses nothing that it has sent.
package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/inbox"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/transcript"
	"github.com/ryeos/rye/threads/tree"
)

// The states of a conversation.
const (
	Fresh    = "fresh"    // no message was sent
	Working  = "working"  // a turn runs, or a message is about to be read
	Awaiting = "awaiting" // the model has answered
	Resting  = "resting"  // the thread ended or is suspended in another way
)

// Params are how a conversation begins.
type Params struct {
	Project *project.Project
	// Options start the thread. With ID, the conversation of that thread continues.
	Options threadhost.Options
	ID      string
}

// Queued is a message that the model has not read.
type Queued struct {
	ID   string
	Text string
}

// Session is a conversation. Its methods may be called at the same time.
type Session struct {
	p     *project.Project
	watch *watch

	mu      sync.Mutex
	o       threadhost.Options
	id      string
	log     *transcript.Reader
	leave   func() error // of the thread that is attended, or nil
	state   string
	rest    Rest
	queued  []Queued
	follows string // the completed thread whose conversation the next message continues
	process tree.Process
}

// Rest is how a thread ended or was suspended.
type Rest struct {
	Event  string // thread_completed, thread_suspended, …
	Reason string // of a suspension
	Ask    *threads.Ask
	Error  *diag.Failure
}

// New returns a conversation. Without an ID nothing starts before the first message.
func New(ctx context.Context, o Params) (*Session, error) {
	p, err := project.InAccount(o.Project)
	if err != nil {
		return nil, err
	}
	s := &Session{
		p:     p,
		o:     o.Options,
		state: Fresh,
		watch: newWatch(),
		process: tree.Process{
			Limits:   o.Options.Limits,
			Model:    o.Options.Model,
			Provider: o.Options.Provider,
			Attended: true,
		},
	}
	s.o.Interactive = true
	s.o.Relayed = true // by this client
	s.o.Attended = true
	if o.ID == "" {
		return s, nil
	}
	return s, s.open(ctx, control.EndOfChain(p, o.ID))
}

// open continues the conversation of a thread.
func (s *Session) open(ctx context.Context, id string) error {
	start, err := threads.ReadStarted(s.p.Spaces.ProjectDir, id)
	switch {
	case err != nil:
		return err
	case start.Parent != "":
		return diag.New(diag.ThreadState, "continuing %s: a node of the run %s started it, and that run waits for it", id, start.Parent).
			WithReason("below_run").WithDetail("run_id", start.Parent)
	case start.Replay != "":
		return diag.New(diag.ThreadState, "continuing %s: it is a replay of %s; continue that thread", id, start.Replay)
	case start.State == threads.Completed || !start.Interactive:
		if start.State != threads.Completed {
			return diag.New(diag.ThreadState, "continuing %s: it is not a conversation, and it is %s", id, start.State).
				WithReason("no_conversation").
				WithDetail("id", id)
		}
		s.follows = id
		return nil
	}
	if err := s.attach(ctx, id); err != nil {
		return err
	}
	s.state = Resting
	// What an earlier client sent and no process read is sent.
	left, err := inbox.List(s.p.Spaces.ProjectDir, id)
	if err != nil {
		return err
	}
	for i := range left {
		if left[i].Kind == inbox.Text {
			s.queued = append(s.queued, Queued{left[i].ID, inbox.TextOf(left[i].Payload)})
		}
	}
	return nil
}

// attach follows the log of a thread, and marks it as attended.
func (s *Session) attach(ctx context.Context, id string) error {
	if err := s.detach(); err != nil {
		return err
	}
	leave, err := inbox.Attach(ctx, s.p.Spaces.ProjectDir, id)
	if err != nil {
		return err
	}
	s.leave = leave
	s.id = id
	s.log = transcript.NewReader(s.p.Spaces.ProjectDir, id)
	s.watch.log(transcript.Base(s.p.Spaces.ProjectDir, id).Path(transcript.File))
	return nil
}

func (s *Session) detach() error {
	if s.leave == nil {
		return nil
	}
	err := s.leave()
	s.leave = nil
	return err
}

// Close leaves the thread. A turn that runs continues.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.detach(), s.watch.close())
}

// ID returns the thread, "" before the first message.
func (s *Session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == "" {
		return s.follows
	}
	return s.id
}

// Follows returns the completed thread whose conversation the next message continues, "" for none.
func (s *Session) Follows() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follows
}

// Project returns the project with the logs.
func (s *Session) Project() *project.Project {
	return s.p
}

// State returns the state of the conversation.
func (s *Session) State() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

func (s *Session) now() string {
	if s.state != Fresh && len(s.queued) > 0 {
		return Working
	}
	return s.state
}

// Rest returns how the thread ended or was suspended.
func (s *Session) Rest() Rest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rest
}

// Queued returns the messages that the model has not read, the oldest first.
func (s *Session) Queued() []Queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queued)
}

// Send sends a message. It is on the disk when Send returns, and the model reads it once:
// before its next turn, if one runs.
func (s *Session) Send(ctx context.Context, text string, files ...message.Block) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == "" {
		return s.start(ctx, text, files)
	}
	payload := map[string]any{"text": text}
	if len(files) > 0 {
		payload["attachments"] = files
	}
	m := &inbox.Message{
		Kind:    inbox.Text,
		Payload: payload,
		By:      "person",
		Keep:    true,
	}
	if err := inbox.Send(s.p.Spaces.ProjectDir, s.id, m, s.p.Env.Now()); err != nil {
		return err
	}
	s.queued = append(s.queued, Queued{m.ID, text})
	return s.run(ctx)
}

// start begins the thread with the first message.
func (s *Session) start(ctx context.Context, text string, files []message.Block) error {
	o := s.o
	o.Attach = append(slices.Clone(o.Attach), files...)
	p := s.p
	if s.follows != "" {
		o.Message = text
		var err error
		if p, err = threadhost.Follows(p, s.follows, &o); err != nil {
			return err
		}
	} else {
		o.Params = map[string]any{}
		for k, v := range s.o.Params {
			o.Params[k] = v
		}
		o.Params["prompt"] = text
	}
	o.ID = graph.NewID(o.Ref.ID, p.Env.Now())
	// The client is attached before the process starts: else a short first turn would end the
	// process.
	base := transcript.Base(p.Spaces.ProjectDir, o.ID)
	if err := p.PrepareAccount(); err != nil {
		return err
	}
	if err := s.attach(ctx, o.ID); err != nil {
		return err
	}
	if _, err := tree.Spawn(ctx, p, &o); err != nil {
		s.id = ""
		err = errors.Join(err, s.detach())
		if _, serr := base.Stat(transcript.File); serr != nil { // nothing began
			err = errors.Join(err, base.RemoveAll("."))
		}
		return err
	}
	s.follows = ""
	s.state = Working
	return nil
}

// Run starts a process if a message is queued and none runs the thread.
func (s *Session) Run(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run(ctx)
}

func (s *Session) run(ctx context.Context) error {
	if s.id == "" || len(s.queued) == 0 || s.running(ctx) {
		return nil
	}
	_, err := tree.ContinueProcess(ctx, s.p, s.id, s.process)
	s.process.Limits = nil // the log has them
	if err != nil && s.running(ctx) {
		return nil // another process continues it
	}
	return err
}

// Resume continues a thread that no process runs, with limits NAME=VALUE of the person.
func (s *Session) Resume(ctx context.Context, limits ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resume(ctx, limits...)
}

func (s *Session) resume(ctx context.Context, limits ...string) error {
	o := s.process
	o.Limits = append(slices.Clone(o.Limits), limits...)
	_, err := tree.ContinueProcess(ctx, s.p, s.id, o)
	s.process.Limits = nil
	return err
}

// Use sets the model and the limits of the next process of the thread.
func (s *Session) Use(ctx context.Context, provider, model string, limits ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if model != "" {
		s.process.Model = model
		s.process.Provider = provider
		s.o.Model = model
		s.o.Provider = provider
	}
	s.process.Limits = append(s.process.Limits, limits...)
	s.o.Limits = append(s.o.Limits, limits...)
	if s.id == "" || s.state == Working || !s.running(ctx) {
		return nil
	}
	// The process that waits for a message has the former ones.
	err := control.StopTurn(s.p, s.id)
	if err != nil {
		return err
	}
	return transcript.Base(s.p.Spaces.ProjectDir, s.id).FreeWithin(ctx, transcript.LockFile, control.EndWait)
}

// Rename names the conversation.
func (s *Session) Rename(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == "" {
		return diag.New(diag.ThreadState, "naming the conversation: it has no message yet")
	}
	_, err := Rename(ctx, s.p, s.id, name)
	return err
}

func (s *Session) running(ctx context.Context) bool {
	return graph.Owner(ctx, s.p.Spaces.ProjectDir, s.id) >= 0
}

// TakeBack removes the newest message that the model has not read, and returns its text. ok is
// false if there is none.
func (s *Session) TakeBack() (text string, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.queued)
	if n == 0 {
		return "", false, nil
	}
	last := s.queued[n-1]
	ok, err = inbox.Withdraw(s.p.Spaces.ProjectDir, s.id, last.ID)
	if ok {
		s.queued = s.queued[:n-1]
	}
	return last.Text, ok, err
}

// Stop ends the turn that runs. The model reads what is queued afterwards.
func (s *Session) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == "" || !s.running(ctx) {
		return nil
	}
	_, err := control.End(ctx, s.p, s.id, threads.Cancelled)
	return err
}

// Questions returns the questions about calls that are open.
func (s *Session) Questions() ([]threads.OpenQuestion, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == "" {
		return nil, nil
	}
	return threads.OpenQuestions(s.p.Spaces.ProjectDir, s.id)
}

// Answer answers a question about a call, and continues the thread if no process waits for it.
func (s *Session) Answer(ctx context.Context, q *threads.OpenQuestion, r threads.Reply) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix := ""
	if r.Decision == threads.ForPrefix {
		prefix = strings.Join(q.Prefixes, ", ")
	}
	if r.Stop { // before the answer, which the process takes at once
		if err := control.StopTurn(s.p, s.id); err != nil {
			return err
		}
	}
	_, ended, err := control.DecideCall(ctx, s.p, s.id, q.ID, r, prefix)
	if err != nil || !ended {
		return err
	}
	return s.resume(ctx)
}
