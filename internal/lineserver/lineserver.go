// Package lineserver keeps a program running that answers each line of its input with one
// line of output, so that a call costs a line and not a process.
//
// It does not start the program, and knows no items and no sandbox. A program that breaks the
// rule of one line for a line is ended: its next line could be the answer to another call.
package lineserver

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
)

// Run runs the program until it ends, with its stdin and a function that receives its stdout
// as it arrives. The error states why the program failed, nil if it ended with status 0.
type Run func(ctx context.Context, stdin io.Reader, stdout func([]byte)) error

// Server is a running program. It answers one call at a time.
type Server struct {
	max  int
	in   *io.PipeWriter
	kill context.CancelFunc

	mu     sync.Mutex
	out    []byte // that arrived and is not an answer yet
	over   bool   // a line was longer than max
	more   chan struct{}
	ended  chan struct{}
	failed error // why the program ended, once ended is closed
	broken bool  // the program was ended, because it cannot be asked again
	spoke  bool  // it broke the rule of one line for a line
}

// Start starts a program. No line of it may be longer than max bytes. ctx has the values of
// the run; its end does not end the program.
func Start(ctx context.Context, run Run, max int) *Server {
	ctx, kill := context.WithCancel(context.WithoutCancel(ctx))
	stdin, in := io.Pipe()
	s := &Server{
		max:   max,
		in:    in,
		kill:  kill,
		more:  make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
	go func() {
		s.failed = run(ctx, stdin, s.arrived)
		_ = stdin.CloseWithError(io.ErrClosedPipe) // ends a line that is being written
		close(s.ended)
	}()
	return s
}

// arrived keeps a part of the output. What is beyond the longest line is dropped.
func (s *Server) arrived(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.max + 1 - len(s.out)
	if len(b) > free {
		s.over = true
		b = b[:max(free, 0)]
	}
	s.out = append(s.out, b...)
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Usable reports whether the program can be asked: it runs, or it ended with status 0, after
// which the caller starts it again. The error states why it failed.
func (s *Server) Usable() (running bool, err error) {
	select {
	case <-s.ended:
		return false, s.failed
	default:
		return !s.broken, nil
	}
}

// Finished reports whether the program ended by itself with status 0.
func (s *Server) Finished() bool {
	select {
	case <-s.ended:
		return s.failed == nil && !s.spoke
	default:
		return false
	}
}

// Ask sends a line and returns the line that answers it. After an error the program is ended,
// or about to end. A timeout of 0 does not end it.
func (s *Server) Ask(
	ctx context.Context,
	line []byte,
	timeout time.Duration,
) ([]byte, error) {
	answer, err := s.ask(ctx, line, timeout)
	if err != nil {
		s.broken = true
		s.kill()
	}
	return answer, err
}

func (s *Server) ask(
	ctx context.Context,
	line []byte,
	timeout time.Duration,
) ([]byte, error) {
	if early := s.pending(); len(early) > 0 {
		s.spoke = true
		return nil, diag.New(diag.ExecutionFailed, "it printed without a call: %s", Excerpt(early))
	}
	go func() {
		_, _ = s.in.Write(append(bytes.Clone(line), '\n'))
	}() // the end of the program ends it
	var late <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		late = t.C
	}
	for {
		answer, err := s.answer()
		s.spoke = err != nil
		if answer != nil || err != nil {
			return answer, err
		}
		select {
		case <-s.more:
		case <-s.ended:
			if answer, err := s.answer(); answer != nil || err != nil { // its last output
				s.spoke = err != nil
				return answer, err
			}
			if s.failed != nil {
				return nil, s.failed
			}
			return nil, diag.New(diag.ExecutionFailed, "it ended without an answer")
		case <-late:
			return nil, diag.New(diag.Timeout, "stopped, because it did not answer within %s", timeout)
		case <-ctx.Done():
			return nil, diag.New(diag.Cancelled, "cancelled")
		}
	}
}

// pending returns the output that no call asked for.
func (s *Server) pending() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.out)
}

// answer returns the line that arrived, nil if it is not whole yet.
func (s *Server) answer() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line, rest, whole := bytes.Cut(s.out, []byte("\n"))
	switch {
	case !whole && s.over:
		return nil, diag.New(diag.ExecutionFailed, "its answer is longer than %d bytes", s.max)
	case !whole:
		return nil, nil
	case len(rest) > 0 || s.over:
		return nil, diag.New(diag.ExecutionFailed, "it printed more than one line: after its answer %s", Excerpt(rest))
	}
	line = bytes.Clone(line)
	s.out = s.out[:0]
	if line == nil {
		line = []byte{}
	}
	return line, nil
}

// Close closes the input of the program, and ends the program if it does not end in time.
// It returns when the program has ended.
func (s *Server) Close(grace time.Duration) {
	go s.in.Close()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-s.ended:
	case <-t.C:
		s.kill()
		<-s.ended
	}
	s.kill()
}

// Excerpt returns the beginning of an output for a message.
func Excerpt(b []byte) string {
	const most = 80
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	if len(line) > most {
		return quoted(line[:most]) + "…"
	}
	return quoted(line)
}

func quoted(b []byte) string {
	return `"` + string(bytes.ToValidUTF8(b, []byte("\uFFFD"))) + `"`
}
