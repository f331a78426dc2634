package primary

import (
	"context"
	"strconv"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/legacy"
	"github.com/ryeos/rye/internal/ryeos"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
)

// Upgraded is the status of a file whose valid signature of the earlier format was
// replaced by one of the current format.
// Text after an old signature on its line is not upgraded: the original dropped it unread, and
// it may be an encoding declaration.
const Upgraded SignStatus = "upgraded"

// upgrade computes the signed form of an item whose signature of the earlier format
// is valid. Findings name the parts that the old signature did not cover, because
// the new one covers them. Files of the current format are unchanged.
func (v *Verbs) upgrade(
	ctx context.Context,
	f signTarget,
	it *resolve.Item,
	call SignCall,
) (SignReport, SignedFile, error) {
	rep := SignReport{Ref: it.Ref.String(), Path: it.Path(), Status: Unchanged}
	switch code := it.Verdict.Code; {
	case code == diag.Legacy:
		return v.upgradeLegacy(ctx, it, call)
	case code == diag.Unsigned:
		rep.findUnsigned(f)
	case it.Verdict.Signer == (sign.Fingerprint{}) && !it.Verdict.OK():
		rep.refuse(it.Verdict.Err(it.Path()))
	}
	return rep, SignedFile{}, nil
}

func (r *SignReport) findUnsigned(f signTarget) {
	r.Status = Refused
	why := diag.Errorf(diag.Unsigned, 0, 0, "it was never signed, so there is no signature to upgrade")
	if f.walked {
		r.Status = Skipped
		why.Severity = diag.SeverityWarning
	}
	why.Path = r.Path
	r.Findings = append(r.Findings, why.WithReason("never_signed", "ref", r.Ref))
}

func (v *Verbs) upgradeLegacy(
	ctx context.Context,
	it *resolve.Item,
	call SignCall,
) (SignReport, SignedFile, error) {
	if f := it.OfOriginal(); f != nil {
		return SignReport{
			Ref:      it.Ref.String(),
			Path:     it.Path(),
			Status:   Refused,
			Findings: []diag.Finding{*f},
		}, SignedFile{}, nil
	}
	old := legacy.Check(string(it.Ref.Kind), it.Bytes, call.LegacyKeys)
	if why := notUpgradable(old); why != nil {
		rep := SignReport{
			Ref:    it.Ref.String(),
			Path:   it.Path(),
			Status: Refused,
			Findings: diag.WithPath(
				[]diag.Finding{why.WithReason(why.Reason, "ref", it.Ref.String())},
				it.Path(),
			),
		}
		return rep, SignedFile{}, nil
	}
	it, notes := ryeos.Translate(v.p.Resolver, it)
	rep, out, err := v.signedForm(ctx, it, call, false)
	switch {
	case err != nil:
	case rep.Status == Signed:
		rep.Findings = append(rep.Findings, notes...)
		rep.Status = Upgraded
		for _, p := range old.Uncovered {
			f := diag.Warnf(diag.Legacy, p.Line, 0, "the old signature does not cover %s: read it", hidden.Visible(p.What))
			rep.Findings = append(rep.Findings, diag.WithPath(
				[]diag.Finding{f},
				rep.Path,
			)...)
		}
	case rep.Status == Refused:
		f := diag.Warnf(diag.Legacy, 0, 0, "the old signature is valid, but the item is not")
		f.Path = rep.Path
		rep.Findings = append(rep.Findings, f.WithReason("legacy_invalid", "ref", rep.Ref))
	}
	return rep, out, err
}

// notUpgradable returns why a signature of the earlier format cannot be replaced,
// or nil.
func notUpgradable(old legacy.Verdict) *diag.Finding {
	line := max(old.Line.Number, 1)
	message := string(old.Outcome) + ": " + hidden.Visible(old.Reason)
	reason := "legacy_untrusted"
	switch {
	case old.Outcome == legacy.UnknownKey:
		reason = "legacy_unknown_key"
	case old.Outcome == legacy.Good && old.Line.Junk != "":
		message = "line " + strconv.Itoa(line) + " has text after the signature, which the signature does not cover"
		reason = "legacy_rest"
	case old.Outcome == legacy.Good:
		return nil
	}
	f := diag.Errorf(diag.Legacy, line, 0, "%s", message).WithReason(reason)
	return &f
}
