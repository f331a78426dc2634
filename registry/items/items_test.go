package items

import (
	"context"
	"testing"
	"time"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads"
)

// asking is a thread that asks about every call by one function.
type asking struct {
	project.Caller
	person project.AsksPerson
}

func (a asking) Asks(exec.Call) project.AsksPerson { return a.person }

// An answer for a thread is one to the text that the person read.
func TestRegistryQuestion(t *testing.T) {
	rules := map[string]int{}
	person := project.AsksPerson(func(_ context.Context, q project.CallQuestion) (*threads.Reply, error) {
		rules[q.Recorded.Rule]++
		return &threads.Reply{Decision: threads.Once}, nil
	})
	opened := &project.Project{Env: &project.Env{Environ: func() []string { return nil }, Getenv: func(string) string { return "" }}, Spaces: &space.Spaces{}, Executor: exec.New(exec.Params{})}
	items := registryItems{opened.For(asking{person: person})}
	for _, sandbox := range []string{"it states none", "it states none", "it starts no program"} {
		it := &agent.RegistryItem{From: agent.RegistryRef{Ref: item.Ref{Kind: item.Tool, ID: "a/b"}, Bundle: "registry:rye.example/acme/tools", Version: "v1.0.0"}, Item: &resolve.Item{}, Sandbox: sandbox}
		if err := items.ask(t.Context(), it, nil, time.Second, exec.Call{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(rules) != 2 {
		t.Errorf("%v", rules)
	}
}
