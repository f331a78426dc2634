package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// Audit is the judgement of a lock under today's trust and rules.
type Audit struct {
	Bundles  []Audited      `json:"bundles"`
	Rules    []Rule         `json:"rules"` // that were applied
	Findings []diag.Finding `json:"findings"`
}

// Audited is one locked bundle with its signers, its permissions and the time of
// its first sight.
type Audited struct {
	ID        string          `json:"id"`
	Version   string          `json:"version"`
	State     string          `json:"state"` // as in Listed
	Signers   []AuditedSigner `json:"signers"`
	Caps      []string        `json:"caps"`
	Exec      []string        `json:"exec"`
	FirstSeen time.Time       `json:"first_seen,omitzero"` // by this account; zero if never
	// Items are those that are used instead of items of other spaces, that change
	// settings of the system, or that are not used because their ids are reserved.
	Items []ItemChange `json:"items,omitempty"`
}

// AuditedSigner is a key that signed a release.
type AuditedSigner struct {
	Key     string    `json:"key"`
	Owner   string    `json:"owner,omitempty"`
	Trusted bool      `json:"counts"`         // the signature is trusted today
	Code    diag.Code `json:"code,omitempty"` // why it is not
}

// Audit judges the locked bundles under today's conditions: keys that were revoked
// or expired since, the rules, rye.sum, and the installed files. It changes
// nothing and uses no network.
func (e *Engine) Audit(ctx context.Context) (*Audit, error) {
	st, err := e.loadLocked()
	if err != nil {
		return nil, err
	}
	rules := e.rules(st.project)
	a := &auditor{
		e:     e,
		st:    st,
		rules: rules,
		Audit: &Audit{Bundles: []Audited{}, Rules: rules.List(), Findings: []diag.Finding{}},
	}
	if len(st.lockText) == 0 {
		return a.Audit, nil // nothing is required
	}
	if a.seen, err = e.readSights(); err != nil {
		return nil, err
	}
	a.files()
	// Each bundle gets its own auditor, so that findings keep the order of the lock.
	parts := make([]*auditor, len(st.lock.Bundles))
	errs := each(ctx, len(parts), func(i int) error {
		parts[i] = &auditor{
			e:     e,
			st:    st,
			rules: rules,
			seen:  a.seen,
			Audit: &Audit{},
		}
		parts[i].bundle(ctx, st.lock.Bundles[i])
		return nil
	})
	if err := joinErrors("auditing bundles", errs); err != nil {
		return nil, err
	}
	for _, part := range parts {
		a.Bundles = append(a.Bundles, part.Bundles...)
		a.Findings = append(a.Findings, part.Findings...)
	}
	a.keys()
	a.registries(ctx)
	return a.Audit, nil
}

// registries warns of releases that a registry restricts, and of registries without
// witnesses, and compares the recorded states of logs with those that this account saw.
func (a *auditor) registries(ctx context.Context) {
	r := a.e.p.Registries
	if r == nil {
		return
	}
	for _, b := range a.st.lock.Bundles {
		state, reason := r.Remembered(b)
		if b.Log != "" && state != "" && state != "ok" {
			text := b.Module().String() + " was " + state
			if reason != "" {
				text += ": " + reason
			}
			a.add(lock.LockFile, diag.Warnf(diag.Stale, 0, 0, "%s", text))
		}
	}
	for _, x := range a.st.lock.Registries {
		a.fail(lock.LockFile, r.Gossip(
			ctx,
			[]lock.Registry{x},
			lock.LockFile,
		))
		for _, text := range r.Remarks(x.Host) {
			a.add(lock.LockFile, diag.Warnf(diag.Stale, 0, 0, "%s", text))
		}
	}
}

