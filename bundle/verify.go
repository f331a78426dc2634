package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Verdict says how far a manifest is trusted; Err is nil when it counts.
type Verdict interface{ Err(path string) error }

// VerifyParams says what to verify.
type VerifyParams struct {
	Tree Tree
	ID   string // from where the bundle stands, never from its manifest
	// Judge decides whether the manifest's signature counts. Nil trusts nobody.
	Judge func(manifest []byte, sub sign.Subject) Verdict
	// JudgeBeside decides whether a further signature counts, which stands in a
	// file beside the manifest and is over its body. Nil looks at none.
	JudgeBeside func(path string, body, sig []byte, sub sign.Subject) Verdict
	// Listed lets a tree that knows what its files hold (Listing) say so, in place
	// of reading each: for a bundle that was verified whole before.
	Listed bool
}

// Report is the outcome of Verify. Missing, Extra and Changed each have an
// error among the Findings.
type Report struct {
	Manifest     *Manifest      `json:"manifest,omitempty"` // nil when it cannot be read
	Digest       item.Digest    `json:"digest,omitzero"`    // of the manifest, signature line included
	Verdict      Verdict        `json:"verdict,omitempty"`  // nil when nobody judged it
	Signatures   []Signature    `json:"signatures"`         // the manifest's own and those beside it
	FilesChecked int            `json:"files_checked"`
	Missing      []string       `json:"missing"`
	Extra        []string       `json:"extra"`
	Changed      []string       `json:"changed"`
	Findings     []diag.Finding `json:"findings"`
}

// OK reports whether the manifest counts and every file is as it says.
func (r *Report) OK() bool { return r.Manifest != nil && !diag.Failed(r.Findings) }

// Err returns nil when OK, else one error that carries the findings.
func (r *Report) Err(id string) error { return diag.FromFindings("verifying bundle "+id, r.Findings) }

// Verify checks the manifest's signature, the manifest, and every file below
// .ai against it: all files and all findings, whatever comes first. The error
// is for what could not be looked at.
func Verify(ctx context.Context, p VerifyParams) (*Report, error) {
	if err := CheckID(p.ID); err != nil {
		return nil, err
	}
	r := &Report{Signatures: []Signature{}, Missing: []string{}, Extra: []string{}, Changed: []string{}}
	where := ManifestPath(p.ID)
	b, _, err := p.Tree.Read(where, MaxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		r.add(diag.BundleFileMissing, where, "the bundle has no manifest")
		return r, nil
	}
	if err != nil {
		r.Findings = append(r.Findings, finding(where, err))
		return r, nil
	}
	if err := r.signatures(p, where, b); err != nil {
		return nil, err
	}
	m, bad := Parse(b)
	r.Findings = append(r.Findings, diag.WithPath(bad, where)...)
	if m == nil {
		return r, nil
	}
	if r.Manifest = m; m.ID != p.ID {
		r.add(diag.ValidationFailed, where, "bundle.id is %q, but the folder gives %q", m.ID, p.ID)
	}
	return r, r.files(ctx, p)
}

func (r *Report) add(code diag.Code, path, format string, args ...any) {
	f := diag.Errorf(code, 0, 0, format, args...)
	f.Path = path
	r.Findings = append(r.Findings, f)
}

// fix says what to do about the finding that was added last.
func (r *Report) fix(what string) { r.Findings[len(r.Findings)-1].Fix = what }

func (r *Report) judge(p VerifyParams, where string, b []byte) {
	r.Digest = item.DigestOf(b)
	if p.Judge == nil {
		r.add(diag.KeyUnknown, where, "nobody judges the manifest's signature")
		return
	}
	r.Verdict = p.Judge(b, Subject(p.ID))
	if err := r.Verdict.Err(where); err != nil {
		r.Findings = append(r.Findings, manifestFinding(where, p.ID, err))
	}
}

// manifestFinding is what refuses the manifest. Its own command signs it.
func manifestFinding(where, id string, err error) diag.Finding {
	f := finding(where, err)
	f.Message = strings.TrimPrefix(f.Message, "verifying "+where+": ")
	switch f.Code {
	case diag.HashMismatch, diag.Unsigned, diag.SigMalformed, diag.SigMultiple, diag.SigInvalid:
		f.Fix = again(id)
	}
	return f
}

// again says how a manifest comes to list what is there now.
func again(id string) string {
	return "look at the change (git diff); if it is yours: rye bundle create " + id
}

