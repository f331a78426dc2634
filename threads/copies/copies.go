package copies

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/links"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/workcopy"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/store"
)

// copiesDir returns the directory of the working copies of the user's threads.
func copiesDir(p *project.Project) (string, error) {
	if p.Dirs.State == "" {
		return "", diag.New(diag.FileSystemError, "finding working copies: the environment names no state directory that is the user's own").WithReason("no_state_directory")
	}
	return filepath.Join(store.Dir(p.Dirs.State), "copies"), nil
}

// WorkingCopy returns where the tools of the project's threads work.
func WorkingCopy(p *project.Project) threads.WorkingCopy {
	w := threads.WorkingCopy{Mode: threads.Here}
	switch {
	case p.Copied != nil && p.Copied.All:
		w.Mode = threads.FullCopy
		w.Copy = p.Copied.ID
	case p.Copied != nil:
		w.Mode = threads.Worktree
		w.Copy = p.Copied.ID
	}
	if p.ReadOnly {
		w.Mode = threads.Read
	}
	if p.SeenDir != nil {
		w.Dir = p.SeenDir.Dir
		w.Empty = p.SeenDir.Empty
	}
	return w
}

// inCopy returns the project with tools that work in a copy of it. Its items, lock, trust and
// settings stay the project's.
func inCopy(p *project.Project, c *workcopy.Copy) *project.Project {
	own := *p
	own.Copied = c
	own.Executor = own.NewExecutor()
	own.Verbs = own.NewVerbs()
	return &own
}

// Wish states where the tools of a thread shall work.
type Wish struct {
	Ref       item.Ref
	Workspace string               // here, read, worktree or copy; "" is where the caller works
	Carry     bool                 // a worktree begins with the uncommitted changes
	Copy      string               // the id of the working copy that was made for the thread
	Sees      *threads.WorkingCopy // the directory that an earlier process selected
	Child     bool                 // a thread of this process starts it
	Plan      bool                 // nothing is started
	// Permit asks the person whether tools may write in a directory that is not a project; nil
	// if no person is present.
	Permit func(ctx context.Context, question string) (bool, error)
}

// WorksIn returns the project with tools that work where a wish states. id is the thread.
func WorksIn(ctx context.Context, p *project.Project, w Wish, id string) (*project.Project, error) {
	if w.Copy != "" {
		c, err := openCopy(p, w.Copy)
		if err != nil {
			return nil, err
		}
		p = inCopy(p, c)
	}
	if w.Sees != nil {
		return project.WithSeenDir(p, *w.Sees)
	}
	switch {
	case w.Copy != "":
		return p, nil
	case w.Carry && w.Workspace != threads.Worktree:
		return nil, carryError()
	case w.Workspace == threads.Read:
		return project.WithReadOnly(p, true), nil
	case p.SeenDir != nil && !w.Child && w.Workspace == threads.Here:
		return hereOutside(ctx, p, w)
	case p.ReadOnly && p.SeenDir != nil && !w.Child && w.Workspace != "":
		return nil, diag.New(diag.Usage, "starting %s: --workspace %s needs a project", w.Ref, w.Workspace).WithReason("copy_outside")
	case p.ReadOnly && w.Workspace != "":
		return nil, project.ReadOnlyError("starting " + w.Ref.String())
	case w.Workspace == "" || w.Workspace == threads.Here && p.Copied == nil:
		return p, nil
	case w.Workspace == "overlay":
		return nil, diag.New(diag.Usage, "starting %s: rye has no overlay, because a directory can be the upper one of a single mount, and each tool and child has mounts of its own; --workspace copy gives the thread all files of the project too", w.Ref)
	case w.Workspace != threads.Worktree && w.Workspace != threads.FullCopy:
		return nil, diag.New(diag.Usage, "starting %s: %q is not a working copy; it must be here, read, worktree or copy", w.Ref, w.Workspace)
	}
	params, err := copyParams(ctx, p, w, id)
	if err != nil {
		return nil, err
	}
	c, err := workcopy.Create(ctx, *params)
	if err != nil {
		return nil, err
	}
	return inCopy(p, c), nil
}

func carryError() error {
	return diag.New(diag.Usage, "reading the command line: --carry applies to --workspace worktree only")
}

