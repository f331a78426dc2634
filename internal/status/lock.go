package status

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/export"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/internal/revision"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/adopt"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/verify"
)

// VerifyLock adds the findings about the project's lock to a report. judge saw every item
// of the project in the walk that made the report; it is nil without a lock.
func VerifyLock(ctx context.Context, p *project.Project, report *verify.Report, judge *relock.Judge) error {
	verifyAgents(ctx, p, report)
	for _, err := range p.LockErrs {
		report.Fail(lock.LockFile, err)
	}
	if len(p.LockErrs) == 0 {
		report.Findings = append(report.Findings, verify.Unlocked(p.Spaces.Roots, adoptedDirs(p)...)...)
	}
	if p.Lock == nil {
		if len(p.LockErrs) == 0 {
			lockMissing(p, report)
		}
		return nil
	}
	report.Findings = append(report.Findings, p.Lock.Notes...)
	report.Findings = append(report.Findings, adopt.Findings(Adopted(p))...)
	copies, err := copyFindings(ctx, p)
	if err != nil {
		report.Fail(export.RecordPath, err)
	}
	report.Findings = append(report.Findings, copies...)
	sum, _, err := lock.ReadSum(p.Files)
	if err != nil {
		report.Fail(lock.SumFile, err)
	}
	items, bad := judge.Result(ctx)
	partial := revision.Partial(p)
	if partial { // what leads to a bundle that is elsewhere cannot be followed
		bad = slices.DeleteFunc(bad, func(f diag.Finding) bool {
			return f.Code == diag.BundleFileMissing
		})
	}
	report.Findings = append(report.Findings, unsaid(bad, report.Findings)...)
	stale, err := p.Lock.Stale()
	if err != nil {
		report.Fail(lock.ProjectFileName, err)
	}
	r, err := verify.Lock(ctx, verify.LockParams{
		Params:  verify.Params{Resolver: p.Walker(), Trust: p.Trust},
		Lock:    p.Lock.Lock,
		Sum:     sum,
		Items:   items,
		Stale:   stale,
		Lenient: p.Env.Unlocked,
		Partial: partial,
		Sparse: func(refs []item.Ref) map[item.Ref]bool {
			return deps.LeftOut(ctx, p, refs)
		},
		Vendored: p.Lock.ProjectFile != nil && p.Lock.ProjectFile.Vendor,
		Caps:     project.ItemCaps,
		Check:    judge.Differs,
	})
	if err != nil {
		return err
	}
	if p.Env.KeepsLock() {
		r.Findings = append(r.Findings, lock.Replaced(p.Lock.ProjectFile, p.Lock.Lock)...)
	}
	if p.Lock.ProjectFile != nil {
		r.Findings = append(r.Findings, p.Lock.ProjectFile.IdleTrust(p.Lock.Lock, ownBundles(p)...)...)
	}
	report.Merge(r)
	return nil
}

// Adopted judges the adopted sources of an opened project. It needs no network.
func Adopted(p *project.Project) []adopt.Source {
	if p.Lock == nil {
		return nil
	}
	params := adopt.VerifyParams{
		Files:   p.Files,
		Lock:    p.Lock.Lock,
		Project: p.Lock.ProjectFile,
		Rules:   p.Rules,
		Trust:   p.Trust,
	}
	// Files of a commit have no install directory.
	if dir, ok := p.Files.(lock.Dir); ok {
		params.Base = string(dir)
	}
	return adopt.Verify(params)
}

func adoptedDirs(p *project.Project) []string {
	if p.Lock == nil {
		return nil
	}
	return adopt.InstallDirs(p.Lock.Lock)
}

// ownBundles returns the names under which this project and its members are
// released.
func ownBundles(p *project.Project) []string {
	var out []string
	if name := p.Lock.ProjectFile.Name(); name != "" {
		out = append(out, name)
	}
	for _, m := range p.Lock.Lock.Members {
		out = append(out, m.Name())
	}
	root := p.Spaces.Of(space.Project)
	if root == nil {
		return out
	}
	manifests, _ := resolve.Manifests(root) // a directory that cannot be listed is reported by the walk
	for _, m := range manifests {
		out = append(out, m.ID)
	}
	return out
}

