package packages

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// judge completes the entries of a draft and refuses bundles that signatures,
// rules, look-alike ids or the lock before forbid.
func (s *solver) judge(ctx context.Context, l *lock.Lock) error {
	if err := s.compareIDs(l); err != nil {
		return err
	}
	var fetched []*lock.Bundle
	for i := range l.Bundles {
		if !s.isDirectory(l.Bundles[i].ID) {
			fetched = append(fetched, &l.Bundles[i])
		}
	}
	// First sights are recorded for all bundles together: one write of the file.
	seen, err := s.e.firstSights(ctx, fetched, s.snaps)
	if err != nil {
		return err
	}
	errs := each(ctx, len(fetched), func(i int) error {
		b := fetched[i]
		snap := s.snaps[b.Module()]
		if snap == nil {
			return diag.New(diag.Internal, "locking %s: its files were not read", b.Module())
		}
		defer snap.Release()
		return s.judgeBundle(ctx, b, snap, seen)
	})
	return joinErrors("judging bundles", errs)
}

func (s *solver) judgeBundle(
	ctx context.Context,
	b *lock.Bundle,
	snap *source.Snapshot,
	seen firstSeen,
) error {
	describe(b, snap)
	was := s.st.previous(b.ID)
	warnings, err := s.e.judgeRelease(
		ctx,
		b,
		was,
		snap,
		s.rules(),
		slices.Contains(s.verified, b.Module()),
	)
	if err != nil {
		return err
	}
	shown, ok := s.e.p.Expect[b.Module()]
	if ok && shown != b.Manifest {
		return diag.New(diag.ConsentRequired, "verifying %s: the release changed while you were asked about its signer; nothing changed", b.Module()).
			WithReason("replaced_release").
			WithDetail("expected", shown.String()).
			WithDetail("found", b.Manifest.String())
	}
	s.note(b.Module(), warnings)
	if err := s.e.checkContinuity(was, b); err != nil {
		return err
	}
	if s.isAccepted(b) {
		return nil
	}
	return checkAge(
		s.rules(),
		s.e.p.Now(),
		seen[sightKey(*b)],
		b.Module(),
	)
}

// isAccepted reports whether this project had the version before.
func (s *solver) isAccepted(b *lock.Bundle) bool {
	_, pinned := s.pins[b.Module()]
	return pinned || s.st.sum.Hash(b.Module()) != ""
}

// describe copies the origin, the sum and the executables of a snapshot.
func describe(b *lock.Bundle, snap *source.Snapshot) {
	o := snap.Origin
	b.URL = o.URL
	b.Ref = o.Ref
	b.Tag = o.TagObject
	b.Commit = o.Commit
	b.Tree = o.Tree
	b.Archive = o.Archive
	b.Log = o.Log
	b.Sum = snap.Sum
	b.Exec = nil
	for _, f := range snap.Files {
		if f.Executable {
			b.Exec = append(b.Exec, f.Path)
		}
	}
}

// judgeRelease checks that a trusted key signed the manifest, that the manifest
// names this bundle and version and lists every file, and that the rules
// allow its signers and capabilities. It sets the entry's manifest, signers and
// capabilities, and returns warnings. Files of an installed bundle were linted
// and compared with the lock before: their digests are enough. The snapshot
// keeps what was read until the caller releases it. A release that was, the entry
// before, records stays usable after its key expired.
func (e *Engine) judgeRelease(
	ctx context.Context,
	b, was *lock.Bundle,
	snap *source.Snapshot,
	rs Rules,
	installed bool,
) (warnings []diag.Finding, err error) {
	snap.Keep()
	mod := b.Module()
	name, err := manifestID(mod, snap)
	if err != nil {
		return nil, err
	}
	where := bundle.ManifestPath(name)
	var verdict trust.Verdict
	var recorded *lock.Bundle
	r, err := bundle.Verify(ctx, bundle.VerifyParams{
		Tree:   snap.Tree(),
		ID:     name,
		Listed: installed,
		Judge: func(text []byte, sub sign.Subject) bundle.Verdict {
			if was != nil && was.Version == b.Version && was.Manifest == item.DigestOf(text) {
				recorded = was
			}
			verdict = e.verdict(where, text, nil, sub, recorded)
			return verdict
		},
		JudgeCosignature: func(at string, body, sig []byte, sub sign.Subject) bundle.Verdict {
			return e.verdict(at, body, sig, sub, recorded)
		},
	})
	if err != nil {
		return nil, err
	}
	if err := r.Err(mod.String()); err != nil {
		err := releaseError(err, mod, verdict)
		if err.Code == diag.KeyUnknown || err.Code == diag.Scope {
			kinds, ids := e.releaseScope(ctx, rs, mod.ID, name, snap)
			if kinds != nil {
				return nil, err.
					WithReason("release_scope").
					WithDetail("kinds", strings.Join(kinds, ",")).
					WithDetail("namespaces", strings.Join(ids, ","))
			}
		}
		return nil, err
	}
	if err := checkManifest(mod, r.Manifest); err != nil {
		return nil, err
	}
	// A text that the manifest does not list is not signed, whatever the snapshot has.
	var text []byte
	if r.Manifest.Lists(lock.ProjectFileName) {
		text, _ = snap.Read(lock.ProjectFileName) // without it, it names nothing
	}
	if err := CheckRegistryName(mod.ID.String(), text); err != nil {
		return nil, err.WithDetail("version", mod.Version)
	}
	b.Manifest = r.Digest
	b.Signers = SignerTexts(r.Signers())
	if err := CheckSigners(mod, rs.SignerRules(e.p.Trust, mod, r.Manifest.ID), b.Signers); err != nil {
		return nil, err
	}
	if !installed {
		if warnings, err = lint(ctx, snap, mod); err != nil {
			return nil, err
		}
	}
	return append(warnings, r.Findings...), e.capabilities(ctx, b, was, snap, rs)
}

