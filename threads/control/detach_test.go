//go:build unix

package control

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads/transcript"
)

// A run that never begins leaves no directory, whichever way its start ends.
func TestUnstartedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := &project.Project{
		Env:    &project.Env{Self: "/bin/sh", Environ: os.Environ},
		Spaces: &space.Spaces{ProjectDir: dir, Roots: []*space.Root{space.NewDir(space.Project, "", dir, false)}},
	}
	given, end := context.WithCancel(t.Context())
	end()
	// exec: the process that is ended is the one that keeps the log open.
	_, err := Detach(given, p, "gone-1", nil, []string{"-c", "exec sleep 600"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the start that was given up: %v", err)
	}
	_, err = Detach(t.Context(), p, "ended-1", nil, []string{"-c", "echo broken >&2"})
	if diag.CodeOf(err) != diag.ExecutionFailed {
		t.Errorf("the process that ended: %v", err)
	}
	for _, id := range []string{"gone-1", "ended-1"} {
		if _, err := os.Lstat(transcript.Base(dir, id).Path("")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the directory of %s: %v", id, err)
		}
	}
}
