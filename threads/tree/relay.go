package tree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/transcript"
)

// decider returns how the process that waits for a thread asks a person about its calls: at
// the terminal, or at the client of the call. It is nil if it cannot: also for a client that
// would repeat the call with the answer, because that would start another thread.
func decider(p *project.Project, call exec.Call) threadhost.Decide {
	ask := call.Ask
	if ask == nil {
		return nil
	}
	if a := call.Asking; a != nil && !a.Live {
		return nil
	}
	r := threadhost.Spawner(p, call)
	if r != nil && r.Options.Decide != nil {
		return r.Options.Decide
	}
	return func(ctx context.Context, q exec.Asked) (threads.Reply, error) {
		return graphhost.ReplyOf(ask(ctx, exec.Asked{Question: q.Question}))
	}
}

// relay asks the person of this process what a thread asks that this process waits for,
// until ctx ends. Answers of all processes go to the same file, so that the first one is
// used. A question that is not answered stays with the thread, for which its end is a denial.
func relay(ctx context.Context, p *project.Project, id string, decide threadhost.Decide) {
	log := &growing{}
	for control.Pause(ctx, relayPause) == nil {
		grown := log.read(transcript.Base(p.Spaces.ProjectDir, id).Path(transcript.File))
		if bytes.Contains(grown, []byte(`"event":"thread_continued"`)) {
			if end := control.EndOfChain(p, id); end != id {
				id = end
				log = &growing{}
				continue
			}
		}
		if !bytes.Contains(grown, []byte(`"event":"approval_requested"`)) {
			continue
		}
		open, err := threads.OpenQuestions(p.Spaces.ProjectDir, id)
		if err != nil {
			return // the waiter reports the fault of the log
		}
		for i := range open {
			relayOne(ctx, p, id, &open[i], decide)
		}
	}
}

// relayPause is the time between two reads of the log of a thread that is waited for.
const relayPause = 200 * time.Millisecond

func relayOne(
	ctx context.Context,
	p *project.Project,
	id string,
	q *threads.OpenQuestion,
	decide threadhost.Decide,
) {
	within, cancel := context.WithDeadline(ctx, q.Expires)
	defer cancel()
	within, end := context.WithCancelCause(within)
	defer end(nil)
	go func() { // another process answers first
		for control.Pause(within, relayPause) == nil {
			r, err := threads.ReplyTo(p.Spaces.ProjectDir, id, q.ID)
			if err != nil || r != nil {
				if r != nil {
					end(&threads.Elsewhere{Reply: *r})
				}
				cancel()
			}
		}
	}()
	about := threadhost.OpenAsked(within, p, id, q)
	about.Question = "Thread " + id + ": " + q.Question
	r, err := decide(within, about)
	if errors.Is(err, threads.ErrLeft) {
		_ = leave(p, id, q) // its process has ended otherwise
		return
	}
	if err == nil && within.Err() == nil {
		_, _, _ = control.DecideCall(
			ctx,
			p,
			id,
			q.ID,
			r,
			strings.Join(q.Prefixes, ", "),
		) // it was answered before, or its process has ended
	}
}

// leave has the process of a thread suspend it with a question that the person left open.
func leave(p *project.Project, id string, q *threads.OpenQuestion) error {
	payload := map[string]any{"decision": threads.LeftOpen, "question": item.DigestOf([]byte(q.Question)).String()}
	return graph.Send(
		p.Spaces.ProjectDir,
		id,
		graph.Message{
			Kind:    control.AnswerKind,
			Name:    q.ID,
			Payload: payload,
			By:      "person",
		},
		p.Env.Now(),
	)
}

// growing is a file of which each part is read once.
type growing struct{ at int64 }

// read returns the bytes that were appended to the file.
func (g *growing) read(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, g.at, control.MaxResultFile))
	if err != nil {
		return nil
	}
	// A line that is not complete is read again.
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	g.at += int64(len(b))
	return b
}
