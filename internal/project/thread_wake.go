package project

import (
	"context"
	"os"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/threads/transcript"
)

// DueThread is a suspended thread, or run of a graph, that waits for a time.
type DueThread struct {
	ID     string    `json:"thread_id"`
	WakeAt time.Time `json:"wake_at"`
	PID    int       `json:"pid,omitempty"` // of the process that continues it
}

// WaitingThreads returns the threads and runs of the project that wait for a time. A run that
// another one called is continued by that one.
func (p *Project) WaitingThreads(ctx context.Context) ([]DueThread, error) {
	ids, err := graph.IDs(p.Spaces.ProjectDir)
	if err != nil {
		return nil, err
	}
	out := []DueThread{}
	for _, id := range ids {
		s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
		if err != nil || s.State != graph.StateSuspended || s.Parent != "" {
			continue // rye threads verify names the fault of a log
		}
		if at, err := time.Parse(time.RFC3339, s.WakeAt); err == nil {
			out = append(out, DueThread{ID: id, WakeAt: at})
		}
	}
	return out, nil
}

// WakeThread continues a suspended thread or run in a process of its own, which outlives
// this one and its session. What the process prints is in stderr.log of the thread. It
// returns when that process has the log.
func (p *Project) WakeThread(ctx context.Context, d *DueThread) error {
	out, err := transcript.Base(p.Spaces.ProjectDir, d.ID).OpenFile(stderrFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return diag.Doing("waking "+d.ID, err)
	}
	defer out.Close()
	process, wait, err := proc.Detach(proc.Detached{Path: p.Env.Self, Args: []string{"threads", "resume", d.ID}, Dir: p.Spaces.ProjectDir, Env: p.Env.Environ(), Output: out})
	if err != nil {
		return diag.New(diag.ExecutionFailed, "waking %s: %w", d.ID, err)
	}
	d.PID = process.Pid
	ended := make(chan struct{})
	go func() {
		_, _ = wait()
		close(ended)
	}()
	within, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		s, err := graph.Status(ctx, p.Spaces.ProjectDir, d.ID)
		if err == nil && (s.State != graph.StateSuspended || s.WakeAt != d.WakeAt.UTC().Format(time.RFC3339)) {
			return nil
		}
		select {
		case <-within.Done():
			return diag.New(diag.Timeout, "waking %s: process %d has not continued it after %s", d.ID, d.PID, startWait)
		case <-ended:
			if s, err := graph.Status(ctx, p.Spaces.ProjectDir, d.ID); err == nil && s.State != graph.StateSuspended {
				return nil
			}
			return diag.New(diag.ExecutionFailed, "waking %s: its process ended; %s of the thread has what it printed", d.ID, stderrFile)
		case <-time.After(startPause):
		}
	}
}
