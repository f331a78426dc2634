package primary

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/legacy"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// SignCall is one request to sign items of the project or user space.
type SignCall struct {
	// Targets are paths, refs, ids or globs over ids; "*" is every item of
	// the project.
	Targets []string
	Dir     string      // the directory that relative paths start from
	Held    policy.Held // the permissions of the caller; nil permits nothing
	Signer  sign.Signer
	Check   bool // report what would change, and change nothing

	// TakeOver permits replacing the signatures of other keys. Without it, Ask asks
	// for each file that was named, and files found by a pattern are skipped.
	TakeOver bool
	// Ask shows a text to the user and asks a question about it; nil: the user cannot
	// be asked.
	Ask func(ctx context.Context, text, question string) (bool, error)
	// Before has the targets as they were before anything was asked, from Seen. A file that
	// has changed since is refused. nil: nothing was asked.
	Before *Seen
	// LastByPerson returns the newest version of an item that a person has signed,
	// and where it is from; nil if there is none. It may be nil.
	LastByPerson func(ctx context.Context, it *resolve.Item) (old []byte, from string)

	// Upgrade signs only items whose signature of the earlier format is valid by
	// that format's rules, with LegacyKeys.
	Upgrade    bool
	LegacyKeys legacy.Keys
}

// SignStatus is the outcome for one file.
type SignStatus string

// The states of a file after Sign. Stale is what Check reports for a file that
// Sign would change.
const (
	Signed    SignStatus = "signed"
	Unchanged SignStatus = "unchanged"
	Stale     SignStatus = "stale"
	Refused   SignStatus = "refused"
	Skipped   SignStatus = "skipped" // found in a directory or by a pattern; the finding is the reason
)

// SignReport is the outcome for one file.
type SignReport struct {
	Ref      string         `json:"ref"`
	Path     string         `json:"path"`
	Status   SignStatus     `json:"status"`
	Support  bool           `json:"support,omitempty"` // the file is not an item but is verified with one
	Signer   string         `json:"signer,omitempty"`
	Digest   item.Digest    `json:"-"`                  // of an unchanged file
	Reason   string         `json:"reason,omitempty"`   // why a pattern does not sign it: draft, foreign, legacy, unreadable or conflict
	Found    bool           `json:"-"`                  // in a directory or by a pattern
	Asked    bool           `json:"-"`                  // the user has seen Diff
	Replaces *Replaced      `json:"replaces,omitempty"` // the signature of another key
	Diff     string         `json:"diff,omitempty"`     // of a draft and the last version that a person signed
	Findings []diag.Finding `json:"findings,omitempty"`
}

// Sign validates and signs the targets. An invalid file is refused and not
// changed; the others are signed. Each file is replaced atomically, after its
// signature is in the log.
func (v *Verbs) Sign(ctx context.Context, call SignCall) ([]SignReport, error) {
	if v.p.Refuse != nil && !call.Check {
		return nil, diag.Doing("signing", v.p.Refuse)
	}
	files, err := v.targets(ctx, call)
	if err != nil {
		return nil, err
	}
	if !call.Check {
		v.sweep(files)
	}
	if call.Before == nil && call.Ask != nil && !call.Check {
		call.Before = seenOf(files) // a question about one file takes time in which others change
	}
	b := batch{verbs: v}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return b.settled(), diag.New(diag.Cancelled, "signing: %w", err)
		}
		if err := b.sign(ctx, f, call); err != nil {
			return b.settled(), err
		}
	}
	err = b.flush(ctx)
	return b.settled(), err
}

type signTarget struct {
	root   *space.Root
	rel    string
	walked bool // found in a directory or by a pattern, not named
}