// addNote records a text for the result of the command.
func (s *solver) addNote(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, text)
}

// note records warnings about an accepted bundle.
func (s *solver) note(mod lock.Module, warnings []diag.Finding) {
	for _, f := range warnings {
		text := f.Message
		if at := f.Location(); at != "" {
			text = at + ": " + text
		}
		s.addNote(fmt.Sprintf("warning: %s: %s", mod, text))
	}
}

// verdict judges a signature of a manifest. recorded is the lock entry that names the
// digest of the manifest, or nil.
func (e *Engine) verdict(
	where string,
	text, detached []byte,
	sub sign.Subject,
	recorded *lock.Bundle,
) trust.Verdict {
	v := e.p.Trust.Verify(trust.ManifestInput(trust.Input{
		Space:        e.p.Space,
		Path:         where,
		Bytes:        text,
		Subject:      sub,
		Detached:     detached,
		DetachedOnly: detached != nil,
		Locked: func(signer sign.Fingerprint) bool {
			return recorded != nil && slices.Contains(recorded.Signers, SignerText(signer))
		},
	}))
	if v.OK() && !v.Ended.IsZero() && v.Anchor != trust.AnchorLock {
		// The grace of an own key is for what exists, not for adoption.
		return v.Refuse(diag.Expired, fmt.Sprintf("your key expired on %s, and only the lock proves an earlier signature", v.Ended.UTC().Format(time.DateOnly)))
	}
	return v
}

// releaseError is the error for a manifest that does not verify, with the facts
// of its signer.
func releaseError(err error, mod lock.Module, v trust.Verdict) *diag.Error {
	code := diag.CodeOf(err)
	out := diag.New(code, "verifying %s: the fetched files have no valid release signature by a trusted key", mod).WithReason("release")
	out.Err = err
	out.Findings = diag.FindingsOf(err)
	out = out.
		WithDetail("bundle", mod.ID.String()).
		WithDetail("version", mod.Version)
	if v.Signer != (sign.Fingerprint{}) {
		out = out.WithDetail("signer", SignerText(v.Signer))
	}
	if v.Owner != "" {
		out = out.WithDetail("owner", v.Owner)
	}
	// Several findings are listed one by one; a single one is only shown as found.
	if len(out.Findings) == 1 && code.Class() == diag.ClassIntegrity {
		out = out.
			WithDetail("found", out.Findings[0].Path+": "+out.Findings[0].Message)
	}
	if code == diag.Revoked || code == diag.Expired {
		out = out.WithDetail("found", v.Reason())
	}
	return out
}

// manifestID returns the id of a bundle's manifest: the one with the id of the
// bundle, else the only one.
func manifestID(mod lock.Module, snap *source.Snapshot) (string, error) {
	var names []string
	for _, f := range snap.Files {
		if name, ok := bundle.ManifestID(f.Path); ok {
			names = append(names, name)
		}
	}
	switch {
	case slices.Contains(names, mod.ID.String()):
		return mod.ID.String(), nil
	case len(names) == 1:
		return names[0], nil
	case len(names) > 1:
		return "", diag.New(
			diag.AmbiguousItem,
			"verifying %s: it has %d manifests and none has its id: %s",
			mod,
			len(names),
			strings.Join(names, ", "),
		).
			WithReason("manifests")
	}
	return "", diag.New(diag.Unsigned, "verifying %s: it has no manifest, so no key has signed its files", mod).
		WithReason("release").
		WithDetail("bundle", mod.ID.String()).
		WithDetail("version", mod.Version).
		WithDetail("expected", bundle.ManifestPath("NAME")+", signed").WithDetail("found", "no file")
}

