package source

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/lock"
)

// Dir is the source of directories of this machine: workspace members and
// replacements. Relative ids are relative to Base.
type Dir struct {
	Base  string // absolute
	Cache *Cache
}

func (d Dir) at(id lock.ID) (string, error) {
	if id.Kind != lock.PathID {
		return "", diag.New(diag.SourceNotFound, "looking for %s: it is not a folder", id)
	}
	p := filepath.FromSlash(id.Repo)
	if !filepath.IsAbs(p) {
		p = filepath.Join(d.Base, p)
	}
	return filepath.Join(p, filepath.FromSlash(id.Subdir)), nil
}

// Versions implements Source: a directory has one version, its current content.
func (d Dir) Versions(ctx context.Context, id lock.ID) (*Listing, error) {
	p, err := d.at(id)
	if err != nil {
		return nil, err
	}
	err = d.Revalidate(ctx, Origin{ID: id})
	if err != nil {
		return nil, err
	}
	return &Listing{ID: id, URL: p, Versions: []Version{{Version: lock.LocalVersion}}}, nil
}

// Resolve implements Source.
func (d Dir) Resolve(ctx context.Context, id lock.ID, query string) (Origin, error) {
	if query != "" && query != Latest && query != lock.LocalVersion {
		return Origin{}, diag.New(diag.VersionNotFound, "resolving %s at %q: a folder has no versions", id, query)
	}
	l, err := d.Versions(ctx, id)
	if err != nil {
		return Origin{}, err
	}
	return l.OriginOf(l.Versions[0]), nil
}

// Revalidate implements Source: any content of a directory is valid.
func (d Dir) Revalidate(_ context.Context, o Origin) error {
	p, err := d.at(o.ID)
	if err != nil {
		return err
	}
	_, err = filepath.EvalSymlinks(p)
	if errors.Is(err, fs.ErrNotExist) {
		return diag.New(diag.SourceNotFound, "looking for %s: there is no folder %q", o.ID, p)
	} else if err != nil {
		return diag.New(diag.FileSystemError, "looking for %s: %w", o.ID, err)
	}
	return nil
}

// Fetch implements Source: it copies the current files of the directory.
func (d Dir) Fetch(ctx context.Context, o Origin) (*Snapshot, error) {
	p, err := d.at(o.ID)
	if err != nil {
		return nil, err
	}
	if err := d.Revalidate(ctx, o); err != nil {
		return nil, err
	}
	t, err := openat.Open(p)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening %s: %w", o.ID, err)
	}
	defer t.Close()
	paths, err := d.list(t)
	if err != nil {
		return nil, err
	}
	w, err := d.Cache.Write()
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	for _, p := range paths {
		if ctx.Err() != nil {
			return nil, cancelled(ctx)
		}
		b, info, err := t.Read(p, bundle.MaxFile)
		if err != nil {
			return nil, err
		}
		err = w.Add(p, info.Mode&0o111 != 0, b)
		if err != nil {
			return nil, err
		}
	}
	return w.Commit(ctx, o)
}

// list returns the carried files of a directory, and every path that is refused.
func (d Dir) list(t *openat.Dir) (paths []string, err error) {
	var out []diag.Finding
	err = t.Walk(aiDir, func(rel string, e openat.Entry) error {
		if e.IsDir() && e.Err == nil {
			if !CarriedFolder(rel) {
				return fs.SkipDir
			}
			return nil
		}
		if !Carried(rel) {
			return nil
		}
		fault := e.Err
		if fault == nil {
			fault = CheckPath(rel)
		}
		if fault != nil {
			f := diag.Errorf(diag.CodeOf(fault), 0, 0, "%s", fault)
			f.Path = rel
			out = append(out, f)
			return nil
		}
		paths = append(paths, rel)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.FileSystemError, "listing the folder: %w", err)
	}
	if _, _, err := t.Read(lock.ProjectFileName, lock.MaxProjectFile); !errors.Is(err, fs.ErrNotExist) {
		paths = append(paths, path.Clean(lock.ProjectFileName))
	}
	if len(paths)+len(out) == 0 {
		return nil, NoBundle("the folder")
	}
	return paths, diag.FromFindings("listing the folder", out)
}

// NoBundle is the error for a directory without a bundle.
func NoBundle(where string) error {
	return diag.New(diag.SourceNotFound, "looking for a bundle: %s has neither %s with items nor %s%w", where, aiDir, lock.ProjectFileName, ErrNoBundle)
}