// signFile signs one file in memory. The item is nil unless it was signed.
func (v *Verbs) signFile(ctx context.Context, f signTarget, call SignCall) (SignReport, *signedItem, error) {
	it, err := v.p.Resolver.File(ctx, f.root, f.rel)
	if err != nil {
		path := f.root.Display(f.rel)
		return SignReport{Path: path, Status: Refused, Findings: []diag.Finding{signFinding(path, err)}}, nil, ctx.Err()
	}
	if it.Ref.IsZero() {
		rep := SignReport{Path: it.Path(), Status: Refused}
		text, reason := extract.NoItem(f.rel)
		why := diag.Errorf(diag.Usage, 0, 0, "%s is not an item: %s", it.Path(), text)
		if f.walked {
			rep.Status = Skipped
			why.Severity = diag.SeverityWarning
		}
		why.Path = it.Path()
		rep.Findings = []diag.Finding{why.WithReason(reason)}
		return rep, nil, nil
	}
	if call.Before.changed(f, it) {
		return SignReport{
			Ref:      it.Ref.String(),
			Path:     it.Path(),
			Status:   Refused,
			Findings: []diag.Finding{signFinding(it.Path(), changedWhileAsked(it))},
		}, nil, nil
	}
	return v.signRead(ctx, f, it, call, false)
}

// SignItem signs an item exactly as it was read, for a caller that has shown it to
// the user or asked about it. If the file has changed since, it is refused and stays
// as it is.
func (v *Verbs) SignItem(ctx context.Context, it *resolve.Item, call SignCall) (SignReport, error) {
	if v.p.Refuse != nil && !call.Check {
		return SignReport{}, diag.Doing("signing "+it.Ref.String(), v.p.Refuse)
	}
	rep, signed, err := v.signRead(
		ctx,
		signTarget{root: it.Root, rel: it.Rel},
		it,
		call,
		true,
	)
	if err != nil {
		return rep, err
	}
	b := batch{verbs: v}
	b.add(rep, signed)
	err = b.flush(ctx)
	return b.reports[0], err
}

func (v *Verbs) signRead(
	ctx context.Context,
	f signTarget,
	it *resolve.Item,
	call SignCall,
	shown bool,
) (SignReport, *signedItem, error) {
	rep, out, err := v.signItem(ctx, f, it, call)
	rep.Found = f.walked
	switch {
	case err != nil || rep.Status != Signed && rep.Status != Upgraded:
		return rep, nil, err
	case call.Check:
		rep.Status = Stale
		return rep, nil, ctx.Err()
	}
	return rep, &signedItem{it, out, shown || rep.Replaces != nil || rep.Diff != ""}, ctx.Err()
}

// signItem computes the signed form of an item by the rule for it.
func (v *Verbs) signItem(
	ctx context.Context,
	f signTarget,
	it *resolve.Item,
	call SignCall,
) (SignReport, SignedFile, error) {
	if call.Upgrade {
		return v.upgrade(ctx, f, it, call)
	}
	r := v.rule(f, it, call)
	rep := SignReport{
		Ref:     it.Ref.String(),
		Path:    it.Path(),
		Support: it.Support(),
		Status:  Skipped,
	}
	if r.skip != nil {
		rep.Reason = strings.TrimSuffix(r.skip.Reason, byPattern)
		rep.Findings = []diag.Finding{*r.skip}
		return rep, SignedFile{}, nil
	}
	rep, out, err := v.signedForm(ctx, it, call, r.keep)
	rep.notePlain(it, !f.walked)
	if err != nil || rep.Status != Signed {
		return rep, out, err
	}
	if r.promote {
		rep.Diff = call.draftDiff(ctx, it)
	}
	refused, err := v.approve(ctx, r, &rep, it, call)
	if refused != nil {
		rep.Status = Refused
		rep.Signer = ""
		rep.Findings = append(rep.Findings, *refused)
	} else if r.foreign {
		rep.Replaces = &Replaced{Key: it.Verdict.Signer.String(), Owner: it.Verdict.Owner}
	}
	return rep, out, err
}

// SignedFile is a file with a new signature: the item, or its detached signature.
type SignedFile struct {
	Rel   string // below the .ai directory of the item's root
	Bytes []byte
	Entry auditlog.Entry // for the log of signatures
}

// Prepare validates an item and computes its signed form. It writes nothing: if
// the status is Signed, the caller must call Record and then write the file.
func (v *Verbs) Prepare(
	ctx context.Context,
	held policy.Held,
	it *resolve.Item,
	s sign.Signer,
) (SignReport, SignedFile, error) {
	rep, out, err := v.signedForm(ctx, it, SignCall{Held: held, Signer: s}, false)
	rep.notePlain(it, false)
	return rep, out, err
}