// checkManifest refuses the manifest of another bundle or of another version: an
// old release with a valid signature must not pass for a new one.
func checkManifest(mod lock.Module, m *bundle.Manifest) error {
	if !lock.IsPseudo(mod.Version) && m.Version != strings.TrimPrefix(mod.Version, "v") {
		return diag.New(diag.VersionMismatch, "verifying %s: its signed manifest has version %s", mod, m.Version).
			WithReason("release").
			WithDetail("bundle", mod.ID.String()).
			WithDetail("expected", mod.Version).
			WithDetail("found", "v"+m.Version)
	}
	named, err := lock.ParseID(m.ID)
	id := mod.ID
	if err != nil ||
		named.Kind != lock.HostID ||
		id.Kind == lock.URLID && strings.HasPrefix(id.Repo, "file:") {
		return nil // a plain name, or a mirror on this machine
	}
	want := hostPath(id)
	if want != m.ID && id.String() != m.ID {
		return diag.New(diag.SourceMoved, "verifying %s: its signed manifest names %s", mod, m.ID).
			WithReason("manifest_id").
			WithDetail("expected", want).
			WithDetail("found", m.ID).
			WithDetail("version", mod.Version)
	}
	return nil
}

// CheckRegistryName refuses a bundle of a registry whose signed rye.yaml has another name
// than its id: the registry chooses which files it serves under an id, and only the author
// states which bundle they are. Text is empty if the manifest does not list rye.yaml.
func CheckRegistryName(id string, text []byte) *diag.Error {
	if !strings.HasPrefix(id, "registry:") {
		return nil
	}
	name := ""
	if f, _ := lock.ParseProjectFile(text); f != nil {
		name = f.Name()
	}
	if name == id {
		return nil
	}
	found := "it has the name " + name
	if name == "" {
		found = "it has no name"
	}
	return diag.New(diag.SourceMoved, "verifying %s: its signed %s must have this name, and %s", id, lock.ProjectFileName, found).
		WithReason("registry_name").
		WithDetail("bundle", id).
		WithDetail("expected", "name: "+id).
		WithDetail("found", found)
}

// hostPath returns an id as manifests spell it: host, path, subdirectory and
// major version joined by "/".
func hostPath(id lock.ID) string {
	repo := id.Repo
	if _, rest, ok := strings.Cut(repo, "://"); ok {
		repo = rest
		if _, host, ok := strings.Cut(repo, "@"); ok {
			repo = host
		}
		repo = strings.TrimSuffix(repo, ".git")
	}
	return path.Join(repo, id.Subdir, id.Major)
}

// checkContinuity refuses a change of signers that no rotation, signed by both
// keys, explains. Old is the lock entry before, nil if there was none.
func (e *Engine) checkContinuity(old *lock.Bundle, b *lock.Bundle) error {
	if old == nil || !installs(*old) {
		return nil // the first release, or a directory of this machine before it
	}
	if len(old.Signers) == 0 {
		return diag.New(
			diag.LockMismatch,
			"verifying %s: the entry of %s in %s names no signer, so a change of signers cannot be excluded",
			b.Module(),
			old.Module(),
			lock.LockFile,
		).
			WithReason("lock_edited")
	}
	lost := slices.ContainsFunc(old.Signers, func(was string) bool {
		return !slices.ContainsFunc(b.Signers, func(now string) bool {
			return e.succeeds(now, was)
		})
	})
	added := slices.ContainsFunc(b.Signers, func(now string) bool {
		return !slices.ContainsFunc(old.Signers, func(was string) bool {
			return e.succeeds(now, was)
		})
	})
	if !lost && !added {
		return nil
	}
	return diag.New(diag.SignerChanged, "verifying %s: its signers differ from the signers of %s %s, and no rotation document names the change", b.Module(), b.ID, old.Version).
		WithReason("release").
		WithDetail("expected", strings.Join(old.Signers, ", ")).
		WithDetail("found", strings.Join(b.Signers, ", ")).
		WithDetail("bundle", b.ID.String()).
		WithDetail("version", b.Version)
}

// succeeds reports whether now is the same key as was, or rotated from it.
func (e *Engine) succeeds(now, was string) bool {
	if now == was {
		return true
	}
	a, err1 := ParseSigner(now)
	b, err2 := ParseSigner(was)
	return err1 == nil && err2 == nil && e.p.Trust.Succeeds(a, b)
}

// capabilities records the capabilities that the items may ask for, and refuses
// those that a rule denies. was is the entry before, or nil.
func (e *Engine) capabilities(
	ctx context.Context,
	b, was *lock.Bundle,
	snap *source.Snapshot,
	rs Rules,
) error {
	if e.p.Caps == nil {
		return nil
	}
	var guess []string
	if was != nil && was.Sum == snap.Sum {
		guess = was.Caps
	}
	caps, err := e.p.Caps(ctx, snap, guess)
	if err != nil {
		return err
	}
	b.Caps = caps
	return rs.Caps(b.Module(), b.Caps)
}

// overlap reports whether a denied pattern and a capability have a common
// capability. Either may be the wider one.
func overlap(deny, capability string) bool {
	if glob.Overlaps(deny, capability) {
		return true
	}
	a, err1 := policy.Parse(deny)
	b, err2 := policy.Parse(capability)
	return err1 == nil && err2 == nil && (a.Covers(b) || b.Covers(a))
}
