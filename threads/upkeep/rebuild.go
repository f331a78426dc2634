package upkeep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/heads"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/transcript"
)

// Rebuilt states what RebuildThreads read.
type Rebuilt struct {
	Projects []string `json:"projects"`
	Missing  []string `json:"missing"` // projects whose directory does not exist
	// Unreadable are the projects whose logs cannot be read, with the error.
	Unreadable []UnreadProject `json:"unreadable"`
	Threads    int             `json:"threads"`   // from logs
	Kept       []string        `json:"kept"`      // of the former store: their logs do not exist, or are damaged
	Completed  []string        `json:"completed"` // with calls of the former store that the logs of their chains lack
	Damaged    []string        `json:"damaged"`   // logs that state nothing, with their project
	Copies     []string        `json:"copies"`    // logs of threads that belong to another project
	Store      string          `json:"store"`     // how the former store was found: read, missing or damaged
}

// UnreadProject is a project whose logs RebuildThreads could not read.
type UnreadProject struct {
	Project string `json:"project"`
	Error   string `json:"error"`
}

// Rebuild computes the store of the user account again, from the logs of this
// project and of all others that have had threads. Threads whose logs do not exist any more
// keep what the former store has of them. No thread may run.
func Rebuild(ctx context.Context, p *project.Project) (*Rebuilt, error) {
	if p.Dirs.State == "" {
		return nil, diag.New(diag.FileSystemError, "rebuilding the store of threads: the environment names no state directory that is the user's own").WithReason("no_state_directory")
	}
	dir := store.Dir(p.Dirs.State)
	b := &rebuilder{
		p: p,
		report: &Rebuilt{
			Missing:    []string{},
			Unreadable: []UnreadProject{},
			Kept:       []string{},
			Completed:  []string{},
			Damaged:    []string{},
			Copies:     []string{},
			Store:      "read",
		},
		booked:    map[string]*threads.Booked{},
		of:        map[string]string{},
		runs:      map[string]*bookedRun{},
		entries:   map[string]*store.Entry{},
		former:    map[string]*store.Entry{},
		kept:      map[string]bool{},
		chains:    map[string][]*threads.Booked{},
		summaries: map[string]string{},
	}
	_, err := os.Lstat(dir + "/" + store.File)
	if errors.Is(err, fs.ErrNotExist) {
		b.report.Store = "missing"
	}
	err = store.Rebuild(
		ctx,
		dir,
		store.Params{Now: p.Env.Now, Process: ledger.OwnProcess()},
		func(old *store.Store) (store.Content, error) {
			if old == nil && b.report.Store == "read" {
				b.report.Store = "damaged"
			}
			return b.all(ctx, dir, old)
		},
	)
	if err != nil {
		return nil, err
	}
	// Threads whose processes were stopped are settled as ever.
	_, err = control.ListFrom(ctx, p, func(*store.Store) ([]store.Cost, error) {
		return nil, nil
	})
	return b.report, err
}

// rebuilder makes entries of a store from logs.
type rebuilder struct {
	p       *project.Project
	report  *Rebuilt
	booked  map[string]*threads.Booked // by the id of the thread
	of      map[string]string          // the project of each thread
	runs    map[string]*bookedRun
	entries map[string]*store.Entry
	former  map[string]*store.Entry // of the former store
	kept    map[string]bool         // entries that come from the former store

	chains    map[string][]*threads.Booked // by the id of the first
	summaries map[string]string            // the chain that a thread summarized
}

// bookedRun is what the log of a run of a graph states.
type bookedRun struct {
	project, state, reason string
	began                  time.Time
	Graph                  string         `json:"graph"`
	Digest                 string         `json:"digest"`
	Parent                 string         `json:"parent"`
	Number                 int64          `json:"number"`
	Inputs                 map[string]any `json:"inputs"`
	Limits                 struct {
		Spend  *policy.USD `json:"spend"`
		Spawns *int64      `json:"spawns"`
	} `json:"limits"`
}

// all returns the entries in the order in which one pays another. The caller has the gate
// of the store, so that no thread is registered meanwhile.
func (b *rebuilder) all(
	ctx context.Context,
	dir string,
	old *store.Store,
) (store.Content, error) {
	former, err := b.readFormer(ctx, old)
	if err != nil {
		return store.Content{}, err
	}
	if err := b.findProjects(dir, former); err != nil {
		return store.Content{}, err
	}
	for _, project := range b.report.Projects {
		if err := b.readLogs(ctx, project); err != nil {
			return store.Content{}, err
		}
	}
	b.link()
	for id, links := range b.chains {
		switch {
		case b.booked[id] != nil:
			b.add(id, b.booked[id])
		case b.former[id] == nil: // the log of its first is lost
			b.add(id, links[0])
		}
	}
	b.report.Threads = len(b.booked)
	for i := range former {
		e := &former[i]
		switch have := b.entries[e.ID]; {
		case have == nil:
			b.entries[e.ID], b.kept[e.ID] = e, true
			if e.Kind == "thread" {
				b.report.Kept = append(b.report.Kept, e.ID)
			}
		case e.Kind == "run": // it keeps the maximum of its start
			have.Max = e.Max
			have.Spawns = e.Spawns
		default:
			b.complete(have, e)
		}
	}
	b.relate()
	entries, err := b.ordered()
	if err != nil {
		return store.Content{}, err
	}
	handles, err := b.handles(ctx, old)
	return store.Content{Entries: entries, Handles: handles}, err
}

