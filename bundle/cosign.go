package bundle

import (
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
)

// cosignExt ends the name of a further signature of a manifest.
const cosignExt = ".rye-sig"

// Signature is one signature of a manifest, as it was judged.
type Signature struct {
	Path    string           `json:"path"` // the manifest, or the file beside it
	Key     sign.Fingerprint `json:"key,omitzero"`
	Verdict Verdict          `json:"verdict"`
}

// Counts reports whether the signature is one of somebody trusted.
func (s Signature) Counts() bool { return s.Verdict != nil && s.Verdict.Err(s.Path) == nil }

// CosignPath returns where a key's further signature of a manifest stands.
func CosignPath(id string, key sign.Fingerprint) string {
	return ManifestPath(id) + "." + key.String() + cosignExt
}

// CosignedManifest returns the manifest that a file stands beside to sign it
// too: manifest.yaml.NAME.rye-sig, whatever NAME is.
func CosignedManifest(p string) (manifest string, ok bool) {
	name, ok := strings.CutSuffix(path.Base(p), cosignExt)
	word, of := strings.CutPrefix(name, manifestName+".")
	return path.Join(path.Dir(p), manifestName), ok && of && word != ""
}

// Cosignatures returns the paths of the further signatures of a manifest, in
// order.
func Cosignatures(t Tree, id string) ([]string, error) {
	where := ManifestPath(id)
	var out []string
	err := t.Walk(func(dir string) bool { return !strings.HasPrefix(where, dir+"/") }, func(p string, _ error) {
		if of, ok := CosignedManifest(p); ok && of == where {
			out = append(out, p) // what is wrong with it is seen when it is read
		}
	})
	slices.Sort(out)
	return out, err
}

// signatures judges the manifest's own signature and those beside it. One that
// is not sound is an error: somebody changed it, or the manifest under it. One
// of a key that does not count is no signature, and no error either.
func (r *Report) signatures(p VerifyParams, where string, b []byte) error {
	r.judge(p, where, b)
	style, _ := sign.StyleByName("#")
	sp, err := sign.SplitFile(b, style)
	if err != nil || !sp.Signed {
		return nil // that is a finding already
	}
	r.Signatures = append(r.Signatures, Signature{where, sp.Line.Key, r.Verdict})
	if p.JudgeBeside == nil {
		return nil
	}
	beside, err := Cosignatures(p.Tree, p.ID)
	for _, at := range beside {
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
	s := Signature{Path: at, Verdict: p.JudgeBeside(at, body, sig, Subject(p.ID))}
	if line, err := sign.ParseLine(sig, sign.StyleBare); err == nil {
		s.Key = line.Key
	}
	r.Signatures = append(r.Signatures, s)
	if err := s.Verdict.Err(at); err != nil && unsound(diag.CodeOf(err)) {
		f := finding(at, err)
		f.Message = strings.TrimPrefix(f.Message, "verifying "+at+": ")
		f.Fix = "remove it; who signed it signs again with rye bundle sign " + p.ID
		r.Findings = append(r.Findings, f)
	}
}

// unsound reports whether a code says that no key signed these bytes, and not
// merely that the key does not count.
func unsound(c diag.Code) bool {
	switch c {
	case diag.KeyUnknown, diag.KeyWeak, diag.Scope, diag.NotYetValid, diag.Expired, diag.Revoked, diag.TrustChanged, diag.Stale:
		return false
	}
	return true
}

// Signers returns the keys whose signatures count, each once, in order.
func (r *Report) Signers() []sign.Fingerprint {
	var out []sign.Fingerprint
	for _, s := range r.Signatures {
		if s.Counts() {
			out = append(out, s.Key)
		}
	}
	slices.SortFunc(out, func(a, b sign.Fingerprint) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

// VoidCosignatures returns the further signatures that are over another body
// than the manifest's: they sign nothing any more. Whether the others hold is
// not asked.
func VoidCosignatures(t Tree, id string, manifest []byte) ([]string, error) {
	style, _ := sign.StyleByName("#")
	sp, err := sign.SplitFile(manifest, style)
	if err != nil {
		return nil, err
	}
	beside, err := Cosignatures(t, id)
	return slices.DeleteFunc(beside, func(at string) bool {
		sig, _, err := t.Read(at, MaxPath)
		if err != nil {
			return false
		}
		line, err := sign.ParseLine(sig, sign.StyleBare)
		return err == nil && line.Body == sp.Digest()
	}), err
}
