package threadhost

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/steps"
)

// liveSteps are the programs of steps that stay for a thread, by the name of the step: those
// that answer no call now. Calls at the same time, and one that a step makes of itself through
// its broker, have programs of their own.
type liveSteps struct {
	mu   sync.Mutex
	idle map[string][]*liveStep
}

// liveStep is a program with the conversation that it reads.
type liveStep struct {
	program *exec.Resident
	dir     string
	file    *os.File // of the conversation
	lines   int      // of the conversation that are in the file
}

// take returns a program that answers no call, nil if there is none. It is an error if one
// failed since its last answer.
func (l *liveSteps) take(name string) (*liveStep, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for list := l.idle[name]; len(list) > 0; {
		s := list[len(list)-1]
		list = list[:len(list)-1]
		l.idle[name] = list
		running, err := s.program.Usable()
		if running {
			return s, nil
		}
		s.close()
		if err != nil {
			return nil, diag.Doing("after its last answer", err)
		}
	}
	return nil, nil
}

func (l *liveSteps) put(name string, s *liveStep) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle == nil {
		l.idle = map[string][]*liveStep{}
	}
	l.idle[name] = append(l.idle[name], s)
}

// close ends all programs.
func (l *liveSteps) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	var wait sync.WaitGroup
	for _, list := range l.idle {
		for _, s := range list {
			wait.Go(s.close)
		}
	}
	wait.Wait()
	l.idle = nil
}

func (s *liveStep) close() {
	s.program.Close()
	_ = s.file.Close()
	_ = os.RemoveAll(s.dir)
}

// ask runs a step in a program that stays.
func (r *Run) ask(
	ctx context.Context,
	call exec.Call,
	t *threads.Thread,
	name string,
	chain *exec.Chain,
	in steps.Input,
) (map[string]any, error) {
	s, err := r.live.take(name)
	if s == nil && err == nil {
		s, err = r.startLive(ctx, call, t, chain)
	}
	if err != nil {
		return nil, err
	}
	data, err := s.answer(ctx, call, t, in)
	if err != nil && s.program.Finished() {
		s.close()
		if s, err = r.startLive(ctx, call, t, chain); err != nil {
			return nil, err
		}
		data, err = s.answer(ctx, call, t, in)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	r.live.put(name, s)
	return data, nil
}

// startLive starts the program of a step.
func (r *Run) startLive(
	ctx context.Context,
	call exec.Call,
	t *threads.Thread,
	chain *exec.Chain,
) (*liveStep, error) {
	s := &liveStep{dir: conversationDir(r.Project, t)}
	var err error
	if s.file, err = atomicfile.Private(s.dir).OpenFile(conversationName, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		_ = os.RemoveAll(s.dir)
		return nil, diag.Doing("writing the conversation of "+t.ID(), err)
	}
	call.Readable = []string{s.dir}
	s.program, err = r.Project.Executor.Open(ctx, chain, call, maxStep)
	if err != nil {
		_ = s.file.Close()
		_ = os.RemoveAll(s.dir)
		return nil, err
	}
	return s, nil
}

// answer passes the input of a step to the program, after the lines of the conversation that it
// does not have.
func (s *liveStep) answer(
	ctx context.Context,
	call exec.Call,
	t *threads.Thread,
	in steps.Input,
) (map[string]any, error) {
	lines, err := t.Lines()
	if err != nil {
		return nil, err
	}
	text, err := conversationText(t.ID(), lines[s.lines:])
	if err != nil {
		return nil, err
	}
	if _, err := s.file.WriteString(text); err != nil {
		return nil, diag.New(diag.FileSystemError, "writing the conversation of %s: %w", t.ID(), err)
	}
	s.lines = len(lines)
	in.ConversationFile = filepath.Join(s.dir, conversationName)
	parameters, err := in.Object()
	if err != nil {
		return nil, err
	}
	return s.program.Ask(ctx, call, parameters)
}

// conversationDir returns a directory for the conversation that a program reads, which does
// not exist.
func conversationDir(p *project.Project, t *threads.Thread) string {
	return filepath.Join(
		p.Cache,
		"steps",
		t.ID()+"-"+strconv.FormatUint(rand.Uint64(), 36),
	)
}