// readLogs verifies and reads the logs of a project.
func (b *rebuilder) readLogs(ctx context.Context, project string) error {
	_, err := os.Stat(project)
	if errors.Is(err, fs.ErrNotExist) {
		b.report.Missing = append(b.report.Missing, project)
		return nil
	}
	var ids []string
	if err == nil {
		ids, err = graph.IDs(project)
	}
	if err != nil { // one that is on a file system which is gone must not prevent the rest
		b.report.Unreadable = append(b.report.Unreadable, UnreadProject{project, err.Error()})
		return nil
	}
	for _, id := range ids {
		if graph.Owner(ctx, project, id) >= 0 {
			return stillRuns(id, project)
		}
		rep, err := transcript.Verify(ctx, transcript.Params{
			Project: project,
			ID:      id,
			Keys:    b.p.Keys.RuntimePublic,
			Heads:   heads.Dir(b.p.Dirs.State),
		})
		if diag.CodeOf(err) == diag.ThreadNotFound || err == nil && len(rep.Lines) == 0 {
			continue // its process was stopped before it began
		}
		if err == nil && rep.Unverifiable {
			err = diag.New(diag.KeyUnknown, "verifying the log of %s: the runtime key that signed it is missing", id)
		}
		if err == nil {
			err = rep.Err()
		}
		if err == nil {
			err = b.readLog(ctx, project, id, rep.Lines)
		}
		switch diag.CodeOf(err) {
		case diag.Cancelled:
			return err
		case "":
		default:
			b.report.Damaged = append(b.report.Damaged, project+"/"+transcript.Dir+"/"+id)
		}
	}
	return nil
}

func (b *rebuilder) readLog(ctx context.Context, project, id string, lines []transcript.Line) error {
	if threads.IsThread(lines) {
		t, err := threads.Book(project, id, lines)
		if err == nil {
			b.take(project, id, t)
		}
		return err
	}
	if b.of[id] != "" && !b.replaces(project, id) {
		return nil
	}
	r := &bookedRun{project: project, began: lines[0].At()}
	err := json.Unmarshal(lines[0].Data, r)
	if err != nil {
		return err
	}
	s, err := graph.Status(ctx, project, id)
	if err == nil {
		r.state, b.runs[id], b.of[id] = s.State, r, project
		if s.Reason == threads.Orphaned { // a suspended run has no reason in the store
			r.reason = s.Reason
		}
	}
	return err
}

// add makes the entry of a chain of threads from the log of its first.
func (b *rebuilder) add(id string, t *threads.Booked) {
	e := &store.Entry{Thread: store.Thread{
		ID:      id,
		Project: b.of[t.ID],
		Kind:    "thread",
		Ref:     t.Directive.Ref,
		Digest:  t.Directive.Digest.String(),
		Model:   t.Model,
	}, Created: t.Began}
	last := t
	for _, link := range b.chains[id] {
		last = link
		for _, c := range link.Calls {
			e.Calls = append(e.Calls, store.Call{
				ID:      c.ID,
				Model:   c.Model,
				Amount:  c.Reserved,
				Settled: c.Cost,
				Assumed: c.Assumed,
				Open:    c.Open,
				Created: c.At,
			})
		}
	}
	e.State = last.State
	e.Reason = last.Reason
	e.Ended = last.Rested
	e.Max = last.Limits.Spend
	e.Depth = last.Limits.Depth
	e.Spawns = last.Limits.Spawns
	switch {
	case t.Spawned != nil:
		e.Parent = t.Spawned.By
		// it keeps these since its start
		e.Depth = t.First.Depth
		e.Spawns = t.First.Spawns
	case t.Parent != "":
		e.Parent = b.addRun(t.Parent)
	default:
		e.Parent = b.summaries[id]
	}
	switch e.State {
	case threads.Running, threads.Continued: // its process was stopped, which is settled later
		e.State = threads.Running
		e.Reason = ""
		e.Ended = time.Time{}
	case threads.Suspended:
		e.Ended = time.Time{}
	default:
		e.Released = true
	}
	b.entries[id] = e
}

// link finds the chains of threads, and the threads that summarized one.
func (b *rebuilder) link() {
	root := func(t *threads.Booked) string {
		return t.Carried.RootOf(t.ID)
	}
	for _, t := range b.booked {
		b.chains[root(t)] = append(b.chains[root(t)], t)
		for _, id := range t.Summaries {
			b.summaries[id] = root(t)
		}
	}
	for _, links := range b.chains {
		slices.SortFunc(links, func(x, y *threads.Booked) int {
			return cmp.Or(
				x.Began.Compare(y.Began),
				cmp.Compare(x.ID, y.ID),
			)
		})
	}
}

