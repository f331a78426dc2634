package threads

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// A process that is killed after it began to continue a thread leaves lines after the
// suspension; the next one goes on at the same node.
func TestResumeNode(t *testing.T) {
	lines := []transcript.Line{
		{Seq: 1, Event: "graph_started"},
		{Seq: 2, Event: evSuspended, Data: json.RawMessage(`{"reason":"hook","resume":"finish","ask":{"id":"q","to":"person","question":"?"}}`)},
		{Seq: 3, Event: "checkpoint"},
		{Seq: 4, Event: evResumed, Data: json.RawMessage(`{"pid":1}`)},
	}
	for n, want := range map[int]string{1: "", 2: "finish", 3: "finish", 4: "finish"} {
		if got := ResumeNode(lines[:n]); got != want {
			t.Errorf("after %d lines: %q, want %q", n, got, want)
		}
	}
	if got := ResumeNode(append(slices.Clone(lines), transcript.Line{Seq: 5, Event: "graph_started"})); got != "" {
		t.Errorf("in the next walk: %q", got)
	}
}

// flaky is a ledger whose first settlement fails.
type flaky struct {
	*memory
	failed bool
}

func (f *flaky) Settle(ctx context.Context, id string, a policy.USD, exact bool) error {
	if !f.failed {
		f.failed = true
		return errors.New("the gate is busy")
	}
	return f.memory.Settle(ctx, id, a, exact)
}

// An answer that could not be settled was paid: the ledger has at least what the log has.
func TestUnsettledAnswer(t *testing.T) {
	l := newLab(t)
	l.reads()
	f := &flaky{memory: l.ledger}
	l.p.Account = func(context.Context, string, policy.USD) (Ledger, error) { return f, nil }
	l.answers = []message.Response{calls(callBlock("c1", "read", `{"n":1}`)), calls(callBlock("c3", ReturnTool, `{"label":"x"}`))}
	if r, err := Start(t.Context(), testID, l.p); err == nil && r.Status == Completed {
		t.Fatal("the settlement did not fail")
	}
	r, err := Resume(t.Context(), testID, l.p, "")
	if err != nil || r.Status != Completed {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.Cost.Spend == 0 || l.ledger.actual < r.Cost.Spend || len(l.ledger.open) > 0 {
		t.Errorf("the ledger has %v, the log %v; open %v", l.ledger.actual, r.Cost.Spend, l.ledger.open)
	}
}

// Two calls of a program that run at once may come in another order after a crash.
func TestAsideOrder(t *testing.T) {
	l := newLab(t)
	l.reads()
	var order, ran []string
	l.p.Loop = func(ctx context.Context, th *Thread, _ *transcript.Log, _ []transcript.Line) error {
		for _, to := range order {
			call := AsideCall{By: "tool:demo/step", Of: "k", Node: "k", Tool: offered("pay", `{}`), Input: map[string]any{"to": to}, Held: policy.Person()}
			_, err := th.Aside(ctx, call, func(_ context.Context, c *ToolCall) (*ToolResult, error) {
				if err := c.Start(c.Tool.Ref, c.Tool.Digest, "T2", "run"); err != nil {
					return nil, err
				}
				ran = append(ran, to)
				return &ToolResult{Data: "paid"}, nil
			})
			if err != nil {
				return err
			}
		}
		return errDied
	}
	order = []string{"a", "b"}
	_, _ = Start(t.Context(), testID, l.p)
	for _, order = range [][]string{{"a", "b"}, {"b", "a"}} {
		_, _ = Resume(t.Context(), testID, l.p, "")
	}
	if !slices.Equal(ran, []string{"a", "b"}) {
		t.Errorf("calls were made: %v", ran)
	}
}

// asking makes the loop end in a question for a person.
func (l *lab) asking(walks *int) {
	l.p.Loop = func(_ context.Context, th *Thread, _ *transcript.Log, _ []transcript.Line) error {
		*walks++
		th.Ends(Ending{State: Suspended, Suspend: &Suspension{Reason: ByHook, Node: "finish", Ask: &Ask{Question: "?"}}})
		return nil
	}
}

// A process that was killed before the registry had the suspension leaves the state running.
func TestMarkSuspended(t *testing.T) {
	l, walks := newLab(t), 0
	l.asking(&walks)
	if r, err := Start(t.Context(), testID, l.p); err != nil && r == nil {
		t.Fatal(err)
	}
	if err := Mark(t.Context(), testID, Failed, l.p); err != nil {
		t.Error(err)
	}
}

// A person's no holds although the process was killed before the end was recorded.
func TestDeclinedHolds(t *testing.T) {
	l, walks := newLab(t), 0
	l.asking(&walks)
	_, _ = Start(t.Context(), testID, l.p)
	th := newThread(testID, l.p)
	log, _, _, err := transcript.Open(t.Context(), th.logParams())
	if err != nil {
		t.Fatal(err)
	}
	th.log = log
	if err := th.record(t.Context(), true, evAnswered, answeredData{ID: "q", Decision: "deny", By: "person"}); err != nil {
		t.Fatal(err)
	}
	_ = log.Close()
	if _, err = Resume(t.Context(), testID, l.p, ""); diag.CodeOf(err) != diag.ApprovalDenied || walks != 1 {
		t.Errorf("%v, after %d walks", err, walks)
	}
	if _, err := Decline(t.Context(), testID, l.p); err != nil && diag.CodeOf(err) != diag.ApprovalDenied {
		t.Error(err)
	}
}
