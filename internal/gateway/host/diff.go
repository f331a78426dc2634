package host

import (
	"context"
	"strings"

	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/copies"
)

// Diff is what a thread changed in its working copy.
type Diff struct {
	Thread string       `json:"thread_id"`
	Files  []FileChange `json:"files"`
}

// FileChange is a file that a thread changed.
type FileChange struct {
	Path     string `json:"path"`
	Change   string `json:"change"`
	Link     string `json:"link,omitempty" doc:"the target of a new link"`
	Withheld string `json:"withheld,omitempty" doc:"why rye threads apply writes it only if it is named"`
	Diff     string `json:"diff" doc:"in the unified format; empty for what is not text"`
	Cut      bool   `json:"cut,omitempty" doc:"the difference is longer"`

	Added   int `json:"-"`
	Removed int `json:"-"`
}

// Limits of a difference.
const (
	maxDiff      = 64 << 10
	maxDiffFiles = 500
)

// Diff returns the changes of a thread with a working copy of its own.
func (v *View) Diff(ctx context.Context, id string) (*Diff, error) {
	p, err := v.toRead(ctx, id)
	if err != nil {
		return nil, err
	}
	d, err := copies.DiffOf(ctx, p, endOfChain(p, id), false)
	if err != nil {
		return nil, err
	}
	out := &Diff{Thread: id, Files: []FileChange{}}
	for i, c := range d.Changes {
		if i == maxDiffFiles {
			break
		}
		f := FileChange{
			Path:     c.Path,
			Change:   c.Kind,
			Link:     c.Link,
			Withheld: c.Why,
		}
		f.take(d.Diffs[i])
		out.Files = append(out.Files, f)
	}
	return out, nil
}

// take sets the difference, cut after a whole line, and counts its lines.
func (f *FileChange) take(text string) {
	for line := range strings.Lines(text) {
		switch {
		// The names of the file begin like lines of it.
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		case strings.HasPrefix(line, "+"):
			f.Added++
		case strings.HasPrefix(line, "-"):
			f.Removed++
		}
		if f.Cut || len(f.Diff)+len(line) > maxDiff {
			f.Cut = true
			continue
		}
		f.Diff += line
	}
}

// HasCopy reports whether a thread works in a copy of its own.
func (v *View) HasCopy(ctx context.Context, id string) bool {
	p, err := v.toRead(ctx, id)
	if err != nil {
		return false
	}
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, endOfChain(p, id))
	// A run of a graph has no log of a thread.
	if err != nil {
		return false
	}
	return s.Workspace.Mode == "copy" || s.Workspace.Mode == "worktree"
}
