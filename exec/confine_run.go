package exec

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/commitindex"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// Sandbox is the isolation of a run, as results contain it.
type Sandbox struct {
	Rung        string               `json:"rung"`
	Layers      []string             `json:"layers"`
	Missing     []string             `json:"missing"`
	Profile     *policy.Profile      `json:"profile,omitempty"`
	Notes       []string             `json:"notes,omitempty"`
	Connections []sandbox.Connection `json:"connections,omitempty"`
	More        int                  `json:"connections_omitted,omitempty"`
	// Denied are accesses that the sandbox refused as far as the proxy and the messages of
	// the program show, as keys of a profile: fs.write: {project}.
	Denied []string `json:"denied,omitempty"`
}

// Values of Sandbox.Rung in addition to the rungs of the ladder.
const (
	RungApplet = "applet" // a body of rye: its own code enforces the boundary of the project
	RungNone   = "none"   // risk T4, or named by the allowance where no rung suffices
)

// ladder returns the rungs that this system can enforce.
func (e *Executor) ladder() sandbox.Ladder {
	if e.p.Ladder != nil {
		return e.p.Ladder()
	}
	return probed()
}

var probed = sync.OnceValue(sandbox.Probe)

// confined changes cmd so that it starts in the sandbox of the plan. It returns the
// isolation that applies. finish completes the run: it returns why the run failed if
// that was the sandbox.
func (e *Executor) confined(
	ctx context.Context,
	c *Confinement,
	cmd *proc.Cmd,
) (applied *Sandbox, finish func(*proc.Result) error, err error) {
	if c.Applet || c.Unconfined {
		s := &Sandbox{
			Rung:    RungNone,
			Layers:  []string{},
			Missing: e.layers(),
			Notes:   c.Notes,
		}
		if c.Applet {
			s.Rung = RungApplet
			s.Layers = []string{"applet"}
		}
		return s, func(*proc.Result) error { return nil }, nil
	}
	g := e.grant(c)
	e.makeRecords(g)
	index, err := e.index(&g, c, cmd)
	if err != nil {
		return nil, nil, err
	}
	var proxy *sandbox.Proxy
	if c.Profile.Net == policy.NetHosts {
		g.Listen = func(l net.Listener) {
			proxy = sandbox.StartProxy(ctx, l, sandbox.ProxyParams{Hosts: c.Profile.Hosts})
		}
		cmd.Env = proc.Merge(cmd.Env, sandbox.ProxyEnv(sandbox.ProxyAddr, c.Profile.Hosts))
	}
	if !g.contains(real(cmd.Dir)) {
		cmd.Dir = "/"
	}
	report, end, err := sandbox.Wrap(cmd, g.Grant, e.ladder())
	if err != nil {
		_ = index.Close(context.WithoutCancel(ctx), nil)
		return nil, nil, err
	}
	shown := c.Shown()
	applied = &Sandbox{
		Rung:    string(report.Rung),
		Layers:  orEmpty(report.Layers),
		Missing: orEmpty(report.Missing),
		Profile: &shown,
		Notes:   slices.Concat(c.Notes, report.Notes),
	}
	return applied, func(res *proc.Result) error {
		err := end(res)
		follow := index.Close(context.WithoutCancel(ctx), e.p.Environ)
		if follow != nil {
			applied.Notes = append(applied.Notes, "the index of git did not follow the commit of the program; `git reset` does it: "+follow.Error())
		}
		if proxy != nil {
			made := proxy.Close()
			applied.Connections = made.List
			applied.More = made.More
		}
		return err
	}, nil
}

// index gives a program that may commit an index of its own.
func (e *Executor) index(
	g *grant,
	c *Confinement,
	cmd *proc.Cmd,
) (*commitindex.Index, error) {
	if g.Repositories != sandbox.CommitRepositories || g.Project == "" {
		return nil, nil
	}
	x, err := commitindex.New(g.Project)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "preparing the sandbox: copying the index of git: %w", err)
	}
	if x != nil {
		g.Write = append(slices.Clip(g.Write), x.Dir())
		cmd.Env = proc.Merge(cmd.Env, x.Environ())
	}
	return x, nil
}

