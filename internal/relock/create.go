package relock

import (
	"context"
	"errors"
	"io/fs"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
)

// Create writes an empty lock for a new project and reports whether it did. A
// project that requires bundles or has items gets its lock from rye lock: an empty one
// would be stale.
func Create(ctx context.Context, e *project.Env) (bool, error) {
	p, err := e.Open(ctx, project.Lenient)
	if err != nil ||
		p.Files == nil ||
		p.Lock != nil ||
		len(p.LockErrs) > 0 {
		return false, err
	}
	m, err := project.ReadManifest(p.Spaces.ProjectDir)
	if err != nil ||
		m == nil ||
		len(m.Require)+len(m.Workspace) > 0 {
		return false, nil // verify reports the errors of a file that init did not write
	}
	for _, kind := range primary.LockedKinds {
		entries, err := p.Resolver.All(ctx, kind)
		if err != nil {
			return false, err
		}
		for _, x := range entries {
			if x.Root.Space == space.Project {
				return false, nil
			}
		}
	}
	l := &lock.Lock{Manifest: m.Settings(), Revoked: p.Revoked()}
	switch err := atomicfile.Project(p.Spaces.ProjectDir).Create(lock.LockFile, l.Render(), 0o644); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrExist):
		return false, nil
	default:
		return false, diag.Doing("writing "+lock.LockFile, err)
	}
}