// signedForm is Prepare for a call. With keep the signature of the item stays.
func (v *Verbs) signedForm(
	ctx context.Context,
	it *resolve.Item,
	call SignCall,
	keep bool,
) (SignReport, SignedFile, error) {
	rep := SignReport{
		Ref:     it.Ref.String(),
		Path:    it.Path(),
		Status:  Unchanged,
		Support: it.Support(),
		Digest:  it.Digest,
	}
	err := call.Held.Allows(policy.Sign, it.Ref)
	if err != nil {
		return rep, SignedFile{}, err
	}
	it, rep.Findings = v.settled(it)
	if !diag.Failed(rep.Findings) {
		checked := v.withPlainLine(it)
		rep.Support = checked.Support()
		rep.Findings = v.check(ctx, checked, sign.FingerprintOf(call.Signer.Public()))
	}
	if diag.Failed(rep.Findings) {
		rep.Status = Refused
		return rep, SignedFile{}, nil
	}
	rep.Signer = sign.FingerprintOf(call.Signer.Public()).String()
	if keep {
		rep.Signer = it.Verdict.Signer.String()
		return rep, SignedFile{}, ctx.Err()
	}
	rel, out, changed, err := signature(ctx, it, call.Signer, v)
	if err == nil && len(out) > resolve.MaxItem {
		err = diag.New(diag.TooLarge, "the signed file would have %d bytes, more than %d", len(out), resolve.MaxItem)
	}
	switch {
	case err != nil:
		rep.refuse(err)
	case changed:
		rep.Status = Signed
		rep.noteReplaced(it)
		return rep, SignedFile{rel, out, entryOf(it, out, rep.Signer)}, ctx.Err()
	}
	return rep, SignedFile{}, ctx.Err()
}

// withPlainLine returns an item whose metadata are read as if its malformed signature
// line were replaced: to its language the line may be code, which ends a header.
func (v *Verbs) withPlainLine(it *resolve.Item) *resolve.Item {
	code := it.Verdict.Code
	if code != diag.SigMalformed && code != diag.Legacy {
		return it
	}
	return v.p.Resolver.WithBytes(it, sign.WithPlainLine(it.Bytes, it.Type.Style))
}

// check returns the findings about the content of an item that signer is to sign.
func (v *Verbs) check(
	ctx context.Context,
	it *resolve.Item,
	signer sign.Fingerprint,
) []diag.Finding {
	// An extractor or parser of the Python original would stop every run if it were
	// signed: no other item could be read.
	if old := it.OfOriginal(); old != nil {
		return []diag.Finding{*old}
	}
	fs := hidden.Encoding(it.Bytes)
	if !diag.Failed(fs) {
		fs = slices.Concat(
			fs,
			trust.Hidden(string(it.Ref.Kind), it.Bytes),
			hidden.Layout(it.Bytes),
		)
	}
	fs = append(diag.WithPath(fs, it.Path()), it.Findings...)
	fs = append(fs, v.executor(ctx, it)...)
	fs = append(fs, v.p.Resolver.LintFor(ctx, it, signer)...)
	return fs
}

// executor warns about a tool whose runtime does not exist. It is not an error: the
// runtime may be added later.
func (v *Verbs) executor(ctx context.Context, it *resolve.Item) []diag.Finding {
	id := it.Meta.ExecutorID
	ref, err := item.ParseRef(id, item.Tool)
	if id == "" ||
		it.Support() ||
		it.Ref.Kind != item.Tool ||
		err != nil ||
		v.p.Resolver.Holds(ctx, ref, it.Root) {
		return nil
	}
	at := (&tree.Doc{Pos: it.Meta.Pos}).At("executor_id")
	f := diag.Warnf(diag.ExecutorNotFound, max(at.Line, 1), at.Column, "executor_id %q does not exist, so the tool cannot run", id)
	f.Path = it.Path()
	return []diag.Finding{f.WithReason("runtime_missing")}
}

