package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	rcli "github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
)

// refreshLock brings the entries of the project's items that were signed up to
// date. It makes no lock and accepts nothing that was not signed just now.
func (c *call) refreshLock(ctx context.Context, h *house, reports []primary.SignReport) error {
	refs := signedRefs(reports)
	if c.bool("check") || len(refs) == 0 {
		return nil
	}
	for _, err := range h.lockErrs {
		c.ui.Warn("%s was not brought up to date: %s", lock.LockFile, err)
	}
	if h.lock == nil || len(h.lockErrs) > 0 {
		return nil
	}
	release, err := h.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	sl, err := readSpaceLock(h.spaces.Of(space.Project)) // as it is now
	if err != nil || sl == nil {
		return err
	}
	changed, notes, err := h.primary.RefreshLock(ctx, sl.lock, h.system(), refs)
	c.lockNotes(notes)
	if err != nil || !changed {
		return err
	}
	if err := atomicfile.Write(filepath.Join(sl.dir, lock.LockFile), sl.lock.Render(), 0o644); err != nil {
		return diag.New(diag.FileSystemError, "writing %s: %w", lock.LockFile, err)
	}
	c.ui.Note("%s is up to date", lock.LockFile)
	return nil
}

// lockNotes tells of entries that stay as they are.
func (c *call) lockNotes(notes []diag.Finding) {
	for _, f := range notes {
		if hint := rcli.FindingHint(f); hint != "" {
			f.Message += " (" + hint + ")"
		}
		c.ui.Warn("%s", f)
	}
}

// signedRefs returns the items of the project that were signed anew.
func signedRefs(reports []primary.SignReport) []item.Ref {
	var out []item.Ref
	for _, r := range reports {
		if r.Status != primary.Signed && r.Status != primary.Upgraded || !strings.HasPrefix(r.Path, space.Dir+"/") {
			continue
		}
		if ref, err := item.ParseRef(r.Ref, ""); err == nil {
			out = append(out, ref)
		}
	}
	return out
}

// hold waits until nobody else changes the lock of the project.
func (h *house) hold(ctx context.Context) (release func(), err error) {
	return packages.Hold(ctx, h.spaces.Of(space.Project).Base)
}