// repositories returns the parts of repositories that a program may change. A working copy of
// a thread has a repository of its own: nothing of it reaches the project without a person.
func (e *Executor) repositories(c *Confinement) sandbox.Repositories {
	switch {
	case e.p.Boundary.Copy && !e.p.Boundary.ReadOnly:
		return sandbox.CloneRepositories
	case c.Profile.Git == policy.GitCommit && !e.p.Boundary.ReadOnly:
		return sandbox.CommitRepositories
	}
	return sandbox.ReadRepositories
}

// layers returns the names of all layers of isolation.
func (e *Executor) layers() []string {
	out := []string{}
	for _, l := range e.ladder().Layers {
		out = append(out, l.Name)
	}
	return out
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// grant is a sandbox.Grant of this package.
type grant struct{ sandbox.Grant }

// grant returns the permissions of the sandbox of a plan on this machine.
func (e *Executor) grant(c *Confinement) grant {
	granted := c.grants
	g := sandbox.Grant{
		Self:         e.p.Self,
		Starter:      e.p.Starter,
		Listings:     e.p.Listings,
		Git:          e.p.Git,
		Repositories: e.repositories(c),
		Project:      granted.project,
		Read:         granted.read,
		Write:        granted.write,
		Sockets:      granted.sockets,
		OwnSockets:   granted.private,
		Fixed:        granted.fixed,
		Hidden:       granted.hidden,
		Tmp:          granted.tmp,
		Cache:        granted.cache,
		Home:         granted.home,
		Net:          c.Profile.Net,
		Limits:       c.Profile.Limits,
		Quarantine:   filepath.Join(cmp.Or(e.p.Cache, granted.project), "quarantine"),
		Protected:    policy.ProtectedExcept(c.removed),
	}
	if !granted.execAny {
		programs := orEmpty(granted.exec)
		g.Exec = &programs
	}
	// A home directory in the project is not replaced by an empty one. The cache has
	// one, so that nothing writes into the project.
	if g.Cache != "" && (grant{g}).contains(granted.home) {
		g.Home = filepath.Join(g.Cache, "home")
	}
	// Programs name the project as the caller spelled it, which may be by a link.
	dir := e.p.Dir
	if dir != "" &&
		dir != real(dir) &&
		(grant{g}).contains(real(dir)) {
		g.Read = append(slices.Clone(g.Read), dir)
	}
	return grant{g}
}

// makeRecords makes the directory for the logs of runs if a program could write it, and the one
// for copies of files that rye creates meanwhile. An error is not one of this run: the run that
// has a log reports it.
func (e *Executor) makeRecords(g grant) {
	if e.p.Project == "" ||
		e.p.Records == "" ||
		!slices.ContainsFunc(g.Write, func(at string) bool { return within(real(e.p.Project), at) }) {
		return
	}
	for _, dir := range []string{filepath.ToSlash(e.p.Records), atomicfile.Created} {
		_, err := os.Lstat(filepath.Join(e.p.Project, filepath.FromSlash(dir)))
		if errors.Is(err, fs.ErrNotExist) {
			_ = atomicfile.Project(e.p.Project).MkdirAll(dir)
		}
	}
}

// contains reports whether a program with the grant can read a directory.
func (g grant) contains(dir string) bool {
	return slices.ContainsFunc(
		slices.Concat(g.Read, g.Write, g.Fixed, systemDirs()),
		func(at string) bool { return within(dir, at) },
	)
}

// sandboxFailure reports whether an error of the sandbox means that the program was
// not started.
func sandboxFailure(err error) bool {
	switch diag.CodeOf(err) {
	case diag.ResourceExceeded, diag.PolicyDenied:
		return false
	}
	return err != nil
}
