package status

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// CIRoot is a key that a machine without a user has to trust to verify the project.
type CIRoot struct {
	Fingerprint sign.Fingerprint `json:"fingerprint"`
	Owner       string           `json:"owner"`
	Bundles     []string         `json:"bundles,omitempty"` // locked bundles that it signed; none for the user's own key
}

// CIRoots returns the user's own key, and the keys of other people that signed locked
// bundles and that this user trusts. A key that the user's key endorsed is left out:
// CI finds the endorsement in the project. A user without a key needs none if the
// project only requires bundles.
func CIRoots(p *project.Project) ([]CIRoot, error) {
	var roots []CIRoot
	key, err := p.Keys.OwnKey("")
	if err == nil {
		k, _ := p.Trust.Key(key)
		roots = append(roots, CIRoot{Fingerprint: key, Owner: k.Owner})
	} else if r := diag.CodeOf(err); r != diag.AuthRequired {
		return nil, err
	}
	if p.Lock != nil {
		for _, b := range p.Lock.Lock.Bundles {
			for _, s := range b.Signers {
				roots = addSigner(p, roots, key, s, b.ID.String())
			}
		}
	}
	if len(roots) == 0 {
		return nil, err
	}
	return roots, nil
}

// addSigner adds the signer of a bundle. Keys that this user does not trust stay
// untrusted in CI.
func addSigner(p *project.Project, roots []CIRoot, key sign.Fingerprint, signer, bundle string) []CIRoot {
	_, hex, _ := strings.Cut(signer, ":")
	fp, err := sign.ParseFingerprint(hex)
	if err != nil || fp == key {
		return roots
	}
	k, known := p.Trust.Key(fp)
	byOwn := func(file string) bool {
		return strings.Contains(filepath.Base(file), "-by-"+key.String())
	}
	refused := k.State == trust.StateRevoked ||
		k.State == trust.StateNotTrusted ||
		k.State == trust.StateWeak
	if !known ||
		k.Tier == "" ||
		k.EmbeddedOnly ||
		refused ||
		slices.ContainsFunc(k.Endorsements, byOwn) {
		return roots
	}
	i := slices.IndexFunc(roots, func(r CIRoot) bool {
		return r.Fingerprint == fp
	})
	if i >= 0 {
		roots[i].Bundles = append(roots[i].Bundles, bundle)
		return roots
	}
	return append(roots, CIRoot{Fingerprint: fp, Owner: k.Owner, Bundles: []string{bundle}})
}

// PublishRoots copies the documents of the keys into the project's trust directory,
// from which RYE_TRUST_ROOT selects them, and returns the paths of new files,
// relative to the project.
func PublishRoots(p *project.Project, roots []CIRoot) ([]string, error) {
	dir, err := p.ProjectTrust()
	if err != nil {
		return nil, err
	}
	var made []string
	for _, r := range roots {
		documents := p.Trust.Documents(r.Fingerprint)
		if len(documents) == 0 {
			return made, diag.New(diag.KeyUnknown, "exporting key %s: it has no trust document", r.Fingerprint.Short())
		}
		d := documents[0]
		b, err := openat.ReadRegular(d.Path, doc.MaxDocument)
		if err != nil {
			return made, diag.New(diag.FileSystemError, "reading the trust document: %w", err)
		}
		at := filepath.Join(dir, d.Name())
		if d.Path == at || sameFile(at, b) {
			continue
		}
		at, err = trust.AddToProject(dir, d.Name(), b)
		if err != nil {
			return made, err
		}
		made = append(made, project.InProject(p.Spaces.ProjectDir, at))
	}
	return made, nil
}

func sameFile(path string, b []byte) bool {
	was, err := openat.ReadRegular(path, doc.MaxDocument)
	return err == nil && string(was) == string(b)
}

// maxEvent bounds the description of an event that GitHub writes.
const maxEvent = 16 << 20

// baseOf returns the revision that --base means. CI systems name the commit before a
// push: zeros for a new branch, and after a forced push one that the clone may not
// contain. Both mean the merge base with the default branch. A branch that does not
// exist stays an error, because it may be misspelled.
func baseOf(
	ctx context.Context,
	e *project.Env,
	repo *gitcmd.Repo,
	base string,
) (string, error) {
	if strings.Trim(base, "0123456789abcdef") != "" || len(base) != 40 && len(base) != 64 {
		return base, nil
	}
	if _, err := repo.Commit(ctx, base); err == nil {
		return base, nil
	}
	for _, branch := range defaultBranches(e) {
		if at, err := repo.MergeBase(ctx, "HEAD", branch); err == nil {
			e.Person.Notef("%s is not in this clone; the base is %s, the merge base with %s", base[:12], at[:12], branch)
			return at, nil
		}
	}
	return "", diag.New(diag.VersionNotFound, "resolving base %s: it is not in this clone, and the clone has no common commit with a default branch", base[:12]).
		WithReason("no_revision")
}

// defaultBranches returns the names under which the default branch may exist.
func defaultBranches(e *project.Env) []string {
	const remote = "refs/remotes/origin/"
	out := []string{remote + "HEAD"}
	if name := e.Getenv("CI_DEFAULT_BRANCH"); name != "" { // GitLab
		out = append(out, remote+name)
	}
	if file := e.Getenv("GITHUB_EVENT_PATH"); file != "" {
		var event struct {
			Repository struct {
				Branch string `json:"default_branch"`
			} `json:"repository"`
		}
		b, err := openat.ReadRegular(file, maxEvent)
		if err == nil &&
			json.Unmarshal(b, &event) == nil &&
			event.Repository.Branch != "" {
			out = append(out, remote+event.Repository.Branch)
		}
	}
	return append(out, remote+"main", remote+"master", "refs/heads/main", "refs/heads/master")
}
