package project

import (
	"path/filepath"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/account"
	"github.com/ryeos/rye/internal/links"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads"
)

// InAccount returns the project itself, or for a caller outside of projects one with the logs
// of the account: it has the items of the user and the system, and its tools see the
// current directory, read-only.
func InAccount(p *Project) (*Project, error) {
	if p.SeenDir != nil || p.Spaces.ProjectDir != "" && space.IsProject(p.Spaces.ProjectDir) {
		return p, nil
	}
	dir := p.Dirs.Account()
	if dir == "" {
		return nil, diag.New(diag.FileSystemError, "starting a thread: this directory is not in a project, and the environment names no state directory for its log").WithReason("no_state_directory")
	}
	own := *p
	own.Spaces = ofAccount(p.Spaces, dir)
	own.SeenDir = seenIn(p, p.Env.Base)
	own.Keys = p.Keys.RecordedBy(own.recordDocuments) // with the directory of the account
	return WithReadOnly(&own, true), nil
}

// ofAccount returns the spaces without the project space.
func ofAccount(s *space.Spaces, dir string) *space.Spaces {
	out := *s
	out.ProjectDir = dir
	out.Roots = slices.DeleteFunc(slices.Clone(s.Roots), func(r *space.Root) bool {
		return r.Space == space.Project
	})
	return &out
}

// seenIn returns the directory that tools see in place of a directory.
func seenIn(p *Project, dir string) *account.Seen {
	var private []string
	for _, d := range p.PrivateDirs(links.Seen{}) {
		if !d.Readable {
			private = append(private, d.Path)
		}
	}
	s := account.See(account.Params{
		Dir:     dir,
		Home:    p.Env.Home(),
		Private: private,
		Sudo:    p.Env.sudoUser(),
	})
	return &s
}

// WithReadOnly returns the project with tools that change no file, or that do.
func WithReadOnly(p *Project, readOnly bool) *Project {
	own := *p
	own.ReadOnly = readOnly
	own.Executor = own.NewExecutor()
	own.Verbs = own.NewVerbs()
	return &own
}

// WithSeenDir returns the project with tools that see the same directory as the tools of a thread.
func WithSeenDir(p *Project, w threads.WorkingCopy) (*Project, error) {
	switch {
	case w.Dir != "" && p.SeenDir == nil:
		return nil, diag.New(diag.ThreadState, "opening the directory of the thread: it works outside of projects, in %s", w.Dir)
	case w.Dir != "":
		own := *p
		own.SeenDir = seenIn(p, w.Dir)
		return WithReadOnly(&own, w.Mode != threads.Here || own.SeenDir.Empty), nil
	case w.Mode == threads.Read:
		return WithReadOnly(p, true), nil
	}
	return p, nil
}

// ReadOnlyError returns the error of what a thread that only reads may not do.
func ReadOnlyError(doing string) *diag.Error {
	return diag.New(diag.PolicyDenied, "%s: the tools of this thread read files and change none", doing).WithReason("read_only")
}

// seenBoundary returns the boundary of tools that see a directory outside of projects.
func (p *Project) seenBoundary(b *policy.Boundary) *policy.Boundary {
	b.Project = RealPath(p.ToolDir(), links.Seen{})
	b.Copy = b.Copy || p.SeenDir.Empty // it is below a private directory
	return b
}

// emptyDir is the path of the directory that tools see in place of one that is not for them.
func (p *Project) emptyDir() string {
	return filepath.Join(p.Dirs.Account(), account.Empty)
}

// PrepareAccount makes the directories of a thread that starts outside of projects.
func (p *Project) PrepareAccount() error {
	if p.SeenDir == nil {
		return nil
	}
	if err := account.Make(p.Spaces.ProjectDir); err != nil {
		return err
	}
	if !p.SeenDir.Empty {
		return nil
	}
	_, err := account.EmptyDir(p.Spaces.ProjectDir)
	return err
}

// ToolDir returns the directory in which the tools of the project work.
func (p *Project) ToolDir() string {
	switch {
	case p.Copied != nil:
		return p.Copied.Dir()
	case p.SeenDir != nil && p.SeenDir.Empty:
		return p.emptyDir()
	case p.SeenDir != nil:
		return p.SeenDir.Dir
	}
	return p.Spaces.ProjectDir
}

// refuseItems returns the error of the verbs that write items, nil if they may: the verbs of a
// working copy would write into the project.
func (p *Project) refuseItems() error {
	if p.ReadOnly {
		return ReadOnlyError("writing an item")
	}
	if p.Copied == nil {
		return nil
	}
	return diag.New(diag.PolicyDenied, "this thread works in a copy of the project, and the verb writes into the project; apply the copy first").WithReason("working_copy")
}
