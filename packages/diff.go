package packages

import (
	"context"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/sign"
)

// Diff is the difference between the locked files of a bundle and another version.
type Diff struct {
	ID    string     `json:"id"`
	From  string     `json:"from"`
	To    string     `json:"to"`
	Files []FileDiff `json:"files"`
}

// FileDiff is the difference of one file without its signature line.
type FileDiff struct {
	Name string  `json:"name"` // kind:id, or the path of a file that is not an item
	Path string  `json:"path"`
	Op   lock.Op `json:"op"`
	Text string  `json:"diff,omitempty"` // unified; "" if a side is not text
}

// Diff compares the locked files of a bundle with a version, by default the newest
// that rye update would select. Nothing is installed, and the other version is not
// verified.
func (e *Engine) Diff(ctx context.Context, name, version string) (*Diff, error) {
	st, err := e.loadLocked()
	if err != nil {
		return nil, err
	}
	id, err := st.lockedID(name)
	if err != nil {
		return nil, err
	}
	b := st.lock.Bundle(id)
	if b == nil || !installs(*b) {
		return nil, diag.New(diag.SourceNotFound, "comparing %s: it is a folder of this machine", id)
	}
	src := source.Memo(e.p.Source)
	old, err := e.lockedSnapshot(ctx, src, *b)
	if err != nil {
		return nil, err
	}
	next, err := e.snapshotOf(ctx, src, st, *b, version)
	if err != nil {
		return nil, err
	}
	out := &Diff{ID: b.ID.String(), From: b.Version, To: next.Origin.Version}
	out.Files, err = e.fileDiffs(ctx, old, next)
	return out, err
}

// snapshotOf returns the files of a version of a locked bundle, "" for the newest
// allowed one.
func (e *Engine) snapshotOf(
	ctx context.Context,
	src source.Source,
	st *state,
	b lock.Bundle,
	version string,
) (*source.Snapshot, error) {
	if err := e.rules(st.project).Source(lock.Module{ID: b.ID, Version: version}); err != nil {
		return nil, err
	}
	if version == "" {
		x, err := e.newest(ctx, src, st, b)
		if err != nil {
			return nil, err
		}
		version = x.Newest
	}
	o, err := src.Resolve(ctx, b.ID, version)
	if err != nil {
		return nil, err
	}
	return src.Fetch(ctx, o)
}

func (e *Engine) fileDiffs(
	ctx context.Context,
	old, next *source.Snapshot,
) ([]FileDiff, error) {
	out := []FileDiff{}
	if e.p.Contents == nil {
		return out, nil
	}
	before, err := e.p.Contents(ctx, old)
	if err != nil {
		return nil, err
	}
	after, err := e.p.Contents(ctx, next)
	if err != nil {
		return nil, err
	}
	for _, d := range compareContents(before, after) {
		x := FileDiff{Name: d.name(), Path: d.Path, Op: d.op}
		var was, now []byte
		if d.op != lock.Added {
			if was, err = unsigned(old, d.old); err != nil {
				return nil, err
			}
		}
		if d.op != lock.Removed {
			if now, err = unsigned(next, d.Content); err != nil {
				return nil, err
			}
		}
		if utf8.Valid(was) && utf8.Valid(now) {
			x.Text = linediff.Unified("a/"+d.Path, "b/"+d.Path, was, now)
		}
		out = append(out, x)
	}
	return out, nil
}

// unsigned returns a file of a snapshot without its signature line.
func unsigned(s *source.Snapshot, c Content) ([]byte, error) {
	text, err := s.Read(c.Path)
	if err != nil {
		return nil, err
	}
	if sp, err := sign.SplitFile(text, c.Style); err == nil {
		text = sp.Body()
	}
	return text, nil
}
