package packages

import (
	"context"
	"io/fs"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/stagedir"
	"github.com/ryeos/rye/lock"
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
// trusted, and the rules must allow it. It changes no project. A name in base that is not
// "" is the directory that gets the files; it must not exist. It appears as a whole.
func (e *Engine) Pull(ctx context.Context, q Query, base atomicfile.Base, name string) (*Pulled, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	rs := e.rules(st.project)
	if err := rs.Source(lock.Module{ID: q.ID.String(), Version: q.Version}, q.ID); err != nil {
		return nil, err
	}
	o, err := e.p.Source.Resolve(ctx, q.ID, q.Version)
	if err != nil {
		return nil, err
	}
	if err := e.learnRevocations(ctx); err != nil {
		return nil, err
	}
	b := &lock.Bundle{ID: q.ID.String(), Version: o.Version}
	e.report(Fetching, b.Module())
	snap, err := e.p.Source.Fetch(ctx, o)
	if err != nil {
		return nil, err
	}
	snap.Keep()
	defer snap.Release()
	describe(b, snap)
	warnings, err := e.judgeRelease(ctx, b, nil, snap, rs, false)
	if err != nil {
		return nil, err
	}
	seen, err := e.firstSights(ctx, []*lock.Bundle{b}, map[lock.Module]*source.Snapshot{b.Module(): snap})
	if err == nil {
		err = checkAge(rs, e.p.Now(), seen[sightKey(*b)], b.Module())
	}
	if err != nil {
		return nil, err
	}
	out := &Pulled{ID: b.ID, Version: b.Version, Sum: b.Sum, Signers: nonNil(b.Signers), Caps: nonNil(b.Caps), Exec: nonNil(b.Exec), Items: []ReleaseItem{}}
	for _, w := range warnings {
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

// writePulled writes the files of a snapshot into a new directory.
func writePulled(ctx context.Context, snap *source.Snapshot, base atomicfile.Base, name string) error {
	st, err := stagedir.New(base)
	if err != nil {
		return err
	}
	defer st.Close()
	staged := st.Replace(name)
	if err := snap.Each(ctx, func(f source.File, text []byte) error {
		mode := fs.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		return st.WriteFile(staged, f.Path, text, mode)
	}); err != nil {
		return diag.Doing("writing the files of the bundle", err)
	}
	return st.Commit()
}
