package control

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/handle"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/transcript"
	"github.com/ryeos/rye/threads/waiting"
)

// Entry is a thread, or a run with an account, as the registry has it.
type Entry struct {
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
	// Number and Name are what persons name the thread by. Number is 0 if it has none.
	Number int64  `json:"number,omitempty"`
	Name   string `json:"name,omitempty"`
	// Waiting is the question that a person must answer, nil without one.
	Waiting *waiting.Wait `json:"waiting,omitempty"`
}

// Waiting returns the entries that wait for an answer of the person, the longest wait first: threads of the
// project, or of all projects of the user account, and suspended runs of graphs of the
// project. The registry of the account has only the runs that paid for threads.
func Waiting(ctx context.Context, p *project.Project, all bool) ([]Entry, error) {
	list, err := List(ctx, p, all)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(t Entry) bool {
		return t.Waiting == nil
	})
	runs, err := waiting.Runs(ctx, p.Spaces.ProjectDir)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		isListed := slices.ContainsFunc(list, func(t Entry) bool {
			return t.ID == r.ID
		})
		if !isListed {
			list = append(list, entryOf(p.Spaces.ProjectDir, r))
		}
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(
			a.Waiting.Since.Compare(b.Waiting.Since),
			cmp.Compare(a.ID, b.ID),
		)
	})
	return list, nil
}

// entryOf returns a run of a project as an entry of such a list.
func entryOf(project string, r waiting.Run) Entry {
	started, _ := time.Parse(time.RFC3339Nano, r.Started) // rye wrote it
	return Entry{
		ID:      r.ID,
		Kind:    "run",
		Item:    r.Graph,
		Project: project,
		State:   r.State,
		Reason:  r.Reason,
		Parent:  r.Parent,
		Root:    r.ID,
		Started: started,
		Number:  r.Number,
		Waiting: r.Wait,
	}
}

// List returns the threads of the project, the newest first, or the threads of all projects of
// the user account.
func List(ctx context.Context, p *project.Project, all bool) ([]Entry, error) {
	return ListFrom(ctx, p, func(s *store.Store) ([]store.Cost, error) {
		if all {
			return s.Costs(ctx, "")
		}
		return s.Costs(ctx, p.Spaces.ProjectDir)
	})
}

