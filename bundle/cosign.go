package bundle

import (
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
)

// cosignExt ends the file name of a co-signature of a manifest.
const cosignExt = ".rye-sig"

// Signature is one signature of a manifest and its verdict.
type Signature struct {
	Path    string           `json:"path"` // the manifest, or the file of the co-signature
	Key     sign.Fingerprint `json:"key,omitzero"`
	Verdict Verdict          `json:"verdict"`
}

// Trusted reports whether the signature is trusted.
func (s Signature) Trusted() bool {
	return s.Verdict != nil && s.Verdict.Err(s.Path) == nil
}

// CosignPath returns the path of a key's co-signature of a manifest.
func CosignPath(id string, key sign.Fingerprint) string {
	return ManifestPath(id) + "." + key.String() + cosignExt
}

// CosignedManifest returns the manifest that a file of the name
// manifest.yaml.NAME.rye-sig signs. ok is false for other names.
func CosignedManifest(p string) (manifest string, ok bool) {
	name, ok := strings.CutSuffix(path.Base(p), cosignExt)
	word, of := strings.CutPrefix(name, manifestName+".")
	return path.Join(path.Dir(p), manifestName), ok && of && word != ""
}

// Cosignatures returns the paths of the co-signatures of a manifest, sorted.
func Cosignatures(t Tree, id string) ([]string, error) {
	where := ManifestPath(id)
	var out []string
	err := t.Walk(func(dir string) bool { return !strings.HasPrefix(where, dir+"/") }, func(p string, _ error) {
		if of, ok := CosignedManifest(p); ok && of == where {
			out = append(out, p) // reading it reports its error
		}
	})
	slices.Sort(out)
	return out, err
}

// signatures judges the manifest's own signature and its co-signatures. An invalid
// co-signature is an error: it or the manifest was changed. A valid one of a key
// that is not trusted is ignored.
func (r *Report) signatures(p VerifyParams, where string, b []byte) error {
	r.judge(p, where, b)
	style := sign.Hash()
	sp, err := sign.SplitFile(b, style)
	if err != nil || !sp.Signed {
		return nil // judge added a finding
	}
	r.Signatures = append(r.Signatures, Signature{where, sp.Line.Key, r.Verdict})
	if p.JudgeCosignature == nil {
		return nil
	}
	cosignatures, err := Cosignatures(p.Tree, p.ID)
	for _, at := range cosignatures {
		r.cosignature(p, at, sp.Body())
	}
	return err
}

func (r *Report) cosignature(p VerifyParams, at string, body []byte) {
	sig, _, err := p.Tree.Read(at, MaxPath)
	if err != nil {
		r.Findings = append(r.Findings, finding(at, err))
		return
	}
	s := Signature{Path: at, Verdict: p.JudgeCosignature(
		at,
		body,
		sig,
		Subject(p.ID),
	)}
	if line, err := sign.ParseLine(sig, sign.StyleBare); err == nil {
		s.Key = line.Key
	}
	r.Signatures = append(r.Signatures, s)
	err = s.Verdict.Err(at)
	if err != nil && invalid(diag.CodeOf(err)) {
		f := finding(at, err)
		f.Message = strings.TrimPrefix(f.Message, "verifying "+at+": ")
		r.Findings = append(r.Findings, f.WithReason("cosignature", "id", p.ID))
	}
}

// invalid reports whether a code means that no key has signed these bytes, and not
// that the key is not trusted.
func invalid(c diag.Code) bool {
	switch c {
	case diag.KeyUnknown,
		diag.KeyWeak,
		diag.Scope,
		diag.NotYetValid,
		diag.Expired,
		diag.Revoked,
		diag.TrustChanged,
		diag.Stale:
		return false
	}
	return true
}

// Signers returns the keys of the trusted signatures, sorted and without duplicates.
func (r *Report) Signers() []sign.Fingerprint {
	var out []sign.Fingerprint
	for _, s := range r.Signatures {
		if s.Trusted() {
			out = append(out, s.Key)
		}
	}
	slices.SortFunc(out, func(a, b sign.Fingerprint) int {
		return strings.Compare(a.String(), b.String())
	})
	return slices.Compact(out)
}

// VoidCosignatures returns the co-signatures over another body than the manifest's.
// It does not verify the others.
func VoidCosignatures(t Tree, id string, manifest []byte) ([]string, error) {
	style := sign.Hash()
	sp, err := sign.SplitFile(manifest, style)
	if err != nil {
		return nil, err
	}
	all, err := Cosignatures(t, id)
	return slices.DeleteFunc(all, func(at string) bool {
		sig, _, err := t.Read(at, MaxPath)
		if err != nil {
			return false
		}
		line, err := sign.ParseLine(sig, sign.StyleBare)
		return err == nil && line.Body == sp.Digest()
	}), err
}
