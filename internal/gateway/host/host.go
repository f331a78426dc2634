// Package host is what the gateway does with projects: it lists, reads, starts, answers and ends threads
// by the functions that commands of a terminal use.
//
// It keeps no state of threads and decides no permission. Who may call what is decided before.
package host

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/transcript"
)

// freshFor is how long an opened project is used to read: trust documents and locks are read again after
// it. What starts or continues a thread opens the project again.
const freshFor = time.Second

// Host has the projects that a gateway serves.
type Host struct {
	env  *project.Env
	dirs []string

	mu   sync.Mutex
	open map[string]*opened
}

// opened is a project that was opened to read.
type opened struct {
	once sync.Mutex
	p    *project.Project
	at   time.Time
}

// New returns a host of projects, by their absolute directories. env.Self is the program that starts
// threads.
func New(env *project.Env, dirs []string) *Host {
	return &Host{
		env:  env,
		dirs: dirs,
		open: map[string]*opened{},
	}
}

// Projects returns the directories of the projects.
func (h *Host) Projects() []string {
	return slices.Clone(h.dirs)
}

// StoreDir returns the directory of the registry of threads, which changes with each of them.
func (h *Host) StoreDir() string {
	return store.Dir(h.env.UserDirs().State)
}

// Ready returns an error if a project cannot be read.
func (h *Host) Ready(ctx context.Context) error {
	for _, dir := range h.dirs {
		if _, err := h.reading(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// reading returns a project to read.
func (h *Host) reading(ctx context.Context, dir string) (*project.Project, error) {
	h.mu.Lock()
	o := h.open[dir]
	if o == nil {
		o = &opened{}
		h.open[dir] = o
	}
	h.mu.Unlock()
	// Several requests at once wait for one opening.
	o.once.Lock()
	defer o.once.Unlock()
	if o.p != nil && time.Since(o.at) < freshFor {
		return o.p, nil
	}
	p, err := h.env.In(dir).Open(ctx, project.Lenient)
	if err != nil {
		return nil, err
	}
	o.p = p
	o.at = time.Now()
	return p, nil
}

// acting opens a project to start or continue threads in it.
func (h *Host) acting(ctx context.Context, dir string) (*project.Project, error) {
	return h.env.In(dir).Open(ctx, project.Strict)
}

// Caller is who uses the projects.
type Caller struct {
	Projects []string    // of the host that the caller may see
	By       string      // as logs name the caller
	Held     policy.Held // what threads of the caller may do
}

// View is the host for one caller.
type View struct {
	h *Host
	c Caller
}

// For returns the host for a caller.
func (h *Host) For(c Caller) *View {
	return &View{h: h, c: c}
}

// dirs returns the projects that the caller sees.
func (v *View) dirs() []string {
	var out []string
	for _, dir := range v.h.dirs {
		if slices.Contains(v.c.Projects, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// Where returns the project of a thread, by its whole id. A thread of a project that the caller does not
// see does not exist for the caller.
func (v *View) Where(id string) (dir string, err error) {
	if graph.IsID(id) {
		for _, dir := range v.dirs() {
			_, err := transcript.Base(dir, id).Stat(transcript.File)
			if err == nil {
				return dir, nil
			}
		}
	}
	return "", diag.New(diag.ThreadNotFound, "finding the thread: there is none with this id").
		WithReason("no_thread").
		WithDetail("id", id)
}

// toRead returns a thread with its project, to read.
func (v *View) toRead(ctx context.Context, id string) (*project.Project, error) {
	dir, err := v.Where(id)
	if err != nil {
		return nil, err
	}
	return v.h.reading(ctx, dir)
}

// toAct returns a thread with its project, to change it.
func (v *View) toAct(ctx context.Context, id string) (*project.Project, error) {
	dir, err := v.Where(id)
	if err != nil {
		return nil, err
	}
	return v.h.acting(ctx, dir)
}
