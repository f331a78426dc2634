// Package githook signs staged items: it reads blobs of the index through git
// plumbing, signs them in memory and writes the signed blobs to the index, so
// that a commit has signed items even if the work tree differs.
//
// It changes a file of the work tree only if that equals its staged blob. It does
// not decide whether an item is valid (verify and primary do), does not start git
// (gitcmd does), and does not print.
package githook

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/verify"
)

// Kept is the state of an item with an intact signature of another key. It is not
// signed again: the user may not have read it.
const Kept primary.SignStatus = "kept"

// Params describes what to sign. Repo, Changes, Signer and Projects are required.
type Params struct {
	Repo      *gitcmd.Repo
	Changes   []gitcmd.Change // how the index differs from HEAD, whole
	Merging   []string        // commits that are being merged
	Check     bool            // change nothing, report what would change
	IndexOnly bool            // leave the work tree to Finish: another program has changed it for the moment
	Projects  []Project
	// Ask shows a text and asks a question about it; nil: rye cannot ask a person.
	// A staged text that differs from its file is signed only if the answer is yes.
	Ask       func(ctx context.Context, text, question string) (bool, error)
	Differing bool // the answer to all these questions is yes
	Getenv    func(string) string
	// Signer is called at most once, and only if something must be signed: it
	// may prompt for a passphrase.
	Signer func(ctx context.Context) (sign.Signer, error)
}

// Location is where a project is in the repository.
type Location struct {
	Prefix string // its path below the work tree: "" or "a/b/"
	Label  string // is put before the paths of the report
}

// Project is one project of the repository. Open is required.
type Project struct {
	Location
	// Open returns a resolver and the verbs over a project root that reads the index.
	Open func(project *space.Root) (*resolve.Resolver, *primary.Verbs, error)
	// Begin is called when the index is open. It may begin what Relock needs. It is nil
	// if nothing is to be begun.
	Begin func(ctx context.Context, index *verify.GitFiles)
	// Relock returns the new lock of the index after these items were signed and
	// others were deleted, nil if it does not change. Signed is the index with the
	// new bytes.
	Relock func(ctx context.Context, index *verify.GitFiles, signed space.Files, refs []item.Ref) (*LockChange, error)
}

// LockChange is an update of the lock in the index.
type LockChange struct {
	Entry    gitcmd.Entry // the entry to replace
	Was, Now []byte       // the texts; Was is the text of the entry
}

// Report is the result for the staged items.
type Report struct {
	Files []primary.SignReport `json:"files"`
	// Left are files that are signed in the index and not in the work tree,
	// because they have unstaged edits.
	Left     []string       `json:"left,omitempty"`
	Relocked bool           `json:"relocked,omitempty"` // the lock in the index was updated
	Findings []diag.Finding `json:"findings,omitempty"` // of staged files that are not items
}

// Failed reports whether the commit must be refused.
func (r *Report) Failed() bool {
	return diag.Failed(r.Findings) ||
		slices.ContainsFunc(r.Files, func(f primary.SignReport) bool {
			return diag.Failed(f.Findings)
		})
}

// staged is one item to sign.
type staged struct {
	it  *resolve.Item
	old gitcmd.Entry // the file to replace; its OID is "" if it is new
	out primary.SignedFile
	// blob is made while other items are signed.
	blob *gitcmd.Blob
}

// run is one project whose staged items are signed.
type run struct {
	Project
	*session
	rels   []string   // candidates, below .ai
	gone   bool       // files below .ai are deleted
	signed []item.Ref // candidates that the user has signed before
	files  *verify.GitFiles
	tools  func() (*tools, error) // begun when the index is open
	verbs  *primary.Verbs
	todo   []staged
	lock   *LockChange // nil if it does not change

	lockBlob *gitcmd.Blob
}

// session is one call of Sign.
type session struct {
	Params
	signer func() (sign.Signer, error) // calls Params.Signer once, when it is needed
	others func() (map[string]string, error)
	batch  *gitcmd.Batch // reads the objects for all projects
	cancel context.CancelFunc
	listed chan struct{}     // closed when the indexes of all projects are open, or one could not be opened
	read   map[string][]byte // staged blobs, by name
	writer *gitcmd.Repo      // Repo, which may have read its settings ahead
	blobs  *gitcmd.Encoder
	report *Report
	runs   []*run // projects with candidates
	tree   *tree
	// patches returns the edits that hook managers have removed from the work tree.
	patches func() []byte
}

