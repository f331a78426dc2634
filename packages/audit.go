package packages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// Audit is what is to be said today of what was locked some day.
type Audit struct {
	Bundles  []Audited      `json:"bundles"`
	Rules    []Rule         `json:"rules"` // that they were held against
	Findings []diag.Finding `json:"findings"`
}

// Audited is one locked bundle: who vouches for it, what it may do, and since
// when it is known here.
type Audited struct {
	ID        string          `json:"id"`
	Version   string          `json:"version"`
	State     string          `json:"state"` // as in Listed
	Signers   []AuditedSigner `json:"signers"`
	Caps      []string        `json:"caps"`
	Exec      []string        `json:"exec"`
	FirstSeen time.Time       `json:"first_seen,omitzero"` // by this account; zero when it never saw it
}

// AuditedSigner is a key that signed, and whether its signature counts today.
type AuditedSigner struct {
	Key    string    `json:"key"`
	Owner  string    `json:"owner,omitempty"`
	Counts bool      `json:"counts"`
	Code   diag.Code `json:"code,omitempty"` // why it does not
}

// Audit judges what is locked as it would be judged today: keys that were
// revoked or have ended since, the rules of rye.yaml, rye.sum, and what is
// installed. It asks nobody and changes nothing.
func (e *Engine) Audit(ctx context.Context) (*Audit, error) {
	st, err := e.read()
	if err != nil {
		return nil, err
	}
	rules := e.rules(st.manifest)
	a := &auditor{e: e, st: st, rules: rules, Audit: &Audit{Bundles: []Audited{}, Rules: rules.List(), Findings: []diag.Finding{}}}
	if len(st.lockText) == 0 {
		return a.Audit, nil // nothing is required
	}
	if a.seen, err = e.seenBefore(); err != nil {
		return nil, err
	}
	a.files()
	found := make([]*auditor, len(st.lock.Bundles))
	at := make([]int, len(found))
	for i := range at {
		at[i] = i
	}
	errs := each(ctx, at, func(i int) error {
		found[i] = &auditor{e: e, st: st, rules: rules, seen: a.seen, Audit: &Audit{}}
		found[i].bundle(st.lock.Bundles[i])
		return nil
	})
	if err := together("auditing bundles", errs); err != nil {
		return nil, err
	}
	for _, f := range found {
		a.Bundles, a.Findings = append(a.Bundles, f.Bundles...), append(a.Findings, f.Findings...)
	}
	return a.Audit, nil
}

// auditor gathers what there is to say.
type auditor struct {
	*Audit
	e     *Engine
	st    *state
	rules Rules
	seen  map[string]time.Time
}

func (a *auditor) add(f diag.Finding, path, fix string) {
	f.Path, f.Fix = path, fix
	a.Findings = append(a.Findings, f)
}

// fail adds an error as a finding.
func (a *auditor) fail(err error, path string) {
	var e *diag.Error
	switch fs := diag.FindingsOf(err); {
	case err == nil:
	case len(fs) > 0:
		a.Findings = append(a.Findings, fs...)
	case errors.As(err, &e):
		f := diag.Errorf(e.Code, 0, 0, "%s", err)
		if want, got := e.Details["expected"], e.Details["found"]; want != nil && got != nil {
			f.Message += fmt.Sprintf(" (expected %v, found %v)", want, got)
		}
		a.add(f, path, e.Hint)
	default:
		a.add(diag.Errorf(diag.UnknownError, 0, 0, "%s", err), path, "")
	}
}

// files judges the files as a whole.
func (a *auditor) files() {
	a.fail(a.st.current(), lock.LockFile)
	a.fail(a.e.rolledBack(a.st), lock.LockFile)
	for _, f := range lock.Replaced(a.st.manifest, a.st.lock) {
		f.Severity = diag.SeverityWarning
		a.Findings = append(a.Findings, f)
	}
	if a.e.p.System != (lock.System{}) {
		if err := a.st.lock.CheckSystem(a.e.p.System); err != nil {
			a.add(diag.Warnf(diag.CodeOf(err), 0, 0, "%s", err).WithReason("system"), lock.LockFile, "")
		}
	}
	dirs, err := a.e.extra(a.st.lock)
	a.fail(err, lock.LockFile)
	for _, dir := range a.e.shown(dirs) {
		a.add(diag.Warnf(diag.BundleFileExtra, 0, 0, "no lock names this bundle, so nothing uses it"), aiDir+"/"+bundlesDir+"/"+dir, "rye prune")
	}
}

