package project

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/store"
)

// logs returns what the logs of the project state, the one that began first at first.
func (p *Project) logs(ctx context.Context, known map[string]*ListedThread) ([]loggedThread, error) {
	ids, err := graph.IDs(p.Spaces.ProjectDir)
	if err != nil {
		return nil, err
	}
	exists := map[string]bool{}
	for _, id := range ids {
		exists[id] = true
	}
	logs := make([]loggedThread, len(ids))
	for i, id := range ids {
		logs[i] = p.loggedThread(ctx, id, exists)
		logs[i].compare(known)
	}
	slices.SortFunc(logs, func(a, b loggedThread) int {
		return cmp.Or(cmp.Compare(a.started, b.started), cmp.Compare(a.id[len(a.id)-26:]+a.id, b.id[len(b.id)-26:]+b.id))
	})
	return logs, nil
}

// loggedThread is what the log of a thread or run states.
type loggedThread struct {
	id      string
	copy    string   // that its tools work in, "" for the project
	near    []string // of the same tree, "" for none
	started string
	updated time.Time
	reason  string // why it must stay
	failed  bool   // the reason is only that it has not completed
}

// compare adds what the registry knows. A thread whose parent has completed cannot be
// resumed: its money would be that of an account that is closed.
func (l *loggedThread) compare(known map[string]*ListedThread) {
	t := known[l.id]
	if t == nil {
		return
	}
	l.near = append(l.near, t.Parent)
	up := known[t.Parent]
	switch {
	case t.State == threads.Running || t.State == threads.Suspended || t.State == store.Created:
		l.reason = cmp.Or(l.reason, l.id+" is not settled")
	case l.failed && t.Kind == "thread" && up != nil && up.State == threads.Completed:
		l.reason = ""
	}
}

func (p *Project) loggedThread(ctx context.Context, id string, exists map[string]bool) loggedThread {
	dir := p.Spaces.ProjectDir
	l := loggedThread{id: id}
	s, err := graph.Status(ctx, dir, id)
	if err != nil {
		l.reason = id + " has no log that can be read"
		return l
	}
	l.near = append(l.near, s.Parent)
	l.started, l.copy = s.Started, s.Copy
	l.updated, _ = time.Parse(time.RFC3339, s.Updated)
	switch {
	case graph.Owner(ctx, dir, id) >= 0:
		l.reason = id + " is running"
	case s.State == graph.StateSuspended:
		l.reason = id + " is suspended"
	case s.State != graph.StateCompleted && s.State != graph.StateContinued:
		l.reason, l.failed = id+" can be resumed", true
	}
	started, err := threads.ReadStarted(dir, id)
	if diag.CodeOf(err) == diag.ThreadNotFound {
		return l // a run of a graph
	}
	t, terr := threads.Summarize(dir, id)
	if err != nil || terr != nil {
		l.reason, l.failed = id+" has no log that can be read", false
		return l
	}
	l.copy = started.Workspace.Copy
	l.near = append(l.near, started.Parent, started.Replay, t.Continues, t.Follows, t.ContinuedBy)
	if started.Spawned != nil {
		l.near = append(l.near, started.Spawned.By, started.Spawned.Root)
	}
	if started.Carried != nil {
		l.near = append(l.near, started.Carried.Root)
	}
	if next := t.ContinuedBy; next != "" && !exists[next] && l.reason == "" {
		l.reason = id + " can be resumed" // the next thread of its chain has no log yet
	}
	return l
}
