package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/copies"
	"github.com/ryeos/rye/threads/heads"
	"github.com/ryeos/rye/threads/records"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/transcript"
)

// removedDir contains the directories of threads that are being removed. No thread has this
// name: nothing reads the files that a stopped process left there.
const removedDir = transcript.Dir + "/.removed"

// Options are the options of Remove. A nil field means the value of config:agent/records.
type Options struct {
	OlderThan *time.Duration // since the last event of a tree
	Keep      *int           // the newest trees that stay, whatever their age
	DryRun    bool
}

// Tree is a thread or run with all that it started and that continue it.
type Tree struct {
	Root    string    `json:"thread_id"`
	Threads []string  `json:"threads"` // the oldest first
	Updated time.Time `json:"updated"` // the last event of any of them
	Reason  string    `json:"reason,omitempty"`
}

// Report states what Remove removed, or would, and why the rest stays.
type Report struct {
	Removed []Tree        `json:"removed"`
	Kept    []Tree        `json:"kept"`
	Copies  []copies.Copy `json:"copies"`
	DryRun  bool          `json:"dry_run"`
}

// Remove removes the logs of threads and runs that have completed, with the whole
// tree or not at all. A tree stays if any of it runs, is suspended, can be resumed, is
// damaged, or is young. The store keeps what the threads cost.
//
// Trees that rest are kept, because they can be resumed. The registry keeps the accounts.
func Remove(ctx context.Context, p *project.Project, o Options) (*Report, error) {
	if err := retention(ctx, p, &o); err != nil {
		return nil, err
	}
	base := atomicfile.Project(p.Spaces.ProjectDir).Mode(0o700)
	if !o.DryRun {
		if err := base.RemoveAll(removedDir); err != nil {
			return nil, err
		}
	}
	// A thread whose process was stopped is settled by its log: what it reserved is free.
	registered, err := control.List(ctx, p, false)
	if err != nil {
		return nil, err
	}
	known := map[string]*control.Entry{}
	for i := range registered {
		known[registered[i].ID] = &registered[i]
	}
	logs, err := copies.Logs(ctx, p, known)
	if err != nil {
		return nil, err
	}
	out := &Report{Removed: []Tree{}, Kept: []Tree{}, DryRun: o.DryRun}
	if out.Copies, err = copies.All(ctx, p, logs); err != nil {
		return nil, err
	}
	if !o.DryRun {
		if err := copies.DropOld(ctx, p, out.Copies); err != nil {
			return nil, err
		}
	}
	trees := treesOf(logs, out.Copies)
	for i, t := range trees {
		switch {
		case t.Reason != "":
		case i < *o.Keep:
			t.Reason = fmt.Sprintf("one of the %d newest", *o.Keep)
		case p.Env.Now().Sub(t.Updated) < *o.OlderThan:
			t.Reason = "younger than " + ageText(*o.OlderThan)
		default:
			if t.Reason, err = damage(ctx, p, t.Threads); err != nil {
				return nil, err
			}
		}
		if t.Reason != "" {
			out.Kept = append(out.Kept, t)
			continue
		}
		out.Removed = append(out.Removed, t)
	}
	if o.DryRun {
		return out, nil
	}
	return out, removeTrees(p, base, out.Removed)
}

// removeTrees moves each directory away as a whole, and removes them then. The first
// thread of a chain goes before the next: one whose next is missing could be resumed.
func removeTrees(p *project.Project, base atomicfile.Base, trees []Tree) error {
	for _, t := range trees {
		for _, id := range t.Threads {
			err := base.Rename(transcript.Dir+"/"+id, removedDir+"/"+id)
			if err != nil {
				return err
			}
		}
		err := records.Remove(p, item.Ref{Kind: item.Knowledge, ID: threadhost.ThreadRecords + "/" + t.Root})
		if err != nil {
			return err
		}
	}
	if err := base.RemoveAll(removedDir); err != nil {
		return err
	}
	return heads.Prune(
		heads.Dir(p.Dirs.State),
		p.Env.Now().Add(-headsAge),
		func(project, id string) bool {
			_, err := os.Lstat(transcript.Base(project, id).Path("."))
			return !errors.Is(err, fs.ErrNotExist)
		},
	)
}

// headsAge is how long the newest state of a log is known after its last line if the log was removed: it cannot be put
// back and continued.
const headsAge = 400 * 24 * time.Hour

// retention fills in what the configuration states.
func retention(ctx context.Context, p *project.Project, o *Options) error {
	s, err := p.Resolver.Config(ctx, records.Config)
	if err != nil {
		return err
	}
	r := tree.NewReader(&tree.Doc{Root: s.Root}, diag.ConfigError)
	section := r.Map("threads")
	days := int(section.Int("older_than_days", 30, 0, 36_500))
	keep := int(section.Int("keep", 0, 0, 1_000_000))
	err = diag.FromFindings("reading config:"+records.Config, r.Findings())
	if err != nil {
		return err
	}
	age := time.Duration(days) * 24 * time.Hour
	o.OlderThan, o.Keep = cmp.Or(o.OlderThan, &age), cmp.Or(o.Keep, &keep)
	return nil
}

// damage returns why the logs of a tree are evidence that stays, "" if they are intact.
func damage(ctx context.Context, p *project.Project, ids []string) (string, error) {
	for _, id := range ids {
		rep, err := control.Verify(ctx, p, id)
		if err != nil {
			return "", err
		}
		if rep.Err() != nil {
			return id + " is damaged", nil
		}
	}
	return "", nil
}

// treesOf returns the trees of logs, the one with the newest event first. Reason is why a
// tree cannot be removed at any age: its working copy could not be applied any more.
func treesOf(logs []copies.LoggedThread, old []copies.Copy) []Tree {
	trees := map[string]*Tree{}
	top := topOf(logs)
	exists := map[string]bool{}
	for _, c := range old {
		exists[c.ID] = !c.Dropped
	}
	for _, l := range logs {
		t := trees[top(l.ID)]
		if t == nil {
			t = &Tree{Root: l.ID}
			trees[top(l.ID)] = t
		}
		t.Threads = append(t.Threads, l.ID)
		t.Reason = cmp.Or(t.Reason, l.Reason)
		if exists[l.Copy] {
			t.Reason = cmp.Or(t.Reason, "its working copy "+l.Copy+" exists")
		}
		if l.Updated.After(t.Updated) {
			t.Updated = l.Updated
		}
	}
	out := make([]Tree, 0, len(trees))
	for _, t := range trees {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Tree) int {
		return cmp.Or(
			b.Updated.Compare(a.Updated),
			cmp.Compare(a.Root, b.Root),
		)
	})
	return out
}

// topOf returns a function that is equal for the threads of one tree.
func topOf(logs []copies.LoggedThread) func(id string) string {
	above := map[string]string{}
	top := func(id string) string {
		for above[id] != "" {
			id = above[id]
		}
		return id
	}
	for _, l := range logs {
		for _, other := range l.Near {
			a := top(l.ID)
			b := top(other)
			if other != "" && a != b {
				above[a] = b
			}
		}
	}
	return top
}

// ageText returns a length in days, as users write it, if it is a number of them.
func ageText(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}

// Failed returns an error if working copies are kept because they could not be removed.
func (r *Report) Failed() error {
	var failed []error
	for _, c := range r.Copies {
		if c.Failed != nil {
			failed = append(failed, c.Failed)
		}
	}
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return diag.New(diag.FileSystemError, "1 working copy was not removed: %w", failed[0])
	}
	return diag.New(diag.FileSystemError, "%d working copies were not removed, the first one: %w", len(failed), failed[0])
}
