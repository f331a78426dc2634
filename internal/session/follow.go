package session

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/inbox"
	"github.com/ryeos/rye/threads/transcript"
)

// Read passes the lines that were added to the log, then the lines of the threads that continue it. each
// must not call the session.
func (s *Session) Read(ctx context.Context, each func(log string, l *transcript.Line)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.log != nil {
		next := ""
		id := s.id
		err := s.log.Next(func(l *transcript.Line) error {
			s.take(l)
			each(id, l)
			if l.Event == "thread_continued" {
				var d struct {
					To string `json:"to"`
				}
				if err := l.Decode(&d); err != nil {
					return diag.New(diag.TranscriptBroken, "reading the log of %s: %w", id, err)
				}
				next = d.To
			}
			return nil
		})
		if err != nil || next == "" {
			return err
		}
		// The next thread has the messages that the model of this one did not read.
		if err := s.attach(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// take sets the state to the one after a line.
func (s *Session) take(l *transcript.Line) {
	switch l.Event {
	case "thread_started", "thread_resumed", "turn_started", "thread_continued":
		s.state = Working
		s.rest = Rest{}
	case "inbox":
		var d struct {
			ID   string `json:"id"`
			Kind string `json:"kind"`
		}
		if l.Decode(&d) != nil {
			return
		}
		for i := range s.queued {
			if s.queued[i].ID == d.ID {
				s.queued = append(s.queued[:i:i], s.queued[i+1:]...)
				break
			}
		}
		if d.Kind == inbox.Text {
			s.state = Working
		}
	case "message_awaited":
		s.state = Awaiting
	case "thread_suspended":
		var d struct {
			Reason string       `json:"reason"`
			Ask    *threads.Ask `json:"ask"`
		}
		if l.Decode(&d) != nil {
			return
		}
		s.rest = Rest{Event: l.Event, Reason: d.Reason, Ask: d.Ask}
		s.state = Resting
		// Its process ended because no client was attached, which changes nothing for one.
		if d.Reason == threads.ByMessage {
			s.state = Awaiting
		}
	case "thread_completed", "thread_error", "thread_cancelled", "thread_killed":
		var d struct {
			Error *diag.Failure `json:"error"`
		}
		if l.Decode(&d) != nil {
			return
		}
		s.rest = Rest{Event: l.Event, Error: d.Error}
		s.state = Resting
	}
}

// Wait returns when the log may have grown, or with the error of ctx. Run must be called then: a
// process can have ended that was about to read a message.
func (s *Session) Wait(ctx context.Context) error {
	return s.watch.wait(ctx, s.State() == Working)
}

// Lost reports whether the process of a turn is gone without a line about its end.
func (s *Session) Lost(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == "" || s.state != Working || s.running(ctx) {
		return false
	}
	now, err := threads.ReadStarted(s.p.Spaces.ProjectDir, s.id) // it can have ended since the last Read
	return err == nil && now.State == threads.Running
}