// Tree returns a thread with all below it: each follows its parent.
func Tree(ctx context.Context, p *project.Project, id string) ([]Entry, error) {
	list, err := ListFrom(ctx, p, func(s *store.Store) ([]store.Cost, error) {
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
		return nil, diag.New(diag.ThreadNotFound, "reading the registry of threads: it has no thread %q", id).
			WithReason("no_thread").
			WithDetail("id", id)
	}
	return inTree(list, func(t *Entry) (string, string, *int) {
		return t.ID, t.Parent, &t.Level
	}), nil
}

// inTree orders a list whose first entry is the root by depth, and sets the levels.
func inTree[T any](list []T, of func(*T) (id, parent string, level *int)) []T {
	below := map[string][]T{}
	for i := range list[1:] {
		_, parent, _ := of(&list[i+1])
		below[parent] = append(below[parent], list[i+1])
	}
	out := make([]T, 0, len(list))
	var add func(t T, level int)
	add = func(t T, level int) {
		id, _, at := of(&t)
		*at = level
		out = append(out, t)
		for _, c := range below[id] {
			add(c, level+1)
		}
	}
	add(list[0], 0)
	return out
}

// ListFrom reads the registry, which does not exist before the first thread.
func ListFrom(ctx context.Context, p *project.Project, read func(*store.Store) ([]store.Cost, error)) ([]Entry, error) {
	out := []Entry{}
	if p.Dirs.State == "" {
		return out, nil
	}
	s, err := store.Open(
		ctx,
		store.Dir(p.Dirs.State),
		store.Params{Now: p.Env.Now, Existing: true},
	)
	if store.Missing(err) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := settleOrphans(ctx, p, s); err != nil {
		return nil, err
	}
	costs, err := read(s)
	if err != nil {
		return nil, err
	}
	if err := describe(ctx, p, s, costs); err != nil {
		return nil, err
	}
	for _, c := range costs {
		t := Entry{
			Number:   c.Number,
			Name:     c.Name,
			ID:       c.Thread,
			Kind:     c.Kind,
			Item:     c.Ref,
			Project:  c.Project,
			State:    c.State,
			Reason:   c.Reason,
			Parent:   c.Parent,
			Root:     c.Root,
			Model:    c.Model,
			Turns:    c.Calls,
			Spend:    c.Actual,
			Reserved: c.Reserved,
			Max:      c.Max,
			Started:  c.Created,
		}
		if t.State == threads.Running {
			// The process of a thread has the lock of its log for its whole life.
			if t.PID = graph.Owner(ctx, t.Project, endOfChain(t.Project, t.ID)); t.PID < 0 {
				t.State = threads.Failed
				t.Reason = threads.Orphaned
				t.PID = 0
			}
		}
		if t.State == threads.Running ||
			t.State == threads.Suspended ||
			t.Reason == threads.Orphaned {
			t.Waiting = waiting.Decode(c.Waiting)
		}
		if isRemoved(&t) {
			t.Reason = logRemoved
		}
		out = append(out, t)
	}
	return out, nil
}

// IsOrphan reports whether no process runs a thread that the registry has as running: its
// log is free, and the process that registered it is gone. That process can have
// registered a thread whose log it is about to open.
func IsOrphan(ctx context.Context, l *store.Lease) bool {
	alive, known := proc.Identity{PID: l.Owner.PID, Start: l.Owner.Start, Boot: l.Owner.Boot}.Alive()
	return !(known && alive) &&
		graph.Owner(ctx, l.Project, endOfChain(l.Project, l.Thread)) < 0
}

// settleOrphans records the end of threads whose process was stopped, settles what they
// had reserved, and returns the rest to their parents. Of a thread that a run started,
// which continues it, only the calls are settled. A thread of another project is left to
// that project.
func settleOrphans(ctx context.Context, p *project.Project, s *store.Store) error {
	running, err := s.Running(ctx)
	if err != nil {
		return err
	}
	kinds := map[string]string{}
	for _, l := range running {
		kinds[l.Thread] = l.Kind
	}
	for i := range running {
		l := &running[i]
		if l.Project != p.Spaces.ProjectDir || !IsOrphan(ctx, l) { // others are settled in their project
			continue
		}
		err := settleStopped(ctx, p, s, l, kinds[l.Parent] == "run")
		if err != nil {
			return err
		}
	}
	return nil
}

// settleStopped settles one thread, or run, whose process is gone.
func settleStopped(
	ctx context.Context,
	p *project.Project,
	s *store.Store,
	l *store.Lease,
	ofRun bool,
) error {
	if l.Kind != "thread" || ofRun && l.State != store.Created {
		sent := threads.Sent(p.Spaces.ProjectDir, endOfChain(p.Spaces.ProjectDir, l.Thread))
		_, err := s.Orphan(ctx, l, threads.Orphaned, func(id string) store.Outcome {
			return store.Outcome{Sent: sent(id)}
		})
		w, werr := waiting.Of(ctx, l.Project, endOfChain(l.Project, l.Thread))
		if werr == nil && w.Encode() != l.Waiting {
			err = errors.Join(err, noteWaiting(ctx, p, l.Thread)) // it was stopped between the line and the registry
		}
		return err
	}
	if l.State != store.Created && !neverBegan(p, l.Thread) {
		switch err := settleOrphan(ctx, p, l.Thread); {
		case diag.CodeOf(err) == diag.Cancelled:
			return err
		case !isLost(err): // it is settled, another process was faster, or a later command can do it
			return nil
		}
		// Its log cannot be continued: rye threads verify names the fault.
	}
	done, err := s.Abandon(ctx, l, threads.Failed, threads.Orphaned)
	if err == nil && done {
		err = s.Revoke(ctx, l.Thread, true)
	}
	return err
}

// isLost reports whether an error states that the log of a thread cannot be continued. Any
// other one can pass: the disk is full, the key or the project cannot be read or written.
func isLost(err error) bool {
	e := diag.Typed(err)
	switch diag.CodeOf(err) {
	case diag.TranscriptBroken, diag.ThreadNotFound:
		return true
	case diag.KeyUnknown:
		return e != nil && e.Reason == "runtime_key"
	}
	return false
}

// neverBegan reports whether the log of a thread has no line: its process was stopped
// before, and nothing can continue it.
func neverBegan(p *project.Project, id string) bool {
	lines, err := transcript.Read(p.Spaces.ProjectDir, id)
	return err == nil && len(lines) == 0 || diag.CodeOf(err) == diag.ThreadNotFound
}

// Find returns the id of the thread, or run of a graph, of the project that a text
// names, as handle.Matches states. If several match, the error is AMBIGUOUS_ITEM with the
// detail matches, the newest first.
func Find(ctx context.Context, p *project.Project, text string) (string, error) {
	known := map[string]int64{}
	ids, err := handle.Matches(p.Spaces.ProjectDir, text, func() ([]handle.Known, error) {
		list, err := knownThreads(ctx, p)
		for _, k := range list {
			known[k.ID] = k.Number
		}
		return list, err
	})
	if err != nil {
		return "", err
	}
	if len(ids) == 1 {
		return ids[0], nil
	}
	var list []string
	for _, id := range ids[:min(len(ids), maxMatches)] {
		list = append(list, handle.Label(known[id], id))
	}
	more := ""
	if len(ids) > maxMatches {
		more = ", …"
	}
	return "", diag.New(
		diag.AmbiguousItem,
		"finding the thread %s: %d match: %s%s",
		text,
		len(ids),
		strings.Join(list, ", "),
		more,
	).
		WithReason("runs").WithDetail("matches", ids)
}

// maxMatches is how many of several matches an error lists.
const maxMatches = 9

// settleOrphan records the end of a thread whose process was stopped, and asks the threads
// that it started to end as child_policy states.
// It writes thread_error with the reason, so that the registry can be computed from logs.
func settleOrphan(ctx context.Context, p *project.Project, id string) error {
	params, err := EndParams(ctx, p)
	if err != nil {
		return err
	}
	err = markRun(ctx, p, EndOfChain(p, id), threads.Failed, params)
	if err != nil {
		return err
	}
	return orphaned(ctx, p, id)
}

// logRemoved is the reason of a thread that has completed and whose log was removed.
const logRemoved = "removed"

// isRemoved reports whether the log of a thread that has completed was removed.
func isRemoved(t *Entry) bool {
	if t.State != threads.Completed {
		return false
	}
	_, err := os.Lstat(transcript.Base(t.Project, t.ID).Path("."))
	return os.IsNotExist(err)
}
