package lock

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/sign"
)

func (p *manifestParser) trust() {
	for key, v := range p.mapping("trust") {
		at := tree.Join("trust", key)
		for _, f := range glob.Check(flat(key)) {
			p.bad(at, "pattern %q: %s", key, f.Message)
		}
		rule, ok := v.(map[string]any)
		if !ok {
			p.bad(at, "trust of %q must be a mapping with signers and threshold", key)
			continue
		}
		p.onlyKeys(rule, at, []string{"signers", "threshold"})
		if p.m.Trust == nil {
			p.m.Trust = map[string]TrustRule{}
		}
		p.m.Trust[key] = p.rule(at, rule)
		p.m.at["trust "+key] = p.doc.At(at)
	}
}

// flat writes an id so that patterns see the subdirectory as one more level, and
// so that no level of a URL is empty.
func flat(id string) string {
	id = strings.ReplaceAll(id, "///", "/")
	return strings.ReplaceAll(id, "//", "/")
}

func (p *manifestParser) rule(at string, m map[string]any) TrustRule {
	r := TrustRule{Threshold: 1}
	r.Signers, _ = p.texts(tree.Join(at, "signers"), m["signers"], "signers")
	for i, s := range r.Signers {
		if err := checkSigner(s); err != nil {
			p.wrong(tree.Index(tree.Join(at, "signers"), i), err)
		}
	}
	if v, present := m["threshold"]; present {
		n, ok := v.(int64)
		if !ok || n < 1 || n > int64(max(1, len(r.Signers))) {
			p.bad(tree.Join(at, "threshold"), "the threshold must be a number from 1 to that of the signers")
			return r
		}
		r.Threshold = int(n)
	}
	return r
}

// checkSigner accepts ed25519: and a whole fingerprint.
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