// bundle judges one bundle. Of a folder of this machine only the rules for
// sources say anything.
func (a *auditor) bundle(b lock.Bundle) {
	x := Audited{ID: b.ID, Version: b.Version, State: StateFolder, Signers: []AuditedSigner{}, Caps: listed(b.Caps), Exec: listed(b.Exec)}
	a.sources(b)
	if installs(b) {
		x.State = a.installed(b)
		if x.State == StateInstalled {
			x.Exec = a.executables(b)
		}
		x.Signers = a.signers(b, x.State)
		x.FirstSeen = a.seen[sightKey(b)]
		a.sum(b)
		a.caps(b)
		a.age(b, x.FirstSeen)
	}
	a.Bundles = append(a.Bundles, x)
}

// listed is a list that JSON shows as one.
func listed(list []string) []string { return append([]string{}, list...) }

func (a *auditor) sources(b lock.Bundle) {
	id, err := lock.ParseID(b.ID)
	if err != nil {
		a.fail(err, lock.LockFile)
		return
	}
	a.fail(a.rules.Source(b.Module(), id), lock.LockFile)
	if r, err := lock.ParseReplacement(b.Replace); b.Replace != "" && err == nil && r.Path != "" {
		a.fail(a.rules.Folder(b.Module(), r.Path), lock.LockFile)
	} else if id.Kind == lock.PathID {
		a.fail(a.rules.Folder(b.Module(), id.Repo), lock.LockFile)
	}
}

// installed compares what stands in the space with the lock.
func (a *auditor) installed(b lock.Bundle) string {
	err := a.e.intact(b)
	dir, _ := a.e.place(b)
	state := stateOf(err != nil, dir != "" && exists(dir))
	switch state {
	case StateMissing:
		a.add(diag.Errorf(diag.Drift, 0, 0, "%s: it is locked and not installed", b.Module()), lock.LockFile, "rye sync")
	case StateChanged:
		a.add(diag.Errorf(diag.LockMismatch, 0, 0, "%s: what is installed is not what is locked: %s", b.Module(), err), lock.LockFile, "rye sync installs what is locked")
	}
	return state
}

// executables returns the executable files of an intact bundle, and says so when
// the lock names others: its hash holds the files, and not the list.
func (a *auditor) executables(b lock.Bundle) []string {
	out := []string{}
	dir, err := a.e.place(b)
	if err != nil || runtime.GOOS == "windows" {
		return listed(b.Exec)
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
		a.add(diag.Errorf(diag.FileSystemError, 0, 0, "%s: reading its files: %s", b.Module(), err), lock.LockFile, "")
	} else if !slices.Equal(out, b.Exec) {
		a.add(diag.Errorf(diag.LockMismatch, 0, 0, "%s: the lock names other executables than it has (expected %v, found %v)", b.Module(), b.Exec, out),
			lock.LockFile, "look at who changed rye.lock")
	}
	return out
}

// signers judges every key that the lock names. The manifest's own signature is
// judged with its time where it is at hand; of the others the state of the key
// decides.
func (a *auditor) signers(b lock.Bundle, state string) []AuditedSigner {
	if len(b.Signers) == 0 {
		a.add(diag.Errorf(diag.Unsigned, 0, 0, "%s: the lock names nobody who signed it", b.Module()), lock.LockFile, "remove the entry, then rye lock")
		return []AuditedSigner{}
	}
	var v trust.Verdict
	name := ""
	if state == StateInstalled {
		v, name = a.manifest(b)
	}
	main := SignerText(v.Signer)
	named := v.Signer == (sign.Fingerprint{})
	out, counting := []AuditedSigner{}, []string{}
	for _, key := range b.Signers {
		s, why := a.e.signer(key)
		if key == main {
			named = true
			s, why = AuditedSigner{Key: key, Owner: v.Owner, Counts: v.OK(), Code: v.Code}, v.Reason()
		} else if back := a.e.p.Trust.ReleaseRevoked(b.Manifest, signersOf(lock.Bundle{Signers: []string{key}})); back != "" {
			s.Counts, s.Code, why = false, diag.Revoked, back
		}
		if out = append(out, s); s.Counts {
			counting = append(counting, key)
			continue
		}
		a.add(diag.Errorf(s.Code, 0, 0, "%s: signed by %s, which does not count today: %s", b.Module(), key, why), lock.LockFile, strangers(s.Code))
	}
	if !named {
		a.add(diag.Errorf(diag.SignerChanged, 0, 0, "%s: the lock does not name %s, which signed its manifest", b.Module(), main), lock.LockFile, "look at who changed rye.lock")
	}
	a.fail(CheckSigners(b.Module(), a.rules.SignerRules(a.e.p.Trust, b.Module(), name), counting), lock.LockFile)
	return out
}