// copyParams returns how the working copy of a new thread is made.
func copyParams(ctx context.Context, p *project.Project, w Wish, id string) (*workcopy.Params, error) {
	dir, err := copiesDir(p)
	if err != nil {
		return nil, err
	}
	out := &workcopy.Params{
		Dir:     dir,
		ID:      id,
		Project: project.RealPath(p.Spaces.ProjectDir, links.Seen{}),
		Environ: p.Env.Environ(),
		Carry:   w.Carry,
		From:    p.Copied,
		Now:     p.Env.Now(),
	}
	if w.Workspace != threads.FullCopy {
		return out, nil
	}
	limits, err := readSettings(ctx, p)
	if err != nil {
		return nil, err
	}
	out.All = &workcopy.All{
		MaxFiles: limits.files,
		MaxBytes: limits.bytes,
		Skip:     staysBehind,
		Skipped: func(rel string) {
			p.Env.Person.Warnf("the working copy has no %s: it is not a file, a directory or a link", rel)
		},
	}
	for _, d := range p.PrivateDirs(links.Seen{}) {
		if !d.Readable {
			out.All.Private = append(out.All.Private, d.Path)
		}
	}
	return out, nil
}

// staysBehind reports whether a file of the project is not for a copy of it: tools do not
// read it, or rye makes it for the project alone.
func staysBehind(rel string) bool {
	row, _, ok := policy.Protected(rel)
	return ok && (row.Secret || row.Path == cacheDir)
}

// cacheDir is the protected path of what rye computed.
const cacheDir = space.Dir + "/cache"

// openCopy opens a working copy of this project.
func openCopy(p *project.Project, id string) (*workcopy.Copy, error) {
	dir, err := copiesDir(p)
	if err != nil {
		return nil, err
	}
	c, err := workcopy.Open(dir, id)
	if err != nil {
		return nil, err
	}
	if c.Project != project.RealPath(p.Spaces.ProjectDir, links.Seen{}) {
		return nil, diag.New(diag.ThreadState, "opening the working copy %s: it is one of the project %s", id, c.Project).
			WithReason("copy_of_other").
			WithDetail("project", c.Project)
	}
	return c, nil
}

// InCopyOf returns the project with tools that work where the tools of a thread did.
// The copy is in graph_started: a run that a person answers later continues in it, and does not
// write into the project.
func InCopyOf(p *project.Project, id string, s *threads.Started) (*project.Project, error) {
	if s.Workspace.Copy != "" {
		c, err := copyOf(p, id, s)
		if err != nil {
			return nil, err
		}
		p = inCopy(p, c)
	}
	return project.WithSeenDir(p, s.Workspace)
}

// copyOf opens the working copy of a thread.
func copyOf(p *project.Project, id string, s *threads.Started) (*workcopy.Copy, error) {
	if s.Workspace.Copy == "" {
		return nil, diag.New(diag.ThreadState, "opening the working copy of %s: it works in the project itself", id).
			WithReason("no_copy").
			WithDetail("id", id)
	}
	c, err := openCopy(p, s.Workspace.Copy)
	return c, noCopy(err, id)
}

// WhereRan returns the project with tools that work where the tools of a run did, which a call
// continues or forks. A caller that works in a copy continues no run outside of it.
func WhereRan(ctx context.Context, p *project.Project, run string) (*project.Project, error) {
	if run == "" {
		return p, nil
	}
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, run)
	switch {
	case err != nil:
		return nil, err
	case s.Copy == WorkingCopy(p).Copy:
		return p, nil
	case p.Copied != nil:
		return nil, diag.New(diag.ThreadState, "continuing %s: it does not work in the working copy of this thread", run)
	}
	c, err := openCopy(p, s.Copy)
	if err != nil {
		return nil, noCopy(err, run)
	}
	return inCopy(p, c), nil
}

// noCopy returns the error of a thread or run whose working copy cannot be opened.
func noCopy(err error, id string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return diag.New(diag.ThreadState, "opening the working copy of %s: it was dropped", id).
			WithReason("no_copy").
			WithDetail("id", id)
	}
	return err
}

// DropUnused removes the working copy that was made for a thread whose log has no line.
func DropUnused(ctx context.Context, p *project.Project, id string) error {
	if p == nil || p.Copied == nil || p.Copied.ID != id {
		return nil
	}
	_, err := threads.ReadStarted(p.Spaces.ProjectDir, id)
	if err == nil {
		return nil
	}
	return p.Copied.Drop(context.WithoutCancel(ctx))
}

