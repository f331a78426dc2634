package graph

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/inbox"
	"github.com/ryeos/rye/threads/transcript"
)

// Of answers that are written at the same time, one is accepted, and the run takes that one,
// whatever the clocks of the processes show.
func TestOneAnswer(t *testing.T) {
	g := parse(t, head+`config: {start: a, nodes: {a: {type: ask, question: "Which one", assign: {x: "${result.answer}"}, next: b}, b: {type: return, output: {x: "${state.x}"}}}}`)
	for round := range 20 {
		p := params(t, newFake())
		r, err := Start(t.Context(), g, item.Digest{}, nil, p)
		if err != nil || r.Reason != "ask" {
			t.Fatalf("%+v, %v", r, err)
		}
		const writers = 8
		errs := make([]error, writers)
		var begin, done sync.WaitGroup
		begin.Add(1)
		for i := range writers {
			done.Go(func() {
				begin.Wait()
				clock := p.Now().Add(-time.Duration(i) * time.Hour) // the last one is the first by its clock
				_, _, _, errs[i] = Answer(t.Context(), p.Project, r.RunID, "a", fmt.Sprint("by ", i), "person", clock)
			})
		}
		begin.Done()
		done.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("round %d: %d and %d were accepted", round, winner, i)
			case err == nil:
				winner = i
			case diag.CodeOf(err) != diag.ThreadState || diag.Typed(err).Reason != "answered":
				t.Fatalf("round %d: writer %d: %v", round, i, err)
			}
		}
		if winner < 0 {
			t.Fatalf("round %d: no answer was accepted", round)
		}
		if r, err = Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil || fmt.Sprint(r.Output) != fmt.Sprintf("map[x:by %d]", winner) {
			t.Fatalf("round %d: %d was accepted, the run has %v, %v", round, winner, r.Output, err)
		}
		if left, err := inbox.List(p.Project, r.RunID); err != nil || len(left) > 0 {
			t.Fatalf("round %d: the inbox has %v, %v", round, left, err)
		}
	}
}

// An answer that a version before this one wrote, in a file of its own, is the answer.
func TestAnswerOfEarlierVersion(t *testing.T) {
	p := params(t, newFake())
	g := parse(t, head+`config: {start: a, nodes: {a: {type: ask, question: "Which one", assign: {x: "${result.answer}"}, next: b}, b: {type: return, output: {x: "${state.x}"}}}}`)
	r, err := Start(t.Context(), g, item.Digest{}, nil, p)
	if err != nil {
		t.Fatal(err)
	}
	file := inbox.Dir + "/" + strings.TrimPrefix(NewID("m", p.Now()), "m-") + ".json"
	if err := transcript.Base(p.Project, r.RunID).Write(file, []byte(`{"kind":"answer","name":"a","payload":"old","by":"person","time":""}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Answer(t.Context(), p.Project, r.RunID, "a", "new", "person", p.Now()); diag.CodeOf(err) != diag.ThreadState {
		t.Errorf("a second answer: %v", err)
	}
	if r, err = Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil || fmt.Sprint(r.Output) != "map[x:old]" {
		t.Errorf("%+v, %v", r, err)
	}
}

// An answer that comes when the run has taken another one is refused, and no later question
// finds it.
func TestLateAnswer(t *testing.T) {
	p := params(t, newFake())
	g := parse(t, head+`config: {start: a, nodes: {a: {type: ask, question: "Which one", assign: {x: "${result.answer}"}, next: b}, b: {type: wait, event: go, next: c}, c: {type: return, output: {x: "${state.x}"}}}}`)
	r, err := Start(t.Context(), g, item.Digest{}, nil, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Answer(t.Context(), p.Project, r.RunID, "a", "first", "person", p.Now()); err != nil {
		t.Fatal(err)
	}
	if r, err = Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil || r.Reason != "wait" {
		t.Fatalf("%+v, %v", r, err)
	}
	// The other process had found the question open.
	if err := Send(p.Project, r.RunID, Message{Kind: kindAnswer, Name: "a", Payload: "late", By: "person"}, p.Now()); err != nil {
		t.Fatal(err)
	}
	if err := late(t.Context(), p.Project, r.RunID, r.RunID, "a", false); diag.CodeOf(err) != diag.ThreadState {
		t.Errorf("the late answer: %v", err)
	}
	if _, err := os.Lstat(transcript.Base(p.Project, r.RunID).Path(inbox.Dir + "/" + inbox.AnswerFile("a"))); err == nil {
		t.Error("the late answer is in the inbox")
	}
}