// addRun makes the entry of the run that pays the threads of a run: a called one pays
// them only if its graph limits spend.
func (b *rebuilder) addRun(id string) string {
	r := b.runs[id]
	if r == nil || b.entries[id] != nil {
		return id
	}
	if r.Parent != "" && r.Limits.Spend == nil {
		return b.addRun(r.Parent)
	}
	e := &store.Entry{
		Thread: store.Thread{
			ID:      id,
			Project: r.project,
			Kind:    "run",
			Ref:     r.Graph,
			Digest:  r.Digest,
		},
		State:   r.state,
		Reason:  r.reason,
		Created: r.began,
	}
	if r.Limits.Spend != nil {
		e.Max = *r.Limits.Spend
	}
	if r.Limits.Spawns != nil {
		e.Spawns = *r.Limits.Spawns
	}
	e.Released = r.state != graph.StateRunning &&
		r.state != graph.StateSuspended &&
		r.reason != threads.Orphaned
	b.entries[id] = e
	if r.Parent != "" {
		e.Parent = b.addRun(r.Parent)
	}
	return id
}

// relate sets roots, who pays, and how many threads each started.
func (b *rebuilder) relate() {
	for id, e := range b.entries {
		if b.kept[id] {
			continue
		}
		if b.entries[e.Parent] == nil {
			e.Parent = "" // its log is lost
			was := b.former[id]
			if was != nil && b.entries[was.Parent] != nil {
				e.Parent = was.Parent
			}
		}
		e.Root = id
		e.Spawned = 0
		e.Pays = e.Parent
	}
	for id, e := range b.entries {
		if b.kept[id] {
			continue
		}
		up := b.entries[e.Parent]
		counts := e.Kind == "thread" &&
			up != nil &&
			(up.Kind == "run" || b.chains[id][0].Spawned != nil)
		for ; up != nil; up = b.entries[up.Parent] {
			if e.Root = up.ID; counts && !b.kept[up.ID] {
				up.Spawned++
			}
		}
	}
	for id, e := range b.entries {
		if was := b.former[id]; was != nil {
			e.Spawned = max(e.Spawned, was.Spawned) // with those that no log has
		}
	}
	b.handUp()
}

// handUp does what the end of a thread does while others that it pays run: the thread that
// pays it pays them from then on.
func (b *rebuilder) handUp() {
	type end struct {
		id string
		at time.Time
	}
	var ends []end
	for id, e := range b.entries {
		if !b.kept[id] && e.Parent != "" {
			for _, link := range b.chains[id] {
				for _, at := range link.Ends {
					ends = append(ends, end{id, at})
				}
			}
		}
	}
	slices.SortFunc(ends, func(x, y end) int {
		return cmp.Or(
			x.at.Compare(y.at),
			cmp.Compare(x.id, y.id),
		)
	})
	for _, x := range ends {
		up := b.entries[x.id]
		for id, e := range b.entries {
			if e.Pays == x.id &&
				!b.kept[id] &&
				up.Pays != "" &&
				b.openAt(id, x.at) {
				e.Pays = up.Pays
			}
		}
	}
}

// openAt reports whether a chain of threads had begun and not ended at a time.
func (b *rebuilder) openAt(root string, at time.Time) bool {
	links := b.chains[root]
	if len(links) == 0 || links[0].Began.After(at) {
		return false
	}
	last := links[0]
	for _, l := range links {
		if !l.Began.After(at) {
			last = l
		}
	}
	return last.Open(at)
}

// ordered returns the entries, each after the one that pays it.
func (b *rebuilder) ordered() ([]store.Entry, error) {
	level := func(e *store.Entry) (n int) {
		for ; e.Pays != "" && b.entries[e.Pays] != nil && n <= len(b.entries); n++ {
			e = b.entries[e.Pays]
		}
		return n
	}
	out := make([]store.Entry, 0, len(b.entries))
	for _, e := range b.entries {
		if level(e) > len(b.entries) {
			return nil, diag.New(diag.TranscriptBroken, "rebuilding the store of threads: %s is below itself", e.ID).WithDetail("id", e.ID)
		}
		out = append(out, *e)
	}
	slices.SortFunc(out, func(x, y store.Entry) int {
		return cmp.Or(
			cmp.Compare(level(&x), level(&y)),
			x.Created.Compare(y.Created),
			cmp.Compare(x.ID, y.ID),
		)
	})
	slices.Sort(b.report.Kept)
	slices.Sort(b.report.Completed)
	return out, nil
}

// Dump writes what the store has, without times and processes.
func Dump(ctx context.Context, p *project.Project, w io.Writer) error {
	return ledger.WithStore(ctx, p, func(s *store.Store) error {
		return s.Dump(ctx, w)
	})
}
