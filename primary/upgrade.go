package primary

import (
	"context"
	"strconv"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/legacy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
)

// Upgraded is the state of a file whose earlier signature was good and gave way
// to one of today's format.
const Upgraded SignStatus = "upgraded"

// upgrade computes the signed form of an item whose earlier signature is good
// by its own rules. What that signature never covered is named: the person who
// upgrades answers for it from now on. Files of today's format stay.
func (h *Verbs) upgrade(ctx context.Context, f signTarget, it *resolve.Item, call SignCall) (SignReport, SignedFile, error) {
	rep := SignReport{Ref: it.Ref.String(), Path: it.Path(), Status: Unchanged}
	switch code := it.Verdict.Code; {
	case code == diag.Legacy:
		return h.upgradeLegacy(ctx, it, call)
	case code == diag.Unsigned:
		rep.findUnsigned(f)
	case it.Verdict.Signer == (sign.Fingerprint{}) && !it.Verdict.OK():
		rep.refuse(it.Verdict.Err(it.Path()))
	}
	return rep, SignedFile{}, nil
}

func (r *SignReport) findUnsigned(f signTarget) {
	r.Status = Refused
	why := diag.Errorf(diag.Unsigned, 0, 0, "nobody ever signed it, so there is nothing to go by")
	if f.walked {
		r.Status, why.Severity = Skipped, diag.SeverityWarning
	}
	why.Path = r.Path
	r.Findings = append(r.Findings, why.WithReason("never_signed", "ref", r.Ref))
}

func (h *Verbs) upgradeLegacy(ctx context.Context, it *resolve.Item, call SignCall) (SignReport, SignedFile, error) {
	old := legacy.Check(string(it.Ref.Kind), it.Bytes, call.LegacyKeys)
	if why := notUpgradable(old); why != nil {
		rep := SignReport{Ref: it.Ref.String(), Path: it.Path(), Status: Refused, Findings: diag.WithPath([]diag.Finding{why.WithReason(why.Reason, "ref", it.Ref.String())}, it.Path())}
		return rep, SignedFile{}, nil
	}
	rep, out, err := h.Prepare(ctx, it, call.Signer)
	switch {
	case err != nil:
	case rep.Status == Signed:
		rep.Status = Upgraded
		for _, p := range old.Uncovered {
			f := diag.Warnf(diag.Legacy, p.Line, 0, "the old signature never covered %s: read it", hidden.Visible(p.What))
			rep.Findings = append(rep.Findings, diag.WithPath([]diag.Finding{f}, rep.Path)...)
		}
	case rep.Status == Refused:
		f := diag.Warnf(diag.Legacy, 0, 0, "the old signature is good, but the item does not fit as it stands")
		f.Path = rep.Path
		rep.Findings = append(rep.Findings, f.WithReason("legacy_invalid", "ref", rep.Ref))
	}
	return rep, out, err
}

// notUpgradable says why an earlier signature does not carry over, nil when it
// does.
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