// keys warns once of each key of a locked release that expires soon or has expired.
func (a *auditor) keys() {
	releases := map[string]int{}
	for _, b := range a.Bundles {
		for _, s := range b.Signers {
			if s.Trusted {
				releases[s.Key]++
			}
		}
	}
	now := a.e.p.Now()
	for _, key := range slices.Sorted(maps.Keys(releases)) {
		fp, err := ParseSigner(key)
		if err != nil {
			continue
		}
		k, _ := a.e.p.Trust.Key(fp)
		f, ok := k.Ending(now)
		if !k.NotAfter.IsZero() && now.After(k.NotAfter) {
			f = k.KeptByLock(releases[key], "release")
			ok = true
		}
		if ok {
			a.add(lock.LockFile, f)
		}
	}
}

// auditor collects an audit.
type auditor struct {
	*Audit
	e     *Engine
	st    *state
	rules Rules
	seen  firstSeen
}

func (a *auditor) add(path string, f diag.Finding) {
	f.Path = path
	a.Findings = append(a.Findings, f)
}

// fail adds an error as a finding, or its findings. Nil adds nothing.
func (a *auditor) fail(path string, err error) {
	var e *diag.Error
	switch fs := diag.FindingsOf(err); {
	case err == nil:
	case len(fs) > 0:
		a.Findings = append(a.Findings, fs...)
	case errors.As(err, &e):
		f := diag.Errorf(e.Code, 0, 0, "%s", err)
		f.Reason = e.Reason
		f.Facts = e.Details
		want := e.Details["expected"]
		got := e.Details["found"]
		if want != nil && got != nil {
			f.Message += fmt.Sprintf(" (expected %v, found %v)", want, got)
		}
		a.add(path, f)
	default:
		a.add(path, diag.Errorf(diag.UnknownError, 0, 0, "%s", err))
	}
}

// files judges the files of the project.
func (a *auditor) files() {
	a.fail(lock.LockFile, a.st.checkCurrent())
	a.fail(lock.LockFile, a.st.checkSigned())
	a.fail(lock.LockFile, a.e.checkRevocations(a.st))
	for _, f := range lock.Replaced(a.st.project, a.st.lock) {
		f.Severity = diag.SeverityWarning
		a.Findings = append(a.Findings, f)
	}
	dirs, err := a.e.unlocked(a.st.lock)
	a.fail(lock.LockFile, err)
	for _, dir := range a.e.relative(dirs) {
		a.add(
			space.Dir+"/"+space.BundlesFolder+"/"+dir,
			diag.Warnf(diag.BundleFileExtra, 0, 0, "the lock does not name this bundle, so it is not used").WithReason("unlocked"),
		)
	}
}

// bundle judges one bundle. For a directory of this machine, only the rules about
// sources apply.
func (a *auditor) bundle(ctx context.Context, b lock.Bundle) {
	var err error
	x := Audited{
		ID:      b.ID.String(),
		Version: b.Version,
		State:   StateFolder,
		Signers: []AuditedSigner{},
		Caps:    nonNil(b.Caps),
		Exec:    nonNil(b.Exec),
	}
	a.sources(b)
	if installs(b) {
		x.State = a.installed(b)
		if x.State == StateInstalled {
			x.Exec = a.executables(b)
		}
		x.Signers = a.signers(b, x.State)
		x.FirstSeen = a.seen[sightKey(b)]
		a.sum(b)
		a.fail(lock.LockFile, a.rules.Caps(b.Module(), b.Caps))
		a.age(b, x.FirstSeen)
		x.Items, err = a.e.overrides(ctx, a.st, b)
		if err != nil {
			a.fail(lock.LockFile, err)
		}
	}
	a.Bundles = append(a.Bundles, x)
}

// nonNil returns a copy that is [] and not null in JSON.
func nonNil(list []string) []string {
	return append([]string{}, list...)
}

func (a *auditor) sources(b lock.Bundle) {
	a.fail(lock.LockFile, a.rules.Source(b.Module()))
	if b.Replace.Path != "" {
		a.fail(lock.LockFile, a.rules.Folder(b.Module(), b.Replace.Path))
	} else if b.ID.Kind == lock.PathID {
		a.fail(lock.LockFile, a.rules.Folder(b.Module(), b.ID.Repo))
	}
}

