package packages

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// parallel is how many bundles are judged, read or written at one time.
const parallel = 8

// each calls fn for every element, some at a time, and returns all errors.
func each[T any](ctx context.Context, list []T, fn func(T) error) []error {
	errs := make([]error, len(list))
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i, x := range list {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				errs[i] = diag.New(diag.Cancelled, "working on bundles: %w", context.Cause(ctx))
				return
			}
			errs[i] = fn(x)
		})
	}
	wg.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// together is diag.Join that keeps what each error expected and found, and the
// hint of the one that decides the exit status.
func together(doing string, errs []error) error {
	err := diag.Join(doing, told(errs))
	var whole *diag.Error
	if len(errs) < 2 || !errors.As(err, &whole) || whole.Hint != "" {
		return err
	}
	for _, one := range errs {
		var e *diag.Error
		if errors.As(one, &e) && e.Code == whole.Code && e.Hint != "" {
			return whole.WithHint("%s", e.Hint)
		}
	}
	return err
}

// told returns several errors with what they expected and found in their
// messages: joined, they have no details of their own.
func told(errs []error) []error {
	if len(errs) < 2 {
		return errs
	}
	out := slices.Clone(errs)
	for i, err := range out {
		var e *diag.Error
		if errors.As(err, &e) && len(e.Findings) == 0 && e.Details["expected"] != nil {
			full := *e
			full.Message += fmt.Sprintf(": expected %v, found %v", e.Details["expected"], e.Details["found"])
			out[i] = &full
		}
	}
	return out
}

// fill completes the entries of a draft: where each bundle comes from, its
// hash, who signed it, what it brings.
func (s *solver) fill(ctx context.Context, l *lock.Lock) error {
	if err := s.alike(l); err != nil {
		return err
	}
	var remote []*lock.Bundle
	for i := range l.Bundles {
		if !s.local(l.Bundles[i].ID) {
			remote = append(remote, &l.Bundles[i])
		}
	}
	seen, err := s.e.firstSights(ctx, remote, s.got)
	if err != nil {
		return err
	}
	errs := each(ctx, remote, func(b *lock.Bundle) error {
		snap := s.got[b.Module()]
		if snap == nil {
			return diag.New(diag.Internal, "locking %s: its files were never read", b.Module())
		}
		describe(b, snap)
		defer snap.Release()
		odd, err := s.e.vouch(ctx, b, snap, s.rules(), slices.Contains(s.read, b.Module()))
		if err != nil {
			return err
		}
		s.note(b.Module(), odd)
		if err := s.e.continuity(s.st.previous(b.ID), b); err != nil {
			return err
		}
		if s.known(b) {
			return nil
		}
		return cooled(s.rules(), s.e.p.Now(), seen[sightKey(*b)], b.Module())
	})
	return together("judging bundles", errs)
}

// known reports whether a version was accepted here before.
func (s *solver) known(b *lock.Bundle) bool {
	_, pinned := s.pins[b.Module()]
	return pinned || s.st.sum.Hash(b.Module()) != ""
}

// describe takes over what the snapshot says of itself.
func describe(b *lock.Bundle, snap *source.Snapshot) {
	o := snap.Origin
	b.URL, b.Ref, b.Tag, b.Commit, b.Tree, b.Sum = o.URL, o.Ref, o.TagObject, o.Commit, o.Tree, snap.Sum
	b.Exec = nil
	for _, f := range snap.Files {
		if f.Executable {
			b.Exec = append(b.Exec, f.Path)
		}
	}
}