// notePlain adds a warning about a support file that a person may take for a tool.
func (r *SignReport) notePlain(it *resolve.Item, named bool) {
	if !r.Support || len(r.Findings) > 0 {
		return // a finding has the reason
	}
	f := it.Extractor.Plain(
		it.Type,
		it.Rel,
		it.Bytes,
		it.Root.Executable(it.Rel),
		named,
	)
	if f != nil {
		f.Path = it.Path()
		r.Findings = append(r.Findings, *f)
	}
}

// noteReplaced adds a warning if signing removes text that is not a signature.
func (r *SignReport) noteReplaced(it *resolve.Item) {
	line, n := sign.Malformed(it.Bytes, it.Type.Style)
	if line != nil && !it.Type.Detached {
		f := diag.Warnf(diag.SigMalformed, n, 1, "this line was replaced by the signature: %s", hidden.Visible(string(line)))
		f.Path = r.Path
		r.Findings = append(r.Findings, f)
	}
}

func (r *SignReport) refuse(err error) {
	r.Status, r.Findings = Refused, append(r.Findings, signFinding(r.Path, err))
}

// signature computes the new file: the item itself, or its detached signature.
func signature(
	ctx context.Context,
	it *resolve.Item,
	s sign.Signer,
	v *Verbs,
) (rel string, out []byte, changed bool, err error) {
	sub := extract.Subject(it.Ref)
	if it.Type.Detached {
		out, changed, err = sign.SignDetached(
			ctx,
			it.Bytes,
			it.Signature,
			sub,
			s,
			v.p.Now(),
		)
		return it.Rel + extract.DetachedExt, out, changed, err
	}
	if it.Signature != nil {
		return "", nil, false, diag.New(diag.SigMultiple, "signing %s: it has a signature line and a detached signature", it.Path()).
			WithReason("two_signatures").WithDetail("detached", it.Path()+extract.DetachedExt)
	}
	out, changed, err = sign.Sign(
		ctx,
		it.Bytes,
		it.Type.Style,
		sub,
		s,
		v.p.Now(),
	)
	return it.Rel, out, changed, err
}

func signFinding(path string, err error) diag.Finding {
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.UnknownError
	}
	f := diag.Errorf(code, 0, 0, "%s", err)
	f.Path = path
	var e *diag.Error
	if errors.As(err, &e) {
		f.Reason = e.Reason
		f.Facts = e.Details
		f.Line, _ = e.Details["line"].(int)
	}
	return f
}

// Match returns the project's own files whose id matches a pattern, of every
// kind, or of the kind named before a colon. "*" matches every id and may match
// none.
func (v *Verbs) Match(ctx context.Context, word string) ([]resolve.Entry, error) {
	kind, pattern, hasKind := strings.Cut(word, ":")
	if !hasKind {
		kind = ""
		pattern = word
	}
	if pattern == "*" {
		pattern = "**"
	}
	table, err := v.p.Resolver.Readable(ctx)
	if err == nil &&
		kind != "" &&
		table.Kind(item.Kind(kind)) == nil &&
		item.CheckKind(item.Kind(kind)) == nil {
		_, err = v.p.Resolver.Extractor(ctx, item.Kind(kind))
	}
	if err != nil {
		return nil, err
	}
	var out []resolve.Entry
	for _, ext := range table.All() {
		if kind != "" && string(ext.Kind) != kind {
			continue
		}
		entries, err := v.p.Resolver.Own(ctx, ext.Kind, ownItem)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if glob.Match(pattern, e.Ref.ID) {
				out = append(out, e)
			}
		}
	}
	if !v.hasProject() {
		return nil, diag.New(diag.ItemNotFound, "finding %q: there is no project here", word).WithReason("no_project")
	}
	if len(out) == 0 && word != "*" {
		return nil, diag.New(diag.ItemNotFound, "finding %q: no id in the project matches", word)
	}
	return out, nil
}

// hasProject reports whether a project was found. "*" matches nothing in an empty
// project, but is an error without one.
func (v *Verbs) hasProject() bool {
	return slices.ContainsFunc(v.p.Resolver.Roots(), func(r *space.Root) bool {
		return r.Space == space.Project
	})
}
