package status

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/githook"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/verify"
)

// Status is an overview of a project for its user.
type Status struct {
	Project string `json:"project"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version"` // of rye
	Needs   string `json:"requires_rye,omitempty"`

	Key    KeyStatus         `json:"key"`
	Hooks  map[string]string `json:"hooks,omitempty"` // by name; none without a git repository
	Repo   bool              `json:"repository"`
	NoGit  bool              `json:"no_git,omitempty"`    // git was not found, so that Repo and Hooks are not known
	GitErr string            `json:"git_error,omitempty"` // git failed, so that they are not known
	Trust  TrustStatus       `json:"trust"`
	Items  ItemStatus        `json:"items"`
	Lock   LockStatus        `json:"lock"`
	Drafts []string          `json:"drafts"` // refs that no person has signed
	Ending []EndingKey       `json:"ending"` // keys of other people that end soon
	Notes  []diag.Finding    `json:"notes,omitempty"`
}

// KeyStatus describes the key that signs by default.
type KeyStatus struct {
	Fingerprint string    `json:"fingerprint,omitempty"` // "" if there is none
	Owner       string    `json:"owner,omitempty"`
	NotAfter    time.Time `json:"not_after,omitzero"`
	Days        int       `json:"days_left"`
	HasFile     bool      `json:"has_file"`         // the private key is a file on this machine
	Signs       bool      `json:"signs"`            // a trusted file of the project is signed by it
	Reason      string    `json:"reason,omitempty"` // why no key signs
}

// TrustStatus describes the trusted keys and the project's own documents.
type TrustStatus struct {
	Keys    int            `json:"keys"`
	Set     trust.SetState `json:"set"`
	Pending []string       `json:"pending"` // documents in the project about keys that are not trusted
}

// ItemStatus counts the files of the project by verdict.
type ItemStatus struct {
	Trusted  int      `json:"trusted"`
	Changed  []string `json:"changed"`  // refs, last signed by this user
	Unsigned []string `json:"unsigned"` // refs
	Refused  []string `json:"refused"`  // paths with another error
}

// The states of a lock.
const (
	LockUpToDate   = "up to date"
	LockStale      = "stale"
	LockNone       = "none"
	LockMissing    = "missing"
	LockUnreadable = "unreadable"
)

// LockStatus compares rye.lock with the project.
type LockStatus struct {
	State     string `json:"state"`
	Entries   int    `json:"entries"`
	Bundles   int    `json:"bundles"`
	Missing   int    `json:"missing"` // files or bundles that are not installed
	Problems  int    `json:"problems"`
	FirstText string `json:"first,omitempty"` // the message of the first problem
}

// EndingKey is a trusted key whose validity ends soon.
type EndingKey struct {
	Fingerprint sign.Fingerprint `json:"fingerprint"`
	Owner       string           `json:"owner"`
	Signed      string           `json:"signed"` // a file or a bundle that it signed
	Days        int              `json:"days_left"`
}

// Of verifies the project and returns an overview. It writes nothing.
func Of(ctx context.Context, p *project.Project) (*Status, error) {
	root, err := p.NeedProject()
	if err != nil {
		return nil, err
	}
	s := &Status{
		Project: p.Spaces.ProjectDir,
		Version: p.Env.Version,
		Drafts:  []string{},
		Ending:  []EndingKey{},
		Notes:   p.BadTrust,
	}
	if p.Lock != nil && p.Lock.ProjectFile != nil {
		s.Name = p.Lock.ProjectFile.Name()
		s.Needs = p.Lock.ProjectFile.RequiresRye
	}
	s.Key = keyStatus(p)
	s.Trust = trustStatus(p)
	if err := hookStatus(ctx, p, s); err != nil {
		return nil, err
	}
	params := verify.Params{
		Resolver: p.Walker(),
		Trust:    p.Trust,
		Ignored:  p.Ignored(),
		Filtered: p.Filtered(),
	}
	judge := relock.NewJudge(ctx, p)
	if judge != nil {
		params.Each = judge.Item
	}
	report, err := verify.Root(ctx, params, root)
	if err != nil {
		return nil, err
	}
	itemStatus(p, report, s)
	usedEndings(p, report, s)
	if s.Lock, err = lockStatus(ctx, p, report, judge); err != nil {
		return nil, err
	}
	return s, nil
}

func keyStatus(p *project.Project) KeyStatus {
	fp, err := p.Keys.OwnKey("")
	if err != nil {
		return KeyStatus{Reason: err.Error()}
	}
	k, _ := p.Trust.Key(fp)
	_, missing := os.Lstat(p.Keys.KeyFile(fp))
	return KeyStatus{
		Fingerprint: fp.String(),
		Owner:       k.Owner,
		NotAfter:    k.NotAfter,
		Days:        daysLeft(p, k.NotAfter),
		HasFile:     missing == nil,
	}
}

func daysLeft(p *project.Project, end time.Time) int {
	return int(end.Sub(p.Env.Now()) / (24 * time.Hour))
}

func trustStatus(p *project.Project) TrustStatus {
	s := TrustStatus{Set: p.Trust.ProjectSet().State, Pending: []string{}}
	for _, k := range p.Trust.Keys() {
		if k.State.Usable() && !k.EmbeddedOnly {
			s.Keys++
		}
	}
	for _, x := range p.Trust.Proposals() {
		if x.Sound && !x.Known && !x.Counts {
			s.Pending = append(s.Pending, project.InProject(p.Spaces.ProjectDir, x.Path))
		}
	}
	return s
}

