package bundle

import (
	"cmp"
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

// Verdict is the result of judging a signature of a manifest; Err is nil if it is
// trusted. It is an interface because bundle may not import trust.
type Verdict interface{ Err(path string) error }

// VerifyParams configures Verify.
type VerifyParams struct {
	Tree Tree
	ID   string // from the path of the manifest, never from its content
	// Judge decides whether the manifest's signature is trusted. Nil trusts none.
	Judge func(manifest []byte, sub sign.Subject) Verdict
	// JudgeCosignature decides whether a co-signature is trusted, which is a file in the
	// directory of the manifest and signs the manifest's body. Nil ignores them.
	JudgeCosignature func(path string, body, sig []byte, sub sign.Subject) Verdict
	// Listed takes sizes and digests from a Listing in place of reading each file,
	// for a bundle whose files were verified before.
	Listed bool
	// LeftOut is set for the work tree of the author: it returns the files that are not
	// extra, because no bundle contains them. It is called only if there are any.
	LeftOut LeftOut
	// Shared is set for a bundle that others are about to get: a private key in a file is an
	// error.
	Shared bool
}

// Report is the outcome of Verify. Missing, Extra and Changed each have an
// error among the Findings.
type Report struct {
	Manifest     *Manifest      `json:"manifest,omitempty"` // nil if it cannot be read
	Digest       item.Digest    `json:"digest,omitzero"`    // of the manifest, signature line included
	Verdict      Verdict        `json:"verdict,omitempty"`  // nil without Judge
	Signatures   []Signature    `json:"signatures"`         // the manifest's own and the co-signatures
	FilesChecked int            `json:"files_checked"`
	Missing      []string       `json:"missing"`
	Extra        []string       `json:"extra"`
	Changed      []string       `json:"changed"`
	Findings     []diag.Finding `json:"findings"`
}

// OK reports whether the manifest is trusted and every file matches it.
func (r *Report) OK() bool {
	return r.Manifest != nil && !diag.Failed(r.Findings)
}

// Err returns nil when OK, else one error that carries the findings.
func (r *Report) Err(id string) error {
	return diag.FromFindings("verifying bundle "+id, r.Findings)
}

// Verify checks the signatures of the manifest, the manifest, and every file
// against it. Findings do not stop it; the error is for a tree that cannot be read.
func Verify(ctx context.Context, p VerifyParams) (*Report, error) {
	if err := CheckID(p.ID); err != nil {
		return nil, err
	}
	r := &Report{
		Signatures: []Signature{},
		Missing:    []string{},
		Extra:      []string{},
		Changed:    []string{},
	}
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
	i := slices.IndexFunc(bad, func(f diag.Finding) bool {
		return f.Reason == originalManifest
	})
	if i >= 0 {
		// Neither a signature nor a correction makes this manifest usable.
		r.Findings = nil
	}
	r.Findings = append(r.Findings, diag.WithPath(bad, where)...)
	if m == nil {
		return r, nil
	}
	if r.Manifest = m; m.ID != p.ID {
		r.add(diag.ValidationFailed, where, "bundle.id is %q, but its directory is %q", m.ID, p.ID)
	}
	return r, r.files(ctx, p)
}

func (r *Report) add(code diag.Code, path, format string, args ...any) {
	f := diag.Errorf(code, 0, 0, format, args...)
	f.Path = path
	r.Findings = append(r.Findings, f)
}

// addDiffers adds a finding about a file that differs from the manifest id.
func (r *Report) addDiffers(code diag.Code, id, path, format string, args ...any) {
	f := diag.Errorf(code, 0, 0, format, args...)
	f.Path = path
	r.Findings = append(r.Findings, f.WithReason("manifest", "id", id))
}

func (r *Report) judge(p VerifyParams, where string, b []byte) {
	r.Digest = item.DigestOf(b)
	if p.Judge == nil {
		r.add(diag.KeyUnknown, where, "no keys are available to judge the manifest's signature")
		return
	}
	r.Verdict = p.Judge(b, Subject(p.ID))
	if err := r.Verdict.Err(where); err != nil {
		r.Findings = append(r.Findings, manifestFinding(where, p.ID, err))
	}
}

// manifestFinding returns the finding for a manifest that is not trusted. The
// reason replaces the hint for items, since rye sign does not sign manifests.
func manifestFinding(where, id string, err error) diag.Finding {
	f := finding(where, err)
	f.Message = strings.TrimPrefix(f.Message, "verifying "+where+": ")
	switch f.Code {
	case diag.HashMismatch, diag.Unsigned, diag.SigMalformed, diag.SigMultiple, diag.SigInvalid:
		return f.WithReason("manifest", "id", id)
	}
	return f
}

// files compares the manifest with the files.
func (r *Report) files(ctx context.Context, p VerifyParams) error {
	present, bad, err := list(p.Tree)
	if err != nil {
		return err
	}
	r.Findings = append(r.Findings, bad...)
	slices.Sort(present)
	left, _ := p.leftOut(ctx, r.Manifest, present) // a file about which git fails stays a finding
	for _, path := range present {
		switch {
		case listed(r.Manifest, path), left[path]:
		case path == requiresName:
			r.Findings = append(r.Findings, unsignedRequires(p.ID))
		default:
			r.Extra = append(r.Extra, path)
			r.addDiffers(diag.BundleFileExtra, p.ID, path, "%s does not list it", ManifestPath(p.ID))
		}
	}
	for _, f := range r.Manifest.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, found := slices.BinarySearch(present, f.Path); !found {
			r.Missing = append(r.Missing, f.Path)
			if left[f.Path] {
				r.addDiffers(diag.BundleFileMissing, p.ID, f.Path, "%s lists it, but no commit contains it: it is a record of a run, or git ignores it; make the manifest again: rye bundle create %s",
					ManifestPath(p.ID), p.ID)
				continue
			}
			r.addDiffers(diag.BundleFileMissing, p.ID, f.Path, "%s lists it, but it does not exist", ManifestPath(p.ID))
			continue
		}
		r.file(p, f)
	}
	return nil
}