// Sign signs the staged items of the projects. If one is refused, nothing changes.
func Sign(ctx context.Context, p Params) (*Report, error) {
	s := newSession(ctx, p)
	defer s.close()
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	if len(s.runs) == 0 || diag.Failed(s.report.Findings) {
		return s.report, nil
	}
	todo := 0
	for _, r := range s.runs {
		if err := r.prepare(ctx, r.rels); err != nil {
			return nil, err
		}
		todo += len(r.todo)
	}
	if s.report.Failed() { // nothing is signed, so no file is reported as signed
		s.report.Files = slices.DeleteFunc(s.report.Files, func(f primary.SignReport) bool {
			return f.Status == primary.Signed
		})
	}
	if s.report.Failed() || p.Check {
		return s.report, nil
	}
	for _, r := range s.runs {
		if err := r.relock(ctx); err != nil {
			return nil, err
		}
	}
	if todo == 0 && !s.report.Relocked {
		return s.report, nil
	}
	for _, r := range s.runs {
		if err := r.record(ctx); err != nil {
			return nil, err
		}
	}
	return s.report, s.write(ctx)
}

func newSession(ctx context.Context, p Params) *session {
	writer := *p.Repo
	s := &session{
		Params: p,
		writer: &writer,
		blobs:  p.Repo.Encoder(),
		listed: make(chan struct{}),
		read:   map[string][]byte{},
		report: &Report{Files: []primary.SignReport{}},
	}
	ctx, s.cancel = context.WithCancel(ctx)
	s.batch = p.Repo.Blobs(ctx)
	s.signer = sync.OnceValues(func() (sign.Signer, error) {
		signer, err := p.Signer(ctx)
		if !p.Check { // something will be written to the index
			s.writer.Git = p.Repo.ReadAhead(ctx)
		}
		return &serialSigner{Signer: signer}, err
	})
	s.tree, s.patches = newTree(p.Repo), sync.OnceValue(s.readPatches)
	s.others = sync.OnceValues(func() (map[string]string, error) {
		return s.elsewhere(ctx)
	})
	return s
}

// begin finds the projects with candidates. It opens their indexes while git reads the
// staged blobs, which are searched for secrets, and lists the blobs of other branches: no
// signature is asked for before all of that is done.
func (s *session) begin(ctx context.Context) error {
	for _, p := range s.Projects {
		r := &run{Project: p, session: s}
		var err error
		if r.rels, err = r.candidates(ctx); err != nil {
			return err
		}
		if len(r.rels) > 0 || r.gone {
			s.runs = append(s.runs, r)
		}
	}
	var found []diag.Finding
	var failed error
	var wg sync.WaitGroup
	if len(s.runs) > 0 {
		go func() { _, _ = s.others() }()
	}
	wg.Go(func() {
		found, failed = s.secrets(ctx)
	})
	err := s.open(ctx)
	close(s.listed)
	if wg.Wait(); err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	s.report.Findings = append(s.report.Findings, found...)
	for _, r := range s.runs {
		r.files.Offer(s.read)
	}
	return nil
}

// open opens the index of every project that has candidates.
func (s *session) open(ctx context.Context) (err error) {
	for _, r := range s.runs {
		if r.files, err = verify.IndexOver(ctx, s.Repo, r.Prefix, s.batch); err != nil {
			return err
		}
		r.files.Only(r.rels)
		r.tools = sync.OnceValues(func() (*tools, error) {
			return r.openTools(ctx)
		})
		go func() { _, _ = r.tools() }()
		if r.Begin != nil {
			r.Begin(ctx, r.files)
		}
	}
	return nil
}

func (s *session) close() {
	s.cancel()
	_ = s.batch.Close()
}

// record appends the signatures to the audit log. This precedes write: a signature
// must not exist without its record.
func (r *run) record(ctx context.Context) error {
	files := make([]primary.SignedFile, len(r.todo))
	for i, s := range r.todo {
		files[i] = s.out
	}
	return r.verbs.Record(ctx, files)
}

// candidates returns the paths below .ai of staged files that may be items.
// Files that come unchanged from a merged commit are left out: their author signs
// them.
func (r *run) candidates(ctx context.Context) ([]string, error) {
	top := r.Prefix + space.Dir
	changes := slices.DeleteFunc(slices.Clone(r.Changes), func(c gitcmd.Change) bool {
		below := c.Path == top || strings.HasPrefix(c.Path, top+"/")
		r.gone = r.gone || below && c.Status == 'D'
		return c.Status == 'D' || !below
	})
	for _, commit := range r.Merging {
		if len(changes) == 0 {
			break
		}
		ours, err := r.Repo.Staged(ctx, commit, top)
		if err != nil {
			return nil, err
		}
		differs := map[string]bool{}
		for _, c := range ours {
			differs[c.Path] = true
		}
		changes = slices.DeleteFunc(changes, func(c gitcmd.Change) bool {
			return !differs[c.Path]
		})
	}
	var rels []string
	for _, c := range changes {
		if f, bad := special(c); bad {
			r.report.Findings = append(r.report.Findings, f)
			continue
		}
		// A staged detached signature means that its file is checked.
		rels = append(rels, strings.TrimSuffix(
			strings.TrimPrefix(c.Path, top+"/"),
			extract.DetachedExt,
		))
	}
	slices.Sort(rels)
	return slices.Compact(rels), nil
}

