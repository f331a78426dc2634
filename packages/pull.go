package packages

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/stagedir"
	"github.com/ryeos/rye/packages/source"
)

// Pulled is a release that was fetched and judged, without a project that requires it.
type Pulled struct {
	ID      string        `json:"id"`
	Version string        `json:"version"`
	Sum     string        `json:"sum"`
	Signers []string      `json:"signers"`
	Caps    []string      `json:"caps"`
	Exec    []string      `json:"exec"`
	Items   []ReleaseItem `json:"items"`
	Dir     string        `json:"dir,omitempty"`
	Notes   []string      `json:"notes,omitempty"`
}

// Pull fetches a release into the cache and judges it as Add does: its signers must be
// trusted and be the signers of the release in the lock, its id must not imitate a locked one, and the
// rules must allow it. It changes no project. A name in base that is not "" is the directory
// that gets the files; it must not exist, and appears as a whole.
func (e *Engine) Pull(
	ctx context.Context,
	q Query,
	base atomicfile.Base,
	name string,
) (*Pulled, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	r, err := e.release(ctx, st, q)
	if r != nil {
		defer r.Snapshot.Release() // judging keeps what was read
	}
	if err == nil {
		err = r.Refused
	}
	if err != nil {
		return nil, err
	}
	b := &r.Bundle
	snap := r.Snapshot
	out := &Pulled{
		ID:      b.ID.String(),
		Version: b.Version,
		Sum:     b.Sum,
		Signers: nonNil(b.Signers),
		Caps:    nonNil(b.Caps),
		Exec:    nonNil(b.Exec),
		Items:   []ReleaseItem{},
		Notes:   r.Notes,
	}
	for _, w := range r.warnings {
		out.Notes = append(out.Notes, w.Message)
	}
	in := &Inspection{}
	if err := e.inspectContents(ctx, in, snap); err != nil {
		return nil, err
	}
	out.Items = append(out.Items, in.Items...)
	if name == "" {
		return out, nil
	}
	out.Dir = base.Path(name)
	return out, writePulled(ctx, snap, base, name)
}

// writePulled writes the files of a snapshot into a new directory. One that appeared since
// the caller looked is left as it is.
func writePulled(ctx context.Context, snap *source.Snapshot, base atomicfile.Base, name string) error {
	st, err := stagedir.New(base)
	if err != nil {
		return err
	}
	defer st.Close()
	staged := st.Replace(name)
	err = snap.Each(ctx, func(f source.File, text []byte) error {
		mode := fs.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		return st.WriteFile(staged, f.Path, text, mode)
	})
	if err != nil {
		return diag.Doing("writing the files of the bundle", err)
	}
	_, err = os.Lstat(base.Path(name))
	if !errors.Is(err, fs.ErrNotExist) {
		return diag.New(diag.FileSystemError, "writing %s: it appeared while the bundle was fetched and was left as it is; name another directory", base.Path(name))
	}
	return st.Commit()
}
