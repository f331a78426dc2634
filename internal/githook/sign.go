// Package githook signs what is staged: it reads blobs of the index through
// git plumbing, signs them in memory and puts the signed blobs back, so that a
// commit holds signed items whatever the work tree holds.
//
// It touches a file of the work tree only when it equals its staged blob. It
// judges nothing by itself (verify and primary do), starts no git (gitcmd
// does), and prints nothing.
package githook

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/verify"
)

// Kept is the state of an item that somebody else signed and nobody changed
// since. To sign it would vouch for what this person may never have read.
const Kept primary.SignStatus = "kept"

// Params says what to sign. All but Merging, Check and Relock are required.
type Params struct {
	Repo    *gitcmd.Repo
	Prefix  string          // the project's place below the work tree: "" or "a/b/"
	Changes []gitcmd.Change // how the index differs from HEAD, whole
	Merging []string        // commits that are being merged
	Check   bool            // change nothing, report what would change
	// House returns the rooms over a project root that reads the index.
	House func(project *space.Root) (*resolve.Resolver, *primary.Verbs, error)
	// Signer is asked for once, and only when something is to be signed: it
	// may cost a passphrase.
	Signer func(ctx context.Context) (sign.Signer, error)
	// Relock returns what the lock of the index becomes once these tools are
	// signed, nil when it stays. Signed is the index with their new bytes.
	Relock func(ctx context.Context, index *verify.GitFiles, signed space.Files, tools []item.Ref) (*LockChange, error)
}

// LockChange is a lock in the index that follows what was signed.
type LockChange struct {
	Entry    gitcmd.Entry // that is to be replaced
	Was, Now []byte
}

// Report is what became of the staged items.
type Report struct {
	Files []primary.SignReport `json:"files"`
	// Left are files whose commit is signed and whose work tree is not: they
	// hold edits that are not staged.
	Left     []string       `json:"left,omitempty"`
	Relocked bool           `json:"relocked,omitempty"` // the lock follows what was signed
	Findings []diag.Finding `json:"findings,omitempty"` // of what is staged and no item
}

// Failed reports whether the commit should not be made.
func (r *Report) Failed() bool {
	return diag.Failed(r.Findings) || slices.ContainsFunc(r.Files, func(f primary.SignReport) bool { return diag.Failed(f.Findings) })
}

// staged is one item on its way.
type staged struct {
	it  *resolve.Item
	old gitcmd.Entry // of the file that is to be replaced; zero OID when it is new
	out primary.SignedFile
}

type run struct {
	Params
	files  *verify.GitFiles
	house  *primary.Verbs
	signer func() (sign.Signer, error) // asks once, when it is needed
	report *Report
	todo   []staged
	lock   *LockChange // nil when it stays
}

// Sign signs the staged items. When anything is refused, nothing is changed.
func Sign(ctx context.Context, p Params) (*Report, error) {
	r := &run{Params: p, report: &Report{Files: []primary.SignReport{}}}
	rels, err := r.candidates(ctx)
	if err != nil {
		return nil, err
	}
	var own *gitcmd.Batch
	batch := func(ctx context.Context) (b *gitcmd.Batch, err error) {
		own, err = p.Repo.Batch(ctx)
		return own, err
	}
	defer func() {
		if own != nil {
			_ = own.Close()
		}
	}()
	if len(rels) > 0 {
		if r.files, err = verify.Index(ctx, p.Repo, p.Prefix); err != nil {
			return nil, err
		}
		defer func() { _ = r.files.Close() }()
		r.files.Only(rels)
		batch = func(context.Context) (*gitcmd.Batch, error) { return r.files.Batch(), nil }
	}
	found, err := secrets(ctx, p, batch)
	if err != nil {
		return nil, err
	}
	r.report.Findings = append(r.report.Findings, found...)
	if len(rels) == 0 || diag.Failed(r.report.Findings) {
		return r.report, nil
	}
	if err := r.prepare(ctx, rels); err != nil {
		return nil, err
	}
	if r.report.Failed() || p.Check || len(r.todo) == 0 {
		return r.report, nil
	}
	if err := r.relock(ctx); err != nil {
		return nil, err
	}
	if err := r.record(ctx); err != nil {
		return nil, err
	}
	return r.report, r.write(ctx)
}

// record writes the signatures down before anything is stored.
func (r *run) record(ctx context.Context) error {
	files := make([]primary.SignedFile, len(r.todo))
	for i, s := range r.todo {
		files[i] = s.out
	}
	return r.house.Record(ctx, files)
}