// lockMissing judges a project without a lock: an error if it requires bundles or if
// --locked was given, else a note.
func lockMissing(p *project.Project, report *verify.Report) {
	if p.Env.Locked || p.Files == nil {
		if err := p.CheckLocked(); err != nil {
			report.Fail(lock.LockFile, err)
		}
		return
	}
	m, _, err := lock.ReadProjectFile(p.Files, "")
	switch {
	case err != nil:
		report.Fail(lock.ProjectFileName, err)
	case m != nil && len(m.Require)+len(m.Workspace) > 0:
		f := diag.Errorf(diag.LockMissing, 1, 1, "it requires bundles, and %s does not exist", lock.LockFile)
		if p.Env.Unlocked {
			f.Severity = diag.SeverityWarning
		}
		f.Path = lock.ProjectFileName
		report.Findings = append(report.Findings, f.WithReason("relock"))
	default:
		p.Env.Person.Notef("%s does not exist, so no item is locked; rye lock writes it", lock.LockFile)
	}
}

// unsaid returns the findings whose file no error is known about yet: what
// breaks a file breaks its chain, too.
func unsaid(fs, known []diag.Finding) []diag.Finding {
	failed := map[string]bool{}
	for _, f := range known {
		failed[f.Path] = failed[f.Path] || f.Severity == diag.SeverityError
	}
	return slices.DeleteFunc(fs, func(f diag.Finding) bool {
		return failed[f.Path]
	})
}

// VerifyBase compares the lock and the sum with another revision's: a change that touches
// nothing else must not change them. The states of logs in both are compared with the states
// that this account saw. Nothing of it needs a network. accepted are the refs whose new
// prefer a maintainer accepts.
func VerifyBase(
	ctx context.Context,
	p *project.Project,
	base string,
	accepted []string,
	report *verify.Report,
) error {
	if p.Files == nil {
		return nil
	}
	repo, err := p.Env.Repo(ctx)
	if err != nil {
		return err
	}
	if base, err = baseOf(ctx, p.Env, repo, base); err != nil {
		return err
	}
	at, err := p.FilesAt(ctx, repo, base)
	if err != nil {
		return err
	}
	old, err := compareBase(p, base, at, report)
	if err != nil || p.Lock == nil {
		return err
	}
	gossip(ctx, p, base, old, report)
	// A change that weakens a rule is judged by the rule of the base.
	rules := project.WithManifest(p.Rules, p.Lock.ProjectFile)
	was := packages.RuleFile{Path: base + ":" + lock.ProjectFileName, ProjectFile: &lock.ProjectFile{}}
	m, _ := lock.ParseProjectFile(at[lock.ProjectFileName])
	if m != nil {
		was.ProjectFile = m
		rules = append(rules, was)
	}
	report.Findings = append(report.Findings, packages.Weakened(was, p.Lock.ProjectFile, func(ref string) string {
		if slices.Contains(accepted, ref) {
			return ""
		}
		return replacedBy(ctx, p, ref)
	})...)
	if err := relock.BaseExpired(ctx, p, old, report); err != nil {
		return err
	}
	return baseAges(ctx, p, repo, base, old, at[lock.SumFile], rules, report)
}

// gossip compares the states of logs in both locks with those that this account saw.
func gossip(
	ctx context.Context,
	p *project.Project,
	base string,
	old *lock.Lock,
	report *verify.Report,
) {
	r := deps.RegistriesOf(p)
	lists := map[string][]lock.Registry{lock.LockFile: p.Lock.Lock.Registries}
	if old != nil {
		lists[base+":"+lock.LockFile] = old.Registries
	}
	for from, list := range lists {
		if err := r.Gossip(ctx, list, from); err != nil {
			report.Fail(lock.LockFile, err)
		}
	}
}

// replacedBy returns the item outside of the project and its bundles that a preferred item
// replaces, as a predicate, or "".
func replacedBy(ctx context.Context, p *project.Project, name string) string {
	ref, err := item.ParseRef(name, "")
	if err != nil {
		return ""
	}
	if space.Reserved(ref) {
		return "is below rye/ or a setting of the system"
	}
	entries, err := p.Resolver.Shadows(ctx, ref)
	if err != nil {
		return "cannot be compared with other spaces: " + err.Error()
	}
	for _, e := range entries {
		if e.Root.Space != space.Project {
			return "is used instead of the item of " + e.Root.Label()
		}
	}
	return ""
}