func hookStatus(ctx context.Context, p *project.Project, s *Status) error {
	repo, err := p.Env.In(p.Spaces.ProjectDir).Repo(ctx)
	var e *diag.Error
	switch code := diag.CodeOf(err); {
	case code == diag.SourceNotFound: // not in a repository
		return nil
	case code == diag.ExecutionFailed && errors.As(err, &e) && e.Reason == "not_installed":
		s.NoGit = true
		return nil
	case code == diag.ExecutionFailed: // for example for a configuration that git cannot read
		s.GitErr = err.Error()
		return nil
	case err != nil:
		return err
	}
	s.Repo = repo.WorkTree != ""
	s.Hooks, err = githook.Status(ctx, repo)
	if diag.CodeOf(err) == diag.Usage { // another program manages them
		return nil
	}
	return err
}

func itemStatus(p *project.Project, report *verify.Report, s *Status) {
	failed := map[string]bool{}
	for _, f := range report.Findings {
		if f.Severity == diag.SeverityError {
			failed[f.Path] = true
		}
	}
	s.Items = ItemStatus{Changed: []string{}, Unsigned: []string{}, Refused: []string{}}
	for _, f := range report.Files {
		v := f.Verdict
		name := cmp.Or(f.Ref, f.Path)
		switch {
		case isDraft(f.Ref) && (v.Agent || v.Code == diag.Unsigned):
			s.Drafts = append(s.Drafts, name)
		case v.OK() && !failed[f.Path]:
			s.Items.Trusted++
		case v.Code == diag.Unsigned:
			s.Items.Unsigned = append(s.Items.Unsigned, name)
		case v.Code == diag.HashMismatch && ownKey(p, v.Signer):
			s.Items.Changed = append(s.Items.Changed, name)
		default:
			failed[f.Path] = true
		}
		if v.Code == diag.Unsigned || v.Code == diag.HashMismatch && ownKey(p, v.Signer) {
			delete(failed, f.Path)
		}
	}
	for path := range failed {
		s.Items.Refused = append(s.Items.Refused, path)
	}
	slices.Sort(s.Items.Refused)
}

func isDraft(ref string) bool {
	_, id, _ := strings.Cut(ref, ":")
	return strings.HasPrefix(id, trust.Drafts)
}

func ownKey(p *project.Project, fp sign.Fingerprint) bool {
	k, known := p.Trust.Key(fp)
	return known && k.Own && !k.Agent()
}

// lockStatus adds the findings about the lock to those about the items: what breaks
// an item is not also a problem of the lock.
func lockStatus(
	ctx context.Context,
	p *project.Project,
	report *verify.Report,
	judge *relock.Judge,
) (LockStatus, error) {
	items := len(report.Findings)
	if err := VerifyLock(ctx, p, report, judge); err != nil {
		return LockStatus{}, err
	}
	s := LockStatus{State: LockUpToDate}
	for _, f := range report.Findings[items:] {
		switch {
		case f.Code == diag.BundleFileMissing:
			s.Missing++
		case f.Severity == diag.SeverityError || f.Code == diag.LockMissing:
			s.Problems++
			s.FirstText = cmp.Or(s.FirstText, f.Message)
		}
	}
	switch {
	case len(p.LockErrs) > 0:
		s.State, s.FirstText = LockUnreadable, p.LockErrs[0].Error()
	case p.Lock == nil && s.Problems > 0:
		s.State = LockMissing
	case p.Lock == nil:
		s.State = LockNone
	case s.Problems > 0:
		s.State = LockStale
	}
	if p.Lock != nil && p.Lock.Lock != nil {
		l := p.Lock.Lock
		s.Bundles = len(l.Bundles)
		s.Entries = len(l.Bundles) + len(l.Adopted) + len(l.Items) + len(l.Members)
	}
	return s, nil
}

// usedEndings adds the keys of other people that end soon and that signed a file of
// the project or a locked bundle.
func usedEndings(p *project.Project, report *verify.Report, s *Status) {
	soon := map[sign.Fingerprint]trust.KeyInfo{}
	for _, e := range relock.Endings(p) {
		if !e.Key.Own {
			soon[e.Key.Fingerprint] = e.Key
		}
	}
	add := func(fp sign.Fingerprint, signed string) {
		if k, ends := soon[fp]; ends {
			delete(soon, fp)
			s.Ending = append(s.Ending, EndingKey{
				Fingerprint: fp,
				Owner:       k.Owner,
				Signed:      signed,
				Days:        daysLeft(p, k.NotAfter),
			})
		}
	}
	if p.Lock != nil && p.Lock.Lock != nil {
		for _, b := range p.Lock.Lock.Bundles {
			for _, signer := range b.Signers {
				_, hex, _ := strings.Cut(signer, ":")
				if fp, err := sign.ParseFingerprint(hex); err == nil {
					add(fp, b.ID.String())
				}
			}
		}
	}
	for _, f := range report.Files {
		if f.Verdict.OK() && f.Space == string(space.Project) {
			s.Key.Signs = s.Key.Signs || f.Verdict.Signer.String() == s.Key.Fingerprint
			add(f.Verdict.Signer, cmp.Or(f.Ref, f.Path))
		}
	}
}