// candidates returns the paths below .ai of staged files that may be items.
// What comes unchanged from a merged commit is not this person's.
func (r *run) candidates(ctx context.Context) ([]string, error) {
	top := r.Prefix + space.Dir
	changes := slices.DeleteFunc(slices.Clone(r.Changes), func(c gitcmd.Change) bool {
		return c.Status == 'D' || c.Path != top && !strings.HasPrefix(c.Path, top+"/")
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
		changes = slices.DeleteFunc(changes, func(c gitcmd.Change) bool { return !differs[c.Path] })
	}
	var rels []string
	for _, c := range changes {
		if f, bad := special(c); bad {
			r.report.Findings = append(r.report.Findings, f)
			continue
		}
		// A staged signature stands for its file.
		rels = append(rels, strings.TrimSuffix(strings.TrimPrefix(c.Path, top+"/"), extract.DetachedExt))
	}
	slices.Sort(rels)
	return slices.Compact(rels), nil
}

// special says what is wrong with a staged entry below .ai that is no file.
func special(c gitcmd.Change) (f diag.Finding, bad bool) {
	switch {
	case c.Status == 'U':
		f = diag.Errorf(diag.NotRegular, 0, 0, "it is not merged")
		f.Fix = "resolve the conflict and add the file"
	case c.Mode == gitcmd.ModeLink:
		f = diag.Errorf(diag.PathEscape, 0, 0, "a symbolic link may not stand below .ai")
		f.Fix = "replace the link by the file itself"
	case !c.IsFile():
		f = diag.Errorf(diag.NotRegular, 0, 0, "a submodule may not stand below .ai")
		f.Fix = "add its files themselves, or install it as a bundle"
	default:
		return f, false
	}
	f.Path = c.Path
	return f, true
}

// prepare judges every candidate and computes what is to be written.
func (r *run) prepare(ctx context.Context, rels []string) error {
	root := r.files.Root()
	resolver, house, err := r.House(root)
	if err != nil {
		return err
	}
	r.house = house
	table, err := resolver.Table(ctx)
	if err != nil {
		return err
	}
	rels = slices.DeleteFunc(rels, func(rel string) bool {
		place, _ := table.Place(rel)
		_, here := r.files.Entry(rel)
		return !here || place.Ref.IsZero() || extract.Own(rel)
	})
	r.signer = sync.OnceValues(func() (sign.Signer, error) {
		s, err := r.Signer(ctx)
		return &oneAtATime{Signer: s}, err
	})
	results := make([]result, len(rels))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(rels), workers) {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(rels) && ctx.Err() == nil; i = next.Add(1) - 1 {
				results[i] = r.one(ctx, resolver, root, rels[i])
			}
		})
	}
	wg.Wait()
	for _, res := range results {
		if res.err != nil {
			return res.err
		}
		r.report.Files = append(r.report.Files, res.report)
		if res.todo != nil {
			r.todo = append(r.todo, *res.todo)
		}
	}
	return ctx.Err()
}

// workers is how many items are judged at once, while an agent signs another.
const workers = 4

// result is what one candidate came to.
type result struct {
	report primary.SignReport
	todo   *staged // nil when nothing is to be written
	err    error
}

// oneAtATime keeps calls of a signer apart.
type oneAtATime struct {
	sign.Signer
	mu sync.Mutex
}

// Sign implements sign.Signer.
func (s *oneAtATime) Sign(ctx context.Context, msg []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Signer.Sign(ctx, msg)
}

func (r *run) one(ctx context.Context, resolver *resolve.Resolver, root *space.Root, rel string) result {
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

// item signs one item, unless a signature on it holds already.
func (r *run) item(ctx context.Context, it *resolve.Item) (res result) {
	res.report = primary.SignReport{Ref: it.Ref.String(), Path: it.Path(), Status: primary.Unchanged, Signer: it.Verdict.Signer.String()}
	theirs, err := r.someoneElses(it)
	switch {
	case err != nil:
		res.err = err
	case diag.Failed(it.Findings):
		res.report.Status, res.report.Signer, res.report.Findings = primary.Refused, "", it.Findings
	case it.Verdict.OK():
	case theirs:
		res.report.Status = Kept
		res.report.Findings = []diag.Finding{keptFinding(it)}
	default:
		r.sign(ctx, it, &res)
	}
	return res
}

func (r *run) sign(ctx context.Context, it *resolve.Item, res *result) {
	signer, err := r.signer()
	if err != nil {
		res.err = err
		return
	}
	var out primary.SignedFile
	res.report, out, res.err = r.house.Prepare(ctx, it, signer)
	switch {
	case res.report.Status != primary.Signed:
	case r.Check:
		res.report.Status = primary.Stale
	default:
		old, _ := r.files.Entry(out.Rel)
		res.todo = &staged{it: it, old: old, out: out}
	}
}

// keptFinding says why an item stays as it is. One of the original may never
// have been read by who moves it over: rye sign --upgrade tells what to look at.
func keptFinding(it *resolve.Item) diag.Finding {
	f := diag.Warnf(it.Verdict.Code, 0, 0, "it stays as it is: another key signed these bytes (%s)", it.Verdict.Reason())
	f.Fix = "rye sign " + it.Ref.String() + ", once you have read it"
	if it.Verdict.Code == diag.Legacy {
		f.Message = "it stays as it is: " + it.Verdict.Reason()
		f.Fix = "rye sign --upgrade " + it.Ref.String() + " tells what to read and signs it anew"
	}
	f.Path = it.Path()
	return f
}

// someoneElses reports whether a key that is not the signer's signed exactly
// these bytes, the verdict being reached after the hash held, or whether the
// signature is one of the original, which this person may not have made.
func (r *run) someoneElses(it *resolve.Item) (bool, error) {
	switch it.Verdict.Code {
	case diag.Legacy, diag.KeyUnknown, diag.KeyWeak, diag.SignerChanged, diag.TrustChanged, diag.Stale:
		return true, nil
	case diag.Scope, diag.NotYetValid, diag.Expired, diag.Revoked: // it may be an own key that has ended
		signer, err := r.signer()
		return err == nil && it.Verdict.Signer != sign.FingerprintOf(signer.Public()), err
	}
	return false, nil
}