func compareBase(
	p *project.Project,
	base string,
	at map[string][]byte,
	report *verify.Report,
) (*lock.Lock, error) {
	var old *lock.Lock
	if b := at[lock.LockFile]; b != nil {
		var found []diag.Finding
		if old, found = lock.ParseLock(b); old == nil {
			return nil, diag.FromFindings(
				"reading "+base+":"+lock.LockFile,
				diag.WithPath(found, lock.LockFile),
			)
		}
	}
	if p.Lock == nil {
		if old != nil && len(old.Bundles) > 0 && len(p.LockErrs) == 0 {
			report.Fail(lock.LockFile, diag.New(diag.LockMissing, "reading %s: %s has it, and here it was removed", lock.LockFile, base))
		}
	} else {
		report.Findings = append(report.Findings, verify.Base(
			old,
			p.Lock.Lock,
			p.Lock.ProjectFile,
			func(now, was string) bool {
				return succeeds(p, now, was)
			},
		)...)
	}
	now, _, err := lock.ReadSum(p.Files)
	if err == nil {
		report.Findings = append(report.Findings, verify.BaseSum(at[lock.SumFile], now)...)
	}
	return old, nil
}

// succeeds reports whether a signer of a lock entry is equal to another, or rotated from it.
func succeeds(p *project.Project, now, was string) bool {
	a, err1 := sign.ParseFingerprint(now[strings.IndexByte(now, ':')+1:])
	b, err2 := sign.ParseFingerprint(was[strings.IndexByte(was, ':')+1:])
	return err1 == nil && err2 == nil && p.Trust.Succeeds(a, b)
}

// baseAges reports releases that the lock of the base does not have and that are
// known for less time than policy.min-age demands. A release is known since this
// account first saw it, or since the branch of the base got its line of rye.sum. The
// dates of the release and of the verified commits are not used: their authors
// choose them.
func baseAges(
	ctx context.Context,
	p *project.Project,
	repo *gitcmd.Repo,
	base string,
	old *lock.Lock,
	sum []byte,
	rules packages.Rules,
	report *verify.Report,
) error {
	if _, age := rules.MinAge(); age <= 0 {
		return nil
	}
	baseSum, _ := lock.ParseSum(sum)
	for _, b := range p.Lock.Lock.Bundles {
		if b.Sum == "" {
			continue
		}
		was := old.Bundle(b.ID)
		if was != nil && was.Version == b.Version && was.Sum == b.Sum {
			continue
		}
		known, err := knownSince(ctx, p, repo, base, baseSum, b)
		if err != nil {
			return err
		}
		err = rules.CheckAge(p.Env.Now(), known, b.Module())
		if err != nil {
			report.Fail(lock.LockFile, err)
		}
	}
	return nil
}

// knownSince returns the earlier of both times, zero if there is none.
func knownSince(
	ctx context.Context,
	p *project.Project,
	repo *gitcmd.Repo,
	base string,
	sum *lock.Sum,
	b lock.Bundle,
) (time.Time, error) {
	var known time.Time
	if p.Dirs.State != "" {
		var err error
		if known, err = packages.FirstSeen(deps.SeenFile(p), b); err != nil {
			return known, err
		}
	}
	if sum == nil || sum.Hash(b.Module()) != b.Sum {
		return known, nil
	}
	line := lock.SumLine{Module: b.Module(), Hash: b.Sum}
	at, err := repo.Since(
		ctx,
		base,
		p.PrefixIn(repo)+lock.SumFile,
		line.String(),
	)
	if err == nil &&
		!at.IsZero() &&
		(known.IsZero() || at.Before(known)) {
		known = at
	}
	return known, err
}

// verifyAgents adds the errors, and the settings without effect, of the section about agents of
// rye.yaml. Files that cannot be read are reported by the other checks.
func verifyAgents(ctx context.Context, p *project.Project, report *verify.Report) {
	layers, err := p.PolicyLayers()
	if err != nil {
		return
	}
	found, err := resolve.AllowanceFindings(ctx, p.Resolver, layers)
	if err != nil {
		return
	}
	for _, f := range found {
		if f.Path == lock.ProjectFileName || f.Severity == diag.SeverityError {
			report.Findings = append(report.Findings, f)
		}
	}
}
