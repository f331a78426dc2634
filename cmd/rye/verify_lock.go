package main

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/verify"
)

// verifyLock adds what the lock of a project says to the report about it.
func (c *call) verifyLock(ctx context.Context, h *house, report *verify.Report) error {
	for _, err := range h.lockErrs {
		report.Fail(lock.LockFile, err)
	}
	if len(h.lockErrs) == 0 {
		report.Findings = append(report.Findings, verify.Unlocked(h.spaces.Roots)...)
	}
	if h.lock == nil {
		if len(h.lockErrs) == 0 {
			c.lockMissing(h, report)
		}
		return nil
	}
	report.Findings = append(report.Findings, h.lock.notes...)
	sum, _, err := lock.ReadSum(h.files)
	if err != nil {
		report.Fail(lock.SumFile, err)
	}
	items, bad, err := h.primary.LockItems(ctx)
	if err != nil {
		return err
	}
	partial := h.partial()
	if partial { // what leads to a bundle that is elsewhere cannot be followed
		bad = slices.DeleteFunc(bad, func(f diag.Finding) bool { return f.Code == diag.BundleFileMissing })
	}
	report.Findings = append(report.Findings, unsaid(bad, report.Findings)...)
	stale, err := h.lock.stale()
	if err != nil {
		report.Fail(lock.ManifestFile, err)
	}
	r, err := verify.Lock(ctx, verify.LockParams{
		Params: verify.Params{Resolver: h.verifier(h.spaces), Trust: h.trust},
		Lock:   h.lock.lock, Sum: sum, System: h.system(), Items: items, Stale: stale, Locked: c.locked(), Partial: partial,
		Sparse:   func(refs []item.Ref) map[item.Ref]bool { return c.leftOut(ctx, h, refs) },
		Vendored: h.lock.manifest != nil && h.lock.manifest.Vendor,
		Caps:     itemCaps,
		Check: func(ctx context.Context, ref item.Ref) error {
			_, err := h.executor.Chain(ctx, ref)
			return err
		},
	})
	if err != nil {
		return err
	}
	if c.locked() {
		r.Findings = append(r.Findings, lock.Replaced(h.lock.manifest, h.lock.lock)...)
	}
	report.Merge(r)
	return nil
}

// lockMissing tells of a project that requires bundles and has no lock.
func (c *call) lockMissing(h *house, report *verify.Report) {
	if err := c.checkLocked(h); err != nil {
		report.Fail(lock.LockFile, err)
		return
	}
	if h.files == nil {
		return
	}
	m, _, err := lock.ReadManifest(h.files, "")
	switch {
	case err != nil:
		report.Fail(lock.ManifestFile, err)
	case m != nil && len(m.Require) > 0:
		f := diag.Warnf(diag.LockMissing, 0, 0, "it requires bundles, and there is no %s", lock.LockFile)
		f.Path, f.Fix = lock.ManifestFile, "rye lock"
		report.Findings = append(report.Findings, f)
	}
}

// unsaid returns the findings whose file no error is known about yet: what
// breaks a file breaks its chain, too.
func unsaid(fs, known []diag.Finding) []diag.Finding {
	failed := map[string]bool{}
	for _, f := range known {
		failed[f.Path] = failed[f.Path] || f.Severity == diag.SeverityError
	}
	return slices.DeleteFunc(fs, func(f diag.Finding) bool { return failed[f.Path] })
}

// verifyBase holds the lock and the sum against those of another revision: what
// a change that touches nothing else must not do to them. Nothing of it needs a
// network.
func (c *call) verifyBase(ctx context.Context, h *house, report *verify.Report) error {
	if !c.isSet("base") || h.files == nil {
		return nil
	}
	repo, err := c.repo(ctx)
	if err != nil {
		return err
	}
	tree, err := repo.Resolve(ctx, c.str("base"))
	if err != nil {
		return err
	}
	batch, err := repo.Batch(ctx)
	if err != nil {
		return err
	}
	defer batch.Close()
	at := map[string][]byte{}
	for _, name := range []string{lock.LockFile, lock.SumFile} {
		path := h.prefixIn(repo) + name
		entries, err := repo.Tree(ctx, tree, path)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.IsFile() || e.Path != path {
				continue
			}
			fits := true
			err := batch.Read([]string{e.OID}, lock.MaxLock, func(_ int, o gitcmd.Object) {
				at[name], fits = o.Data, o.Size <= lock.MaxLock
			})
			if err == nil && !fits {
				err = diag.New(diag.TooLarge, "reading %s:%s: it is too large", c.str("base"), name)
			}
			if err != nil {
				return err
			}
		}
	}
	return c.compareBase(h, at, report)
}

func (c *call) compareBase(h *house, at map[string][]byte, report *verify.Report) error {
	var base *lock.Lock
	if b := at[lock.LockFile]; b != nil {
		var found []diag.Finding
		if base, found = lock.ParseLock(b); base == nil {
			return diag.FromFindings("reading "+c.str("base")+":"+lock.LockFile, diag.WithPath(found, lock.LockFile))
		}
	}
	if h.lock == nil {
		if base != nil && len(base.Bundles) > 0 && len(h.lockErrs) == 0 {
			report.Fail(lock.LockFile, diag.New(diag.LockMissing, "reading %s: %s has it, and here it was removed", lock.LockFile, c.str("base")))
		}
	} else {
		report.Findings = append(report.Findings, verify.Base(base, h.lock.lock, h.lock.manifest)...)
	}
	now, _, err := lock.ReadSum(h.files)
	if err == nil {
		report.Findings = append(report.Findings, verify.BaseSum(at[lock.SumFile], now)...)
	}
	return nil
}
