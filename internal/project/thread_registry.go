package project

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/store"
)

// ListedThread is a thread, or a run with an account, as the registry has it.
type ListedThread struct {
	ID       string     `json:"thread_id"`
	Kind     string     `json:"kind"` // thread or run
	Item     string     `json:"directive"`
	Project  string     `json:"project"`
	State    string     `json:"state"`
	Reason   string     `json:"reason,omitempty"`
	Parent   string     `json:"parent,omitempty"`
	Root     string     `json:"root"`
	PID      int        `json:"pid,omitempty"`
	Model    string     `json:"model,omitempty"`
	Turns    int64      `json:"turns"`
	Spend    policy.USD `json:"spend"`
	Reserved policy.USD `json:"reserved"`
	Max      policy.USD `json:"max"`
	Started  time.Time  `json:"started"`
	Level    int        `json:"level"` // below the first of its list
}

// Threads returns the threads of the project, the newest first, or those of all projects
// of the user account.
func (p *Project) Threads(ctx context.Context, all bool) ([]ListedThread, error) {
	return p.listed(ctx, func(s *store.Store) ([]store.Cost, error) {
		if all {
			return s.Costs(ctx, "")
		}
		return s.Costs(ctx, p.Spaces.ProjectDir)
	})
}

// ThreadTree returns a thread with all below it: each follows its parent.
func (p *Project) ThreadTree(ctx context.Context, id string) ([]ListedThread, error) {
	list, err := p.listed(ctx, func(s *store.Store) ([]store.Cost, error) {
		row, err := s.Find(ctx, p.Spaces.ProjectDir, id)
		if err != nil {
			return nil, err
		}
		return s.Cost(ctx, row.Thread, true)
	})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, diag.New(diag.ThreadNotFound, "reading the registry of threads: it has no thread %q", id).WithReason("no_run").WithDetail("id", id)
	}
	return inTree(list), nil
}

// inTree orders a list whose first entry is the root by depth, and sets the levels.
func inTree(list []ListedThread) []ListedThread {
	below := map[string][]ListedThread{}
	for _, t := range list[1:] {
		below[t.Parent] = append(below[t.Parent], t)
	}
	out := make([]ListedThread, 0, len(list))
	var add func(t ListedThread, level int)
	add = func(t ListedThread, level int) {
		t.Level = level
		out = append(out, t)
		for _, c := range below[t.ID] {
			add(c, level+1)
		}
	}
	add(list[0], 0)
	return out
}

// listed reads the registry, which does not exist before the first thread.
func (p *Project) listed(ctx context.Context, read func(*store.Store) ([]store.Cost, error)) ([]ListedThread, error) {
	out := []ListedThread{}
	if p.Dirs.State == "" {
		return out, nil
	}
	s, err := store.Open(ctx, store.Dir(p.Dirs.State), store.Params{Now: p.Env.Now, Existing: true})
	if store.Missing(err) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	costs, err := read(s)
	if err != nil {
		return nil, err
	}
	for _, c := range costs {
		t := ListedThread{
			ID: c.Thread, Kind: c.Kind, Item: c.Ref, Project: c.Project, State: c.State, Reason: c.Reason, Parent: c.Parent, Root: c.Root,
			Model: c.Model, Turns: c.Calls, Spend: c.Actual, Reserved: c.Reserved, Max: c.Max, Started: c.Created,
		}
		if t.State == threads.Running {
			// The process of a thread has the lock of its log for its whole life.
			if t.PID = graph.Owner(ctx, t.Project, t.ID); t.PID < 0 {
				t.State, t.Reason, t.PID = threads.Failed, orphaned, 0
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// orphaned is the reason of a thread whose process was stopped.
const orphaned = "orphaned"