// vouch demands a signed manifest that counts, that is this bundle's and this
// version's, and that lists every file, and what the project demands beyond.
// What is only odd about it comes back as findings. Of a known bundle, whose
// files were looked at when it was installed, the digests are enough. What was read
// is kept in the snapshot until the caller releases it.
func (e *Engine) vouch(ctx context.Context, b *lock.Bundle, snap *source.Snapshot, rs Rules, known bool) (odd []diag.Finding, err error) {
	snap.Keep()
	mod := b.Module()
	name, err := manifestID(mod, snap)
	if err != nil {
		return nil, err
	}
	where := bundle.ManifestPath(name)
	var verdict trust.Verdict
	r, err := bundle.Verify(ctx, bundle.VerifyParams{Tree: snap.Tree(), ID: name, Listed: known, Judge: func(text []byte, sub sign.Subject) bundle.Verdict {
		verdict = e.verdict(where, text, nil, sub)
		return verdict
	}, JudgeBeside: func(at string, body, sig []byte, sub sign.Subject) bundle.Verdict {
		return e.verdict(at, body, sig, sub)
	}})
	if err != nil {
		return nil, err
	}
	if err := r.Err(mod.String()); err != nil {
		return nil, refused(err, mod, verdict)
	}
	if err := bound(mod, r.Manifest); err != nil {
		return nil, err
	}
	b.Manifest = r.Digest
	b.Signers = SignerTexts(r.Signers())
	if err := CheckSigners(mod, rs.SignerRules(e.p.Trust, mod, r.Manifest.ID), b.Signers); err != nil {
		return nil, err
	}
	if !known {
		if odd, err = lint(ctx, snap, mod); err != nil {
			return nil, err
		}
	}
	return append(odd, r.Findings...), e.capabilities(ctx, b, snap, rs)
}

// note keeps what is odd about a bundle and does not refuse it.
func (s *solver) note(mod lock.Module, odd []diag.Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range odd {
		text := f.Message
		if at := f.Place(); at != "" {
			text = at + ": " + text
		}
		s.notes = append(s.notes, fmt.Sprintf("warning: %s: %s", mod, text))
	}
}

func (e *Engine) verdict(where string, text, detached []byte, sub sign.Subject) trust.Verdict {
	style, _ := sign.StyleByName("#")
	return e.p.Trust.Verify(trust.Input{Space: e.p.Space, Path: where, Bytes: text, Detached: detached, DetachedOnly: detached != nil,
		Style: style, Subject: sub, Use: "release", MaxSize: bundle.MaxManifest, Text: true})
}

// refused says of a manifest's fault whose it is and who can mend it.
func refused(err error, mod lock.Module, v trust.Verdict) error {
	code := diag.CodeOf(err)
	out := diag.New(code, "verifying %s: what was fetched is not what somebody you trust released", mod)
	out.Err, out.Findings = err, diag.FindingsOf(err)
	out = out.WithDetail("bundle", mod.ID).WithDetail("version", mod.Version)
	if v.Signer != (sign.Fingerprint{}) {
		out = out.WithDetail("signer", SignerText(v.Signer))
	}
	if v.Owner != "" {
		out = out.WithDetail("owner", v.Owner)
	}
	if len(out.Findings) == 1 && code.Class() == diag.ClassIntegrity { // several are listed
		out = out.WithDetail("found", out.Findings[0].Path+": "+out.Findings[0].Message)
	}
	switch code {
	case diag.KeyUnknown, diag.Scope:
		return out.WithHint("get the publisher's trust document from somebody you know, read it, then: rye trust add FILE --kinds '*' --namespaces '**'")
	case diag.Revoked:
		return out.WithDetail("found", v.Reason()).WithHint("%s; nothing was installed", otherRelease)
	case diag.Unsigned, diag.HashMismatch, diag.BundleFileMissing, diag.BundleFileExtra:
		return out.WithHint("tell its author: rye bundle create NAME --version %s, commit, tag %s; nothing was installed", strings.TrimPrefix(mod.Version, "v"), mod.Version)
	}
	return out
}

// manifestID returns the name of the manifest that speaks for a bundle: the one
// that is called like it, else the only one.
func manifestID(mod lock.Module, snap *source.Snapshot) (string, error) {
	var names []string
	for _, f := range snap.Files {
		if name, ok := bundle.ManifestID(f.Path); ok {
			names = append(names, name)
		}
	}
	switch {
	case slices.Contains(names, mod.ID):
		return mod.ID, nil
	case len(names) == 1:
		return names[0], nil
	case len(names) > 1:
		return "", diag.New(diag.AmbiguousItem, "verifying %s: it holds %d manifests and none is called like it: %s", mod, len(names), strings.Join(names, ", ")).
			WithHint("tell its author: one bundle has one folder; others belong into subdirectories of their own")
	}
	return "", diag.New(diag.Unsigned, "verifying %s: it has no manifest, so nobody vouches for its files", mod).
		WithDetail("bundle", mod.ID).WithDetail("version", mod.Version).
		WithDetail("expected", bundle.ManifestPath("NAME")+", signed").WithDetail("found", "none").
		WithHint("tell its author: rye bundle create NAME --version %s, commit, tag %s; nothing was installed", strings.TrimPrefix(mod.Version, "v"), mod.Version)
}

