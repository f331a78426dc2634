package control

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/transcript"
)

// Due is a suspended thread, or run of a graph, that waits for a time.
type Due struct {
	ID     string    `json:"thread_id"`
	WakeAt time.Time `json:"wake_at"`
	PID    int       `json:"pid,omitempty"` // of the process that continues it
}

// AllDue returns the threads and runs of the project that wait for a time. The caller of a
// called run continues it.
func AllDue(ctx context.Context, p *project.Project) ([]Due, error) {
	ids, err := graph.IDs(p.Spaces.ProjectDir)
	if err != nil {
		return nil, err
	}
	out := []Due{}
	for _, id := range ids {
		s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
		if err != nil || s.State != graph.StateSuspended || s.Parent != "" {
			continue // rye threads verify names the fault of a log
		}
		at, err := time.Parse(time.RFC3339, s.WakeAt)
		if err == nil {
			out = append(out, Due{ID: id, WakeAt: at})
		}
	}
	return out, nil
}

// Wake continues a suspended thread or run in a process of its own, which outlives
// this one and its session. What the process prints is in stderr.log of the thread. It
// returns when that process has the log.
func Wake(ctx context.Context, p *project.Project, d *Due) error {
	var err error
	d.PID, err = ContinueDetached(
		ctx, p,
		d.ID,
		[]string{"threads", "resume", d.ID},
		nil,
		StartWait,
		func() bool {
			s, err := graph.Status(ctx, p.Spaces.ProjectDir, d.ID)
			return err == nil &&
				(s.State != graph.StateSuspended || s.WakeAt != d.WakeAt.UTC().Format(time.RFC3339))
		},
	)
	return err
}

// ContinueDetached starts a process that continues a thread or run, and outlives this one and its
// session: args and input are what it reads. It returns the process when begun reports that
// it has the log.
func ContinueDetached(
	ctx context.Context,
	p *project.Project,
	id string,
	args []string,
	input []byte,
	limit time.Duration,
	begun func() bool,
) (pid int, err error) {
	out, err := transcript.Base(p.Spaces.ProjectDir, id).OpenFile(
		stderrFile,
		os.O_CREATE|os.O_WRONLY|os.O_APPEND,
		0o600,
	)
	if err != nil {
		return 0, diag.Doing("continuing "+id, err)
	}
	defer out.Close()
	from, _ := out.Seek(0, io.SeekEnd)
	process, wait, err := proc.Detach(proc.Detached{
		Path:   p.Env.Self,
		Args:   args,
		Dir:    p.Spaces.ProjectDir,
		Env:    p.Env.Environ(),
		Input:  input,
		Output: out,
	})
	if err != nil {
		return 0, diag.New(diag.ExecutionFailed, "continuing %s: %w", id, err)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = wait()
		close(ended)
	}()
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !begun() {
		select {
		case <-within.Done():
			return process.Pid, diag.New(diag.Timeout, "continuing %s: process %d has not begun after %s", id, process.Pid, limit)
		case <-ended:
			if begun() {
				return process.Pid, nil
			}
			return process.Pid, printed(p, id, from)
		case <-time.After(startPause):
		}
	}
	return process.Pid, nil
}

// printed returns the error that the process of a thread printed after an offset of
// stderr.log.
func printed(p *project.Project, id string, from int64) error {
	b, _, err := openat.Read(
		p.Spaces.ProjectDir,
		transcript.Dir+"/"+id+"/"+stderrFile,
		maxStderrFile,
	)
	if err != nil || from > int64(len(b)) {
		return diag.New(diag.ExecutionFailed, "continuing %s: its process ended", id)
	}
	if err := failureIn(b[from:]); err != nil {
		return err
	}
	return diag.New(diag.ExecutionFailed, "continuing %s: its process ended; %s of the thread has what it printed", id, stderrFile)
}
