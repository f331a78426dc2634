package copies

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/store"
)

// Logs returns the content of the logs of the project, the one that began first at first.
func Logs(ctx context.Context, p *project.Project, known map[string]*control.Entry) ([]LoggedThread, error) {
	ids, err := graph.IDs(p.Spaces.ProjectDir)
	if err != nil {
		return nil, err
	}
	exists := map[string]bool{}
	for _, id := range ids {
		exists[id] = true
	}
	logs := make([]LoggedThread, len(ids))
	for i, id := range ids {
		logs[i] = loggedThread(ctx, p, id, exists)
		logs[i].compare(known)
	}
	slices.SortFunc(logs, func(a, b LoggedThread) int {
		return cmp.Or(cmp.Compare(a.started, b.started), cmp.Compare(
			a.ID[len(a.ID)-26:]+a.ID,
			b.ID[len(b.ID)-26:]+b.ID,
		))
	})
	return logs, nil
}

// LoggedThread is what the log of a thread or run states.
type LoggedThread struct {
	ID      string
	Copy    string   // that its tools work in, "" for the project
	Near    []string // of the same tree, "" for none
	started string
	Updated time.Time
	Reason  string // why it must stay
	failed  bool   // the reason is only that it has not completed
}

// compare adds what the registry knows. A thread whose parent has completed cannot be
// resumed: its money would come from an account that is closed.
func (l *LoggedThread) compare(known map[string]*control.Entry) {
	t := known[l.ID]
	if t == nil {
		return
	}
	l.Near = append(l.Near, t.Parent)
	up := known[t.Parent]
	switch {
	case t.State == threads.Running || t.State == threads.Suspended || t.State == store.Created:
		l.Reason = cmp.Or(l.Reason, l.ID+" is not settled")
	case l.failed && t.Kind == "thread" && up != nil && up.State == threads.Completed:
		l.Reason = ""
	}
}

func loggedThread(ctx context.Context, p *project.Project, id string, exists map[string]bool) LoggedThread {
	dir := p.Spaces.ProjectDir
	l := LoggedThread{ID: id}
	s, err := graph.Status(ctx, dir, id)
	if err != nil {
		l.Reason = id + " has no log that can be read"
		return l
	}
	l.Near = append(l.Near, s.Parent)
	l.started = s.Started
	l.Copy = s.Copy
	l.Updated, _ = time.Parse(time.RFC3339, s.Updated)
	switch {
	case graph.Owner(ctx, dir, id) >= 0:
		l.Reason = id + " is running"
	case s.State == graph.StateSuspended:
		l.Reason = id + " is suspended"
	case s.State != graph.StateCompleted && s.State != graph.StateContinued:
		l.Reason = id + " can be resumed"
		l.failed = true
	}
	started, err := threads.ReadStarted(dir, id)
	if diag.CodeOf(err) == diag.ThreadNotFound {
		return l // a run of a graph
	}
	t, terr := threads.Summarize(dir, id)
	if err != nil || terr != nil {
		l.Reason = id + " has no log that can be read"
		l.failed = false
		return l
	}
	l.Copy = started.Workspace.Copy
	l.Near = append(
		l.Near,
		started.Parent,
		started.Replay,
		t.Continues,
		t.Follows,
		t.ContinuedBy,
	)
	if started.Spawned != nil {
		l.Near = append(l.Near, started.Spawned.By, started.Spawned.Root)
	}
	if started.Carried != nil {
		l.Near = append(l.Near, started.Carried.Root)
	}
	next := t.ContinuedBy
	if next != "" && !exists[next] && l.Reason == "" {
		l.Reason = id + " can be resumed" // the next thread of its chain has no log yet
	}
	return l
}