// leftOut returns which of the files that differ from the manifest belong to no bundle.
func (p *VerifyParams) leftOut(
	ctx context.Context,
	m *Manifest,
	present []string,
) (map[string]bool, error) {
	if p.LeftOut == nil {
		return nil, nil
	}
	var differ []string
	for _, path := range present {
		if !listed(m, path) && path != requiresName {
			differ = append(differ, path)
		}
	}
	for _, f := range m.Files {
		if _, found := slices.BinarySearch(present, f.Path); !found {
			differ = append(differ, f.Path)
		}
	}
	if len(differ) == 0 {
		return nil, nil
	}
	return p.LeftOut(ctx, differ)
}

// unsignedRequires warns about a rye.yaml that the manifest does not list. It is not
// an error, because older versions created manifests without it.
func unsignedRequires(id string) diag.Finding {
	f := diag.Warnf(diag.BundleFileExtra, 0, 0, "%s does not list it: the requirements of the bundle are not signed", ManifestPath(id))
	f.Path = requiresName
	return f.WithReason("requires", "id", id)
}

func listed(m *Manifest, path string) bool {
	_, found := slices.BinarySearchFunc(m.Files, path, func(f File, p string) int {
		return cmp.Compare(f.Path, p)
	})
	return found
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
	if err := keyless(b); err != nil && p.Shared {
		r.Findings = append(r.Findings, finding(f.Path, err))
	}
	if f.Signed != inlineSigned(b) {
		r.add(diag.ValidationFailed, f.Path, "the manifest has inline_signed: %t, the file has %t", f.Signed, !f.Signed)
	}
}

// same reports whether a file matches the manifest, or adds a finding.
func (r *Report) same(p VerifyParams, f File, size int64, d item.Digest, executable bool) bool {
	why := f.differs(size, d, executable, p.Tree.Modes(), ManifestPath(p.ID))
	if why == "" {
		return true
	}
	r.Changed = append(r.Changed, f.Path)
	r.addDiffers(diag.HashMismatch, p.ID, f.Path, "%s", why)
	return false
}

// differs describes how a file differs from the manifest, or returns "".
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

func short(d item.Digest) string {
	return d.String()[:19]
}

// Inspection is a parsed manifest. Its signature and its files are not verified.
type Inspection struct {
	Manifest *Manifest          `json:"manifest"`
	Verified bool               `json:"verified"`                  // always false
	Claimed  []sign.Fingerprint `json:"claimed_signers,omitempty"` // from the signature line, not verified
}

// Inspect parses a manifest and verifies nothing.
func Inspect(b []byte) (*Inspection, []diag.Finding) {
	m, bad := Parse(b)
	if m == nil {
		return nil, bad
	}
	in := &Inspection{Manifest: m}
	style := sign.Hash()
	sp, err := sign.SplitFile(b, style)
	if err == nil && sp.Signed {
		in.Claimed = append(in.Claimed, sp.Line.Key)
	}
	return in, bad
}