// special returns the finding of a staged entry below .ai that is not a regular
// file.
func special(c gitcmd.Change) (f diag.Finding, bad bool) {
	switch {
	case c.Status == 'U':
		f = diag.Errorf(diag.NotRegular, 0, 0, "it is not merged").WithReason("unmerged")
	case c.Mode == gitcmd.ModeLink:
		f = diag.Errorf(diag.PathEscape, 0, 0, "a symbolic link below .ai")
	case !c.IsFile():
		f = diag.Errorf(diag.NotRegular, 0, 0, "a submodule below .ai").WithReason("submodule")
	default:
		return f, false
	}
	f.Path = c.Path
	return f, true
}

// tools are what items are read and signed with.
type tools struct {
	root     *space.Root // of the index
	resolver *resolve.Resolver
	verbs    *primary.Verbs
	table    *extract.Table
}

func (r *run) openTools(ctx context.Context) (*tools, error) {
	t := &tools{root: r.files.Root()}
	var err error
	if t.resolver, t.verbs, err = r.Open(t.root); err != nil {
		return nil, err
	}
	t.table, err = t.resolver.Table(ctx)
	return t, err
}

// prepare verifies every candidate and computes the files to write.
func (r *run) prepare(ctx context.Context, rels []string) error {
	t, err := r.tools()
	if err != nil {
		return err
	}
	root := t.root
	resolver := t.resolver
	r.verbs = t.verbs
	rels = slices.DeleteFunc(slices.Clone(rels), func(rel string) bool { // elsewhere reads r.rels at the same time
		at, _ := t.table.Classify(rel)
		_, here := r.files.Entry(rel)
		return !here ||
			at.Ref.IsZero() ||
			extract.Own(rel) ||
			extract.Incidental(rel) && !mayBeSigned(root, rel)
	})
	results := make([]result, len(rels))
	inParallel(len(rels), func(i int) {
		if ctx.Err() == nil {
			results[i] = r.one(ctx, resolver, root, rels[i])
		}
	})
	if err := r.confirmAll(ctx, results); err != nil {
		return err
	}
	inParallel(len(results), func(i int) {
		res := &results[i]
		if ctx.Err() == nil && res.err == nil && res.it != nil {
			r.sign(ctx, res.it, res)
		}
	})
	for _, res := range results {
		if res.err != nil {
			return res.err
		}
		r.report.Files = append(r.report.Files, r.labelled(res.report))
		if res.todo != nil {
			r.todo = append(r.todo, *res.todo)
		}
		if res.signed != nil {
			r.signed = append(r.signed, *res.signed)
		}
	}
	return ctx.Err()
}

// mayBeSigned reports whether a file has a signature or something similar.
func mayBeSigned(root *space.Root, rel string) bool {
	b, err := root.Read(rel, resolve.MaxItem)
	return err != nil ||
		bytes.Contains(b, []byte("rye:signed:")) ||
		root.Exists(rel+extract.DetachedExt)
}

// labelled puts the label of the project before the paths of a report.
func (r *run) labelled(f primary.SignReport) primary.SignReport {
	f.Path = r.Label + f.Path
	for i := range f.Findings {
		if f.Findings[i].Path != "" {
			f.Findings[i].Path = r.Label + f.Findings[i].Path
		}
	}
	return f
}

// workers is the number of items processed concurrently. More than one is useful
// because an ssh or gpg agent takes time to sign.
const workers = 4

// result is the outcome for one candidate.
type result struct {
	report primary.SignReport
	it     *resolve.Item // to be signed, or nil
	differ *difference   // of it and its file, nil if the texts are the same
	todo   *staged       // nil if nothing is to be written
	signed *item.Ref     // an item that the user has signed before
	err    error
}

// serialSigner serialises the calls of a signer.
type serialSigner struct {
	sign.Signer
	mu sync.Mutex
}

// Sign implements sign.Signer.
func (s *serialSigner) Sign(ctx context.Context, msg []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Signer.Sign(ctx, msg)
}

func (r *run) one(
	ctx context.Context,
	resolver *resolve.Resolver,
	root *space.Root,
	rel string,
) result {
	it, err := resolver.File(ctx, root, rel)
	if err != nil {
		return result{report: refused(root.Display(rel), err), err: ctx.Err()}
	}
	return r.item(ctx, it)
}

