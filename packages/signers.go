package packages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// Signed returns how many of a signer rule's keys are among signers. Each
// key is counted once, however often the rule or the release names it.
func (r Rule) Signed(signers []string) int {
	n := 0
	for _, key := range slices.Compact(slices.Sorted(slices.Values(r.Signers))) {
		if slices.Contains(signers, key) {
			n++
		}
	}
	return n
}

// CheckSigners returns THRESHOLD for the first rule whose threshold the signers
// of a release do not reach.
// Rules of rye.yaml, of policy.yaml and of publisher documents are the same rule here.
func CheckSigners(m lock.Module, rules []Rule, signers []string) error {
	for _, r := range rules {
		if n := r.Signed(signers); n < r.Threshold {
			return r.detail(diag.New(
				diag.Threshold,
				"verifying %s: %s demands %d of %d signers, %d signed",
				m,
				r,
				r.Threshold,
				len(r.Signers),
				n,
			)).
				WithDetail("expected", r.Signers).WithDetail("found", signers)
		}
	}
	return nil
}

// SignerRules returns every rule about the signers of a release: the rules of the
// files by its bundle id, and the rules of publisher documents by the ids that it is
// known under. ManifestID is the id in its manifest, "" if unknown.
func (rs Rules) SignerRules(store *trust.Store, m lock.Module, manifestID string) []Rule {
	ids := []string{m.ID.String(), hostPath(m.ID)} // manifests spell an address without its scheme
	if manifestID != "" {
		ids = append(ids, manifestID)
	}
	return rs.signerRules(store, ids)
}

// SignerRulesOf is SignerRules for a bundle of which only the id in its manifest is known.
func (rs Rules) SignerRulesOf(store *trust.Store, manifestID string) []Rule {
	ids := []string{manifestID}
	if id, err := lock.ParseID(manifestID); err == nil {
		ids = append(ids, hostPath(id))
	}
	return rs.signerRules(store, ids)
}

// signerRules returns the rules of the files about the first id, and the rules of publisher
// documents about any of the ids.
func (rs Rules) signerRules(store *trust.Store, ids []string) []Rule {
	var out []Rule
	for _, f := range rs {
		for _, pattern := range f.TrustPatterns(ids[0]) {
			out = append(out, f.signerRule(pattern))
		}
	}
	for _, p := range store.PublisherRules(ids...) {
		out = append(out, newSignerRule(
			fmt.Sprintf("publisher %s version %d", p.Publisher, p.Version),
			p.Document,
			SignerTexts(p.Keys),
			p.Threshold,
		))
	}
	return out
}

// DemandsSigners reports whether a rule of the files is about the signers of a
// bundle.
func (rs Rules) DemandsSigners(id string) bool {
	return slices.ContainsFunc(rs, func(f RuleFile) bool {
		return len(f.TrustPatterns(id)) > 0
	})
}

// signerRule returns the rule of a pattern below trust.
func (f RuleFile) signerRule(pattern string) Rule {
	r := newSignerRule(
		"trust "+pattern,
		f.Path,
		f.Trust[pattern].Signers,
		f.Trust[pattern].Threshold,
	)
	r.Line = f.Position("trust", pattern).Line
	return r
}

// newSignerRule returns a signer rule. A threshold of 0 is one signer.
func newSignerRule(key, file string, signers []string, threshold int) Rule {
	threshold = max(1, threshold)
	return Rule{
		Key:       key,
		Value:     fmt.Sprintf("%d of %s", threshold, strings.Join(signers, ", ")),
		File:      file,
		Signers:   signers,
		Threshold: threshold,
	}
}

const signerPrefix = "ed25519:"

// SignerText returns a key as rules and locks name it.
func SignerText(fp sign.Fingerprint) string {
	return signerPrefix + fp.String()
}

// SignerTexts returns keys as rules and locks name them.
func SignerTexts(keys []sign.Fingerprint) []string {
	out := make([]string, len(keys))
	for i, fp := range keys {
		out[i] = SignerText(fp)
	}
	return out
}

// ParseSigner is the inverse of SignerText.
func ParseSigner(text string) (sign.Fingerprint, error) {
	return sign.ParseFingerprint(strings.TrimPrefix(text, signerPrefix))
}

// signersOf returns the keys that a lock entry names, without those that are not
// fingerprints.
func signersOf(b lock.Bundle) []sign.Fingerprint {
	var out []sign.Fingerprint
	for _, s := range b.Signers {
		if fp, err := ParseSigner(s); err == nil {
			out = append(out, fp)
		}
	}
	return out
}
