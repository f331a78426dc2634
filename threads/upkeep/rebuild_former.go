package upkeep

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/transcript"
)

// readFormer reads the former store, nil if none exists. It is an error if a thread of it
// runs, wherever its project is.
func (b *rebuilder) readFormer(ctx context.Context, old *store.Store) ([]store.Entry, error) {
	if old == nil {
		return nil, nil
	}
	running, err := old.Running(ctx)
	if err != nil {
		return nil, err
	}
	for i := range running {
		if l := &running[i]; !control.IsOrphan(ctx, l) {
			return nil, stillRuns(l.Thread, l.Project)
		}
	}
	former, err := old.Entries(ctx)
	for i := range former {
		b.former[former[i].ID] = &former[i]
	}
	return former, err
}

func stillRuns(id, project string) error {
	return diag.New(diag.ThreadState, "rebuilding the store of threads: %s runs in %s; wait for it, or cancel it", id, project).
		WithReason("running").
		WithDetail("id", id)
}

// findProjects sets the projects whose logs are read: the projects of the list, this one, and
// the projects of the former store. A store of an earlier version has no list.
func (b *rebuilder) findProjects(dir string, former []store.Entry) error {
	listed, err := store.Projects(dir)
	if err != nil {
		return err
	}
	listed = append(listed, b.p.Spaces.ProjectDir)
	for i := range former {
		listed = append(listed, former[i].Project)
	}
	b.report.Projects = []string{}
	for _, project := range listed {
		if project != "" && !slices.Contains(b.report.Projects, project) {
			b.report.Projects = append(b.report.Projects, project)
		}
	}
	return nil
}

// take adds the log of a thread. If another project has a log with the same id, one of them
// is a copy, which can have calls that the other does not have.
func (b *rebuilder) take(project, id string, t *threads.Booked) {
	had := b.booked[id]
	if b.of[id] != "" && !b.replaces(project, id) {
		t, had = had, t
	} else {
		b.of[id] = project
	}
	if b.booked[id] = t; t == nil || had == nil {
		return
	}
	for _, c := range had.Calls {
		switch i := slices.IndexFunc(t.Calls, func(x threads.BookedCall) bool { return x.ID == c.ID }); {
		case i < 0:
			t.Calls = append(t.Calls, c)
		case t.Calls[i].Open && !c.Open:
			t.Calls[i] = c
		}
	}
}

// replaces reports whether the log of a project is used instead of one with the same id that
// was read before: the former store names the project of a thread, otherwise it is the
// first. The other one is reported.
func (b *rebuilder) replaces(project, id string) bool {
	copied := project
	was := b.former[id]
	instead := was != nil && was.Project == project
	if instead {
		copied = b.of[id]
	}
	b.report.Copies = append(b.report.Copies, copied+"/"+transcript.Dir+"/"+id)
	return instead
}

// complete adds what the former store has of a thread and the logs of its chain lack,
// because one of them is lost or damaged. A call that was not settled is one that was not
// made if its log can be read.
func (b *rebuilder) complete(e, former *store.Entry) {
	had := len(e.Calls)
	for _, c := range former.Calls {
		of, _, _ := strings.Cut(c.ID, "/")
		known := slices.ContainsFunc(e.Calls, func(x store.Call) bool {
			return x.ID == c.ID
		})
		if !known && (!c.Open || b.booked[of] == nil) {
			e.Calls = append(e.Calls, c)
		}
	}
	links := b.chains[e.ID]
	last := links[len(links)-1]
	if last.State == threads.Continued && former.State != threads.Running {
		e.State = former.State
		e.Reason = former.Reason
		e.Ended = former.Ended
		e.Released = former.Released
	}
	if len(e.Calls) > had {
		b.report.Completed = append(b.report.Completed, e.ID)
	}
}
