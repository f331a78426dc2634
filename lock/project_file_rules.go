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
		rule := r.Map(key)
		rule.Only("signers", "threshold", "reviewers", "reviews")
		reviewed := rule.Has("reviewers") || rule.Has("reviews")
		if reviewed {
			p.reviewers(key, rule)
		}
		// A rule about reviews alone demands no signers of releases.
		if !reviewed || rule.Has("signers") {
			p.m.Trust[key] = trustRule(rule)
		}
		p.m.at["trust "+key] = p.doc.At(r.Path(key))
	}
}

// reviewers reads the part of a rule that is about adopted sources.
func (p *manifestParser) reviewers(pattern string, r *tree.Reader) {
	if p.m.Reviewers == nil {
		p.m.Reviewers = map[string]ReviewRule{}
	}
	keys := allowed(r, "reviewers", checkSigner)
	most := 16
	if keys != nil {
		most = len(keys)
	}
	p.m.Reviewers[pattern] = ReviewRule{
		Reviewers: keys,
		Reviews:   int(r.Int("reviews", 1, 1, int64(max(1, most)))),
	}
}

func trustRule(r *tree.Reader) TrustRule {
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
