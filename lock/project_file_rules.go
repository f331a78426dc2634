package lock

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/sign"
)

func (p *manifestParser) trust() {
	r := p.r.Map("trust")
	for _, key := range r.Keys() {
		if err := CheckTrustPattern(key); err != nil {
			r.RejectErr(key, err)
		}
		if p.m.Trust == nil {
			p.m.Trust = map[string]TrustRule{}
		}
		p.m.Trust[key] = trustRule(r.Map(key))
		p.m.at["trust "+key] = p.doc.At(r.Path(key))
	}
}

func trustRule(r *tree.Reader) TrustRule {
	r.Only("signers", "threshold")
	r.Require("signers")
	signers := r.Texts("signers", distinct(checkSigner))
	return TrustRule{Signers: signers, Threshold: int(r.Int("threshold", 1, 1, int64(max(1, len(signers)))))}
}

// checkSigner accepts ed25519: and a complete fingerprint.
func checkSigner(s string) error {
	fp, ok := strings.CutPrefix(s, "ed25519:")
	if !ok {
		return diag.New(diag.ValidationFailed, "reading signer %q: want ed25519: and the fingerprint of the key", s)
	}
	_, err := sign.ParseFingerprint(fp)
	if err != nil {
		return diag.New(diag.ValidationFailed, "reading signer %q: %w", s, err)
	}
	return nil
}