// OfThread returns the working copy of a thread. With idle, it is an error if a process
// runs a thread that works in it.
func OfThread(ctx context.Context, p *project.Project, id string, idle bool) (*workcopy.Copy, error) {
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, id)
	if err != nil {
		return nil, err
	}
	c, err := copyOf(p, id, s)
	if err != nil || !idle {
		return c, err
	}
	ids, err := graph.IDs(p.Spaces.ProjectDir)
	if err != nil {
		return nil, err
	}
	for _, other := range ids {
		pid := graph.Owner(ctx, p.Spaces.ProjectDir, other)
		if pid < 0 {
			continue
		}
		s, err := threads.ReadStarted(p.Spaces.ProjectDir, other)
		if err == nil && s.Workspace.Copy == c.ID {
			return nil, diag.New(diag.ThreadState, "using the working copy of %s: the process %d runs %s in it", id, pid, other).
				WithReason("copy_running").
				WithDetail("id", other)
		}
	}
	return c, nil
}

// Drop removes the working copy of a thread, and returns its id. It completes what a
// stopped process began to remove.
func Drop(ctx context.Context, p *project.Project, id string) (string, error) {
	c, err := OfThread(ctx, p, id, true)
	if dir, derr := copiesDir(p); err != nil && derr == nil {
		workcopy.Sweep(dir, p.Env.Now())
	}
	if err != nil {
		return "", err
	}
	return c.ID, c.Drop(ctx)
}

// copyJudge returns a judge that decides which paths of a working copy a person must name.
func copyJudge(ctx context.Context, p *project.Project) (workcopy.Judge, error) {
	removed, err := p.Removed(ctx)
	if err != nil {
		return nil, err
	}
	protected := policy.ProtectedExcept(removed)
	boundary := p.Boundary(p.Spaces.ProjectDir)
	boundary.Removed = removed
	if boundary.Project != "" {
		boundary.Named = p.GitFinder().Project(boundary.Project)
	}
	return func(rel string) string {
		if row, _, ok := protected(rel); ok {
			return "it is a protected path: " + row.Why
		}
		if dir, ok := boundary.Own(rel); ok {
			return "it is in a directory of your own: " + dir.What
		}
		if setting, ok := boundary.NamedBy(rel); ok {
			return "git runs it, or programs that it names: the setting " + setting + " names it"
		}
		if boundary.CheckWrite(rel, rel) != nil {
			return "it is in a git repository: git runs programs that its files name"
		}
		for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
			if dir != space.Dir && boundary.CheckCreate(dir, rel) != nil {
				return "it is in " + dir + ", which would be another project"
			}
		}
		return ""
	}, nil
}

// Diff is what a thread changed in its working copy.
type Diff struct {
	ThreadID string            `json:"thread_id"`
	Copy     string            `json:"copy"`
	Changes  []workcopy.Change `json:"changes"`
	Diffs    []string          `json:"diffs,omitempty"` // of the changes, in their order
}

// DiffOf returns the changes of a thread in its working copy, with stat without the texts.
func DiffOf(ctx context.Context, p *project.Project, id string, stat bool) (*Diff, error) {
	c, err := OfThread(ctx, p, id, false)
	if err != nil {
		return nil, err
	}
	judge, err := copyJudge(ctx, p)
	if err != nil {
		return nil, err
	}
	out := &Diff{ThreadID: id, Copy: c.ID}
	if out.Changes, err = c.Diff(ctx, p.Env.Environ(), judge); err != nil || stat {
		return out, err
	}
	out.Diffs = make([]string, len(out.Changes))
	for i := range out.Changes {
		if out.Diffs[i], err = c.Text(ctx, p.Env.Environ(), &out.Changes[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Apply brings what a thread changed in its working copy to where the caller works. Only
// a person gets protected paths, by naming them.
func Apply(
	ctx context.Context,
	p *project.Project,
	id string,
	paths []string,
	check, person bool,
) (*workcopy.Applied, error) {
	if p.ReadOnly && !check {
		return nil, project.ReadOnlyError("applying the working copy of " + id)
	}
	c, err := OfThread(ctx, p, id, true)
	if err != nil {
		return nil, err
	}
	judge, err := copyJudge(ctx, p)
	if err != nil {
		return nil, err
	}
	if paths, err = copyPaths(p, paths); err != nil {
		return nil, err
	}
	return c.Apply(ctx, workcopy.Options{
		Environ: p.Env.Environ(),
		Judge:   judge,
		Paths:   paths,
		Check:   check,
		Person:  person,
		Into:    p.Copied,
	})
}

// copyPaths returns paths as a caller gives them, relative to the project.
func copyPaths(p *project.Project, given []string) ([]string, error) {
	var out []string
	for _, g := range given {
		rel := g
		if filepath.IsAbs(g) {
			var err error
			if rel, err = filepath.Rel(p.Spaces.ProjectDir, g); err != nil ||
				rel == ".." ||
				strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
				return nil, diag.New(diag.Usage, "reading the path %q: it is not in the project", g)
			}
		}
		out = append(out, rel)
	}
	return out, nil
}