// installed compares the installed files with the lock and returns the state.
func (a *auditor) installed(b lock.Bundle) string {
	err := a.e.checkInstalled(b)
	dir, _ := a.e.installDir(b)
	state := stateOf(err != nil, dir != "" && exists(dir))
	switch state {
	case StateMissing:
		a.add(lock.LockFile, diag.Errorf(
			diag.Drift,
			0,
			0,
			"%s: it is locked and not installed",
			b.Module(),
		).
			WithReason("not_installed"))
	case StateChanged:
		a.add(lock.LockFile, diag.Errorf(
			diag.LockMismatch,
			0,
			0,
			"%s: the installed files differ from the lock: %s",
			b.Module(),
			err,
		).
			WithReason("changed"))
	}
	return state
}

// executables returns the executable files of an unchanged bundle and reports a
// list in the lock that differs: the sum covers the files, not that list.
func (a *auditor) executables(b lock.Bundle) []string {
	out := []string{}
	dir, err := a.e.installDir(b)
	if err != nil || runtime.GOOS == "windows" {
		return nonNil(b.Exec)
	}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err == nil && info.Mode()&0o111 != 0 {
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	slices.Sort(out)
	if err != nil {
		a.add(lock.LockFile, diag.Errorf(
			diag.FileSystemError,
			0,
			0,
			"%s: reading its files: %s",
			b.Module(),
			err,
		))
	} else if !slices.Equal(out, b.Exec) {
		a.add(lock.LockFile, diag.Errorf(
			diag.LockMismatch,
			0,
			0,
			"%s: the lock names other executables than it has (expected %v, found %v)",
			b.Module(),
			b.Exec,
			out,
		).
			WithReason("lock_edited"))
	}
	return out
}

// signers judges every key that the lock names. The signature in the installed
// manifest is judged with its date; for the other keys, their state decides.
func (a *auditor) signers(b lock.Bundle, state string) []AuditedSigner {
	if len(b.Signers) == 0 {
		return []AuditedSigner{} // files reports the entry
	}
	var v trust.Verdict
	name := ""
	if state == StateInstalled {
		v, name = a.manifest(b)
	}
	main := SignerText(v.Signer)
	named := v.Signer == (sign.Fingerprint{})
	out := []AuditedSigner{}
	var trusted []string
	for _, key := range b.Signers {
		s, why := a.e.signer(key)
		if key == main {
			named = true
			s = AuditedSigner{
				Key:     key,
				Owner:   v.Owner,
				Trusted: v.OK(),
				Code:    v.Code,
			}
			why = v.Reason()
		} else if revoked := a.e.p.Trust.ReleaseRevoked(b.Manifest, signersOf(lock.Bundle{Signers: []string{key}})); revoked != "" {
			s.Trusted = false
			s.Code = diag.Revoked
			why = revoked
		}
		if out = append(out, s); s.Trusted {
			trusted = append(trusted, key)
			continue
		}
		a.add(lock.LockFile, diag.Errorf(
			s.Code,
			0,
			0,
			"%s: signed by %s, which is not trusted today: %s",
			b.Module(),
			key,
			why,
		).
			WithReason("release", "bundle", b.ID.String(), "version", b.Version))
	}
	if !named {
		a.add(lock.LockFile, diag.Errorf(
			diag.SignerChanged,
			0,
			0,
			"%s: the lock does not name %s, which signed its manifest",
			b.Module(),
			main,
		).
			WithReason("lock_edited"))
	}
	a.fail(lock.LockFile, CheckSigners(
		b.Module(),
		a.rules.SignerRules(a.e.p.Trust, b.Module(), name),
		trusted,
	))
	return out
}

// manifest judges the manifest of an installed bundle, reports a missing or
// unsigned one, and returns the id in it.
func (a *auditor) manifest(b lock.Bundle) (v trust.Verdict, name string) {
	v, m := a.e.installedManifest(b)
	if m != nil {
		name = m.ID
	}
	if m != nil &&
		a.e.hasFile(b, lock.ProjectFileName) &&
		!m.Lists(lock.ProjectFileName) {
		a.add(lock.LockFile, diag.Warnf(
			diag.BundleFileExtra,
			0,
			0,
			"%s: its manifest does not list its %s, so its requirements are not signed",
			b.Module(),
			lock.ProjectFileName,
		).
			WithReason("unlisted_project_file"))
	}
	switch {
	case v.Status == "":
		a.add(lock.LockFile, diag.Errorf(
			diag.LockMismatch,
			0,
			0,
			"%s: no installed manifest has the digest %s of the lock",
			b.Module(),
			b.Manifest,
		).
			WithReason("lock_edited"))
	case v.Signer == (sign.Fingerprint{}):
		a.add(lock.LockFile, diag.Errorf(
			v.Code,
			0,
			0,
			"%s: no key has signed its manifest: %s",
			b.Module(),
			v.Reason(),
		))
	}
	return v, name
}

// signer judges a key by its state alone, and returns why it is not trusted.
func (e *Engine) signer(key string) (AuditedSigner, string) {
	s := AuditedSigner{Key: key, Code: diag.KeyUnknown}
	fp, err := ParseSigner(key)
	if err != nil {
		return s, "it is not a fingerprint"
	}
	info, known := e.p.Trust.Key(fp)
	if !known {
		return s, "no trust document of yours names it"
	}
	s.Owner = info.Owner
	switch info.State {
	case trust.StateValid, trust.StateGrace, trust.StateExpired: // the lock records the release
		s.Trusted = true
		s.Code = ""
	case trust.StateRevoked:
		s.Code = diag.Revoked
	case trust.StateNotYetValid:
		s.Code = diag.NotYetValid
	case trust.StateWeak:
		s.Code = diag.KeyWeak
	}
	return s, "the key is " + string(info.State)
}

// hasFile reports whether an installed bundle has a file.
func (e *Engine) hasFile(b lock.Bundle, name string) bool {
	dir, err := e.installDir(b)
	return err == nil && exists(filepath.Join(dir, name))
}

// installedManifest judges and reads the installed manifest with the digest of the
// lock. The verdict is zero and the manifest nil if there is none.
func (e *Engine) installedManifest(b lock.Bundle) (v trust.Verdict, m *bundle.Manifest) {
	dir, err := e.installDir(b)
	if err != nil {
		return v, nil
	}
	top := filepath.Join(dir, space.Dir, space.BundlesFolder)
	_ = filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		name, ok := bundle.ManifestID(rel)
		if !ok {
			return nil
		}
		text, _, err := openat.Read(dir, rel, bundle.MaxManifest)
		if err != nil || item.DigestOf(text) != b.Manifest {
			return nil
		}
		v = e.verdict(rel, text, nil, bundle.Subject(name), &b)
		m, _ = bundle.Parse(text)
		return fs.SkipAll
	})
	return v, m
}

// sum compares the lock with rye.sum.
func (a *auditor) sum(b lock.Bundle) {
	err := a.st.sum.Check(b.Module(), b.Sum)
	if err != nil {
		a.fail(lock.SumFile, err)
	} else if a.st.sum.Hash(b.Module()) == "" {
		a.add(lock.SumFile, diag.Errorf(
			diag.LockStale,
			0,
			0,
			"it has no line for %s, which is locked",
			b.Module(),
		))
	}
}

// age warns about a version that is younger than the rules allow: another machine
// accepted it, or the rule is newer.
func (a *auditor) age(b lock.Bundle, seen time.Time) {
	if seen.IsZero() {
		return
	}
	err := checkAge(a.rules, a.e.p.Now(), seen, b.Module())
	if err != nil {
		a.add(lock.LockFile, diag.Warnf(diag.Cooldown, 0, 0, "%s", err))
	}
}