func refused(path string, err error) primary.SignReport {
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.FileSystemError
	}
	f := diag.Errorf(code, 0, 0, "%s", err)
	f.Path = path
	return primary.SignReport{Path: path, Status: primary.Refused, Findings: []diag.Finding{f}}
}

// item signs one item, unless it has a trusted signature already.
func (r *run) item(ctx context.Context, it *resolve.Item) (res result) {
	res.report = primary.SignReport{
		Ref:    it.Ref.String(),
		Path:   it.Path(),
		Status: primary.Unchanged,
		Signer: it.Verdict.Signer.String(),
	}
	theirs, err := r.signedByOther(it)
	switch {
	case err != nil:
		res.err = err
	case diag.Failed(it.Findings):
		res.report.Status = primary.Refused
		res.report.Signer = ""
		res.report.Findings = it.Findings
	case it.Verdict.OK():
		if r.verbs.LastSigner(it, sign.Fingerprint{}) == primary.OwnSigner {
			res.signed = &it.Ref
		}
	case theirs:
		res.report.Status = Kept
		res.report.Findings = []diag.Finding{keptFinding(it)}
	default:
		r.mine(it, &res)
	}
	return res
}

// mine decides whether an item without a trusted signature is to be signed.
func (r *run) mine(it *resolve.Item, res *result) {
	f, theirs, err := r.elsewhereFinding(it)
	switch {
	case err != nil:
		res.err = err
	case theirs:
		res.report.Status = Kept
		res.report.Findings = []diag.Finding{f}
	default:
		res.it = it
		res.differ, res.err = r.difference(it)
	}
}

// confirmAll asks about the items whose staged texts differ from their files, one after
// the other and before the first signature: what was staged and compared cannot change
// while a question or a passphrase is waited for.
func (r *run) confirmAll(ctx context.Context, results []result) error {
	for i := range results {
		res := &results[i]
		if res.err != nil || res.it == nil || res.differ == nil || r.Check {
			continue
		}
		refused, err := r.confirm(ctx, res.it, res.differ, &res.report)
		if err != nil {
			return err
		}
		if refused != nil {
			res.report.Status = primary.Refused
			res.report.Signer = ""
			res.report.Findings = []diag.Finding{*refused}
			res.it = nil
		}
	}
	return nil
}

func (r *run) sign(ctx context.Context, it *resolve.Item, res *result) {
	signer, err := r.signer()
	if err != nil {
		res.err = err
		return
	}
	var out primary.SignedFile
	diff := res.report.Diff
	res.report, out, res.err = r.verbs.Prepare(ctx, policy.Person(), it, signer)
	res.report.Diff = diff
	if r.verbs.LastSigner(it, sign.Fingerprint{}) == primary.OtherSigner {
		res.report.Replaces = &primary.Replaced{Key: it.Verdict.Signer.String(), Owner: it.Verdict.Owner}
	}
	switch {
	case res.report.Status != primary.Signed:
	case r.Check:
		res.report.Status = primary.Stale
	default:
		old, _ := r.files.Entry(out.Rel)
		res.todo = &staged{
			it:   it,
			old:  old,
			out:  out,
			blob: r.blobs.Blob(out.Bytes),
		}
	}
}

// keptFinding is the warning for an item that is not signed again. For one with
// a legacy signature the reason is another: rye sign --upgrade prints what that
// signature did not cover.
func keptFinding(it *resolve.Item) diag.Finding {
	f := diag.Warnf(it.Verdict.Code, 0, 0, "not signed again: another key signed these bytes (%s)", it.Verdict.Reason()).
		WithReason("other_signer", "ref", it.Ref.String())
	if it.Verdict.Code == diag.Legacy {
		f.Message = "not signed again: " + it.Verdict.Reason()
	}
	f.Path = it.Path()
	return f
}

// signedByOther reports whether another key than the signer's signed exactly
// these bytes. The listed codes are set only after the hash was found to match.
// A legacy signature is included: the user may not have made it.
func (r *run) signedByOther(it *resolve.Item) (bool, error) {
	switch it.Verdict.Code {
	case diag.Legacy,
		diag.KeyUnknown,
		diag.KeyWeak,
		diag.SignerChanged,
		diag.TrustChanged,
		diag.Stale:
		return true, nil
	case diag.Scope, diag.NotYetValid, diag.Expired, diag.Revoked: // it may be an expired key of the user
		signer, err := r.signer()
		return err == nil && it.Verdict.Signer != sign.FingerprintOf(signer.Public()), err
	}
	return false, nil
}