// files compares what is listed with what is there; both lists are sorted.
func (r *Report) files(ctx context.Context, p VerifyParams) error {
	there, bad, err := list(p.Tree)
	if err != nil {
		return err
	}
	r.Findings = append(r.Findings, bad...)
	slices.Sort(there)
	for _, path := range there {
		switch {
		case listed(r.Manifest, path):
		case path == requiresName:
			r.Findings = append(r.Findings, unsignedRequires(p.ID))
		default:
			r.Extra = append(r.Extra, path)
			r.add(diag.BundleFileExtra, path, "%s does not list it", ManifestPath(p.ID))
			r.fix("remove it, or rye bundle create " + p.ID)
		}
	}
	for _, f := range r.Manifest.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, found := slices.BinarySearch(there, f.Path); !found {
			r.Missing = append(r.Missing, f.Path)
			r.add(diag.BundleFileMissing, f.Path, "%s lists it, but it does not exist", ManifestPath(p.ID))
			r.fix("restore it, or rye bundle create " + p.ID)
			continue
		}
		r.file(p, f)
	}
	return nil
}

// unsignedRequires warns of a rye.yaml that the manifest does not list: those
// who made manifests before it was listed did not mean to refuse theirs.
func unsignedRequires(id string) diag.Finding {
	f := diag.Warnf(diag.BundleFileExtra, 0, 0, "%s does not list it: what the bundle requires is not signed", ManifestPath(id))
	f.Path, f.Fix = requiresName, "rye bundle create "+id
	return f
}

func listed(m *Manifest, path string) bool {
	_, found := slices.BinarySearchFunc(m.Files, path, func(f File, p string) int {
		return compare(f.Path, p)
	})
	return found
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (r *Report) file(p VerifyParams, f File) {
	r.FilesChecked++
	if l, ok := p.Tree.(Listing); ok && p.Listed {
		if size, d, executable, there := l.Lists(f.Path); there {
			r.same(p, f, size, d, executable)
			return
		}
	}
	b, executable, err := p.Tree.Read(f.Path, MaxFile)
	if err != nil {
		r.Changed = append(r.Changed, f.Path)
		r.Findings = append(r.Findings, finding(f.Path, err))
		return
	}
	if !r.same(p, f, int64(len(b)), item.DigestOf(b), executable) {
		return
	}
	if f.Signed != inlineSigned(b) {
		r.add(diag.ValidationFailed, f.Path, "the manifest says inline_signed: %t, which it is not", f.Signed)
	}
}

// same holds what a file is against what the manifest lists.
func (r *Report) same(p VerifyParams, f File, size int64, d item.Digest, executable bool) bool {
	why := f.differs(size, d, executable, p.Tree.Modes(), ManifestPath(p.ID))
	if why == "" {
		return true
	}
	r.Changed = append(r.Changed, f.Path)
	r.add(diag.HashMismatch, f.Path, "%s", why)
	r.fix(again(p.ID))
	return false
}

// differs says how a file is not what the manifest lists, or "".
func (f File) differs(size int64, d item.Digest, executable, modes bool, manifest string) string {
	switch {
	case size != f.Size:
		return fmt.Sprintf("it has %d bytes, %s lists %d", size, manifest, f.Size)
	case d != f.Digest:
		return fmt.Sprintf("its content is %s, %s lists %s", short(d), manifest, short(f.Digest))
	case modes && executable != f.Executable:
		return fmt.Sprintf("%s lists mode %s, which it does not have", manifest, f.Mode())
	}
	return ""
}

func short(d item.Digest) string { return d.String()[:19] }

// Inspection is a manifest that was read and NOT verified: neither its
// signature nor any file was checked.
type Inspection struct {
	Manifest *Manifest          `json:"manifest"`
	Verified bool               `json:"verified"`                  // always false
	Claimed  []sign.Fingerprint `json:"claimed_signers,omitempty"` // who it says has signed it
}

// Inspect parses a manifest without verifying anything, and says so.
func Inspect(b []byte) (*Inspection, []diag.Finding) {
	m, bad := Parse(b)
	if m == nil {
		return nil, bad
	}
	in := &Inspection{Manifest: m}
	style, _ := sign.StyleByName("#")
	if sp, err := sign.SplitFile(b, style); err == nil && sp.Signed {
		in.Claimed = append(in.Claimed, sp.Line.Key)
	}
	return in, bad
}