// strangers is what to do about a signature that does not count, "" where the
// code's own hint serves.
func strangers(code diag.Code) string {
	switch code {
	case diag.KeyUnknown, diag.Scope:
		return "get the publisher's trust document from somebody you know, read it, then rye trust add FILE"
	case diag.Revoked:
		return otherRelease
	}
	return ""
}

// manifest judges the manifest of an installed bundle and returns how it names
// the bundle. It says so when it is not the one that is locked or nobody's.
func (a *auditor) manifest(b lock.Bundle) (v trust.Verdict, name string) {
	v, m := a.e.manifestVerdict(b)
	if m != nil {
		name = m.ID
	}
	if m != nil && a.e.has(b, lock.ManifestFile) && !m.Lists(lock.ManifestFile) {
		a.add(diag.Warnf(diag.BundleFileExtra, 0, 0, "%s: its manifest does not list its %s: what it requires is not signed", b.Module(), lock.ManifestFile),
			lock.LockFile, "ask its publisher for a release whose manifest a newer rye made")
	}
	switch {
	case v.Status == "":
		a.add(diag.Errorf(diag.LockMismatch, 0, 0, "%s: what is installed holds no manifest %s, which the lock names", b.Module(), b.Manifest), lock.LockFile, "look at who changed rye.lock")
	case v.Signer == (sign.Fingerprint{}):
		a.add(diag.Errorf(v.Code, 0, 0, "%s: nobody signed its manifest: %s", b.Module(), v.Reason()), lock.LockFile, "")
	}
	return v, name
}

// signer says of a key alone whether it counts.
func (e *Engine) signer(key string) (AuditedSigner, string) {
	s := AuditedSigner{Key: key, Code: diag.KeyUnknown}
	fp, err := parseSigner(key)
	if err != nil {
		return s, "it is no fingerprint"
	}
	info, known := e.p.Trust.Key(fp)
	if !known {
		return s, "no trust document of yours names it"
	}
	s.Owner = info.Owner
	switch info.State {
	case trust.StateValid, trust.StateGrace:
		s.Counts, s.Code = true, ""
	case trust.StateRevoked:
		s.Code = diag.Revoked
	case trust.StateExpired:
		s.Code = diag.Expired
	case trust.StateNotYetValid:
		s.Code = diag.NotYetValid
	case trust.StateWeak:
		s.Code = diag.KeyWeak
	}
	return s, "the key is " + string(info.State)
}

// has reports whether an installed bundle holds a file.
func (e *Engine) has(b lock.Bundle, name string) bool {
	dir, err := e.place(b)
	return err == nil && exists(filepath.Join(dir, name))
}

// manifestVerdict judges the manifest that the lock names, where it stands, and
// reads it; nil means that it cannot be read.
func (e *Engine) manifestVerdict(b lock.Bundle) (v trust.Verdict, m *bundle.Manifest) {
	dir, err := e.place(b)
	if err != nil {
		return v, nil
	}
	top := filepath.Join(dir, aiDir, bundlesDir)
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
		v = e.verdict(rel, text, nil, bundle.Subject(name))
		m, _ = bundle.Parse(text)
		return fs.SkipAll
	})
	return v, m
}

// sum holds the lock against rye.sum.
func (a *auditor) sum(b lock.Bundle) {
	if err := a.st.sum.Check(b.Module(), b.Sum); err != nil {
		a.fail(err, lock.SumFile)
	} else if a.st.sum.Hash(b.Module()) == "" {
		a.add(diag.Errorf(diag.LockStale, 0, 0, "it has no line for %s, which is locked", b.Module()), lock.SumFile, "rye lock")
	}
}

func (a *auditor) caps(b lock.Bundle) { a.fail(a.rules.Caps(b.Module(), b.Caps), lock.LockFile) }

// age warns of a version that was accepted before it was as old as it should
// be: by another machine, or before the rule.
func (a *auditor) age(b lock.Bundle, seen time.Time) {
	if seen.IsZero() {
		return
	}
	if err := cooled(a.rules, a.e.p.Now(), seen, b.Module()); err != nil {
		a.add(diag.Warnf(diag.Cooldown, 0, 0, "%s", err), lock.LockFile, "")
	}
}

// seenBefore returns when versions were first seen, without noting any.
func (e *Engine) seenBefore() (map[string]time.Time, error) {
	all := map[string]time.Time{}
	if e.p.Seen == "" {
		return all, nil
	}
	b, err := os.ReadFile(e.p.Seen)
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.FileSystemError, "reading when versions were first seen (%s): %w", e.p.Seen, err)
	}
	return all, nil
}