// bound refuses the manifest of another bundle or of another version: an old
// release, soundly signed, must not pass for a new one.
func bound(mod lock.Module, m *bundle.Manifest) error {
	if !lock.IsPseudo(mod.Version) && m.Version != strings.TrimPrefix(mod.Version, "v") {
		return diag.New(diag.VersionMismatch, "verifying %s: its signed manifest is that of version %s", mod, m.Version).
			WithDetail("expected", mod.Version).WithDetail("found", "v"+m.Version).
			WithHint("the tag may carry an older release again; tell its author: rye bundle create %s --version %s, then tag", m.ID, strings.TrimPrefix(mod.Version, "v"))
	}
	named, err := lock.ParseID(m.ID)
	id, _ := lock.ParseID(mod.ID)
	if err != nil || named.Kind != lock.HostID || id.Kind == lock.URLID && strings.HasPrefix(id.Repo, "file:") {
		return nil // a plain name, or a mirror on this machine
	}
	if want := hostPath(id); want != m.ID && id.String() != m.ID {
		return diag.New(diag.SourceMoved, "verifying %s: its signed manifest is that of %s", mod, m.ID).
			WithDetail("expected", want).WithDetail("found", m.ID).
			WithHint("if that is what you mean: rye add %s@%s", m.ID, mod.Version)
	}
	return nil
}

// hostPath is the id that a manifest can carry: segments joined by "/".
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

// continuity refuses a signer that took another one's place, unless both keys
// signed the rotation.
func (e *Engine) continuity(old *lock.Bundle, b *lock.Bundle) error {
	if old == nil || len(old.Signers) == 0 {
		return nil
	}
	var missing, fresh []string
	for _, was := range old.Signers {
		if !slices.ContainsFunc(b.Signers, func(now string) bool { return e.follows(now, was) }) {
			missing = append(missing, was)
		}
	}
	for _, now := range b.Signers {
		if !slices.ContainsFunc(old.Signers, func(was string) bool { return e.follows(now, was) }) {
			fresh = append(fresh, now)
		}
	}
	if len(missing)+len(fresh) == 0 {
		return nil
	}
	return diag.New(diag.SignerChanged, "verifying %s: other keys signed it than %s %s, and no rotation says that this was meant", b.Module(), b.ID, old.Version).
		WithDetail("expected", strings.Join(old.Signers, ", ")).WithDetail("found", strings.Join(b.Signers, ", ")).WithDetail("bundle", b.ID).
		WithHint("ask its publisher, and not by way of the repository; if it is right: rye remove %s, then rye add %s@%s", b.ID, b.ID, b.Version)
}

func (e *Engine) follows(now, was string) bool {
	if now == was {
		return true
	}
	a, err1 := parseSigner(now)
	b, err2 := parseSigner(was)
	return err1 == nil && err2 == nil && e.p.Trust.Succeeds(a, b)
}

// capabilities notes what the items may ask for and refuses what the project
// denies to all bundles.
func (e *Engine) capabilities(ctx context.Context, b *lock.Bundle, snap *source.Snapshot, rs Rules) error {
	if e.p.Caps == nil {
		return nil
	}
	caps, err := e.p.Caps(ctx, snap)
	if err != nil {
		return err
	}
	slices.Sort(caps)
	b.Caps = slices.Compact(caps)
	return rs.Caps(b.Module(), b.Caps)
}

// overlap reports whether a denied pattern and a capability have anything in
// common; either may be the wider one.
func overlap(deny, c string) bool {
	if meet(deny, c) {
		return true
	}
	a, err1 := policy.Parse(deny)
	b, err2 := policy.Parse(c)
	return err1 == nil && err2 == nil && (a.Covers(b) || b.Covers(a))
}
