package threads

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/transcript"
)

// approvals is a lab whose loop makes one call, which asks some questions.
type approvals struct {
	*lab
	answers []Reply
	seen    []string // what a person was asked
}

func (a *approvals) question(text, digest string) *Question {
	return &Question{
		Tier: "T4", Text: text, Capability: "rye.execute.tool.deploy", Rule: "risk T4", Digest: item.DigestOf([]byte(digest)), Timeout: time.Minute,
		Ask: func(context.Context) (Reply, error) {
			a.seen = append(a.seen, text)
			if len(a.seen) > len(a.answers) {
				return Reply{Decision: Deny, By: "person"}, nil
			}
			return a.answers[len(a.seen)-1], nil
		},
	}
}

// asks runs a call with an id of its own that asks, and returns the decisions.
func (a *approvals) asks(t *testing.T, begin bool, questions ...*Question) (decisions []string) {
	t.Helper()
	a.p.Loop = func(ctx context.Context, th *Thread, _ *transcript.Log, _ []transcript.Line) error {
		call := AsideCall{By: "tool:demo/step", Of: "k", Node: "k", Tool: offered("deploy", `{}`), Input: map[string]any{"n": len(a.seen)}, Held: policy.Person()}
		_, err := th.Aside(ctx, call, func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
			if begin {
				if err := c.Start(c.Tool.Ref, c.Tool.Digest, "T3", "run"); err != nil {
					return nil, err
				}
			}
			for _, q := range questions {
				r, err := c.Approve(ctx, q)
				if err != nil || r == nil {
					return nil, fmt.Errorf("no answer: %w", err)
				}
				decisions = append(decisions, r.Decision)
			}
			return &ToolResult{Data: "done"}, nil
		})
		if err != nil {
			return err
		}
		return errDied
	}
	_, _ = Start(t.Context(), testID, a.p)
	return decisions
}

var once = Reply{Decision: Once, By: "person"}

// A yes is for one start: the second node of a graph with the same text is asked about.
func TestOnceIsForOneStart(t *testing.T) {
	for _, begin := range []bool{true, false} {
		a := &approvals{lab: newLab(t), answers: []Reply{once}}
		got := a.asks(t, begin, a.question("rm -r x", "1"), a.question("rm -r x", "1"))
		if !slices.Equal(got, []string{Once, Deny}) || len(a.seen) != 2 {
			t.Errorf("begun %t: %v after the questions %v", begin, got, a.seen)
		}
	}
}

// A yes for the thread is for the version of the item, the capability and the reasons that
// the person saw.
func TestThreadGrantIsForAVersion(t *testing.T) {
	a := &approvals{lab: newLab(t), answers: []Reply{{Decision: ForThread, By: "person"}}}
	other := a.question("d", "1")
	other.Rule = "risk T3"
	got := a.asks(t, true, a.question("a", "1"), a.question("b", "1"), a.question("c", "2"), other)
	if !slices.Equal(got, []string{ForThread, ForThread, Deny, Deny}) || !slices.Equal(a.seen, []string{"a", "c", "d"}) {
		t.Errorf("%v after the questions %v", got, a.seen)
	}
}

// Without a reason that states what a call does, a yes for the thread is not offered, and is
// a no if it comes nevertheless.
func TestThreadGrantIsNotOffered(t *testing.T) {
	a := &approvals{lab: newLab(t), answers: []Reply{{Decision: ForThread, By: "person"}, once}}
	q := a.question("foo (", "1")
	q.Rule = ""
	if got := a.asks(t, true, q, q); !slices.Equal(got, []string{Deny, Once}) {
		t.Errorf("%v", got)
	}
}
