package primary

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// LastSigner is who signed a file last, according to its signature line. The line
// may be broken: it is a claim and not a proof.
type LastSigner string

// The last signers. A signature by the development key has none: the private half
// of that key is public.
const (
	NoSigner         LastSigner = ""
	OwnSigner        LastSigner = "own"        // a person's key of the user
	AgentSigner      LastSigner = "agent"      // a key of the user's agents
	OtherSigner      LastSigner = "other"      // any other key
	LostSigner       LastSigner = "lost"       // a key of the user that is revoked as compromised
	UnreadableSigner LastSigner = "unreadable" // the line is malformed or has the earlier format
)

// LastSigner returns who signed it last, for a user who signs with the key signer.
func (v *Verbs) LastSigner(it *resolve.Item, signer sign.Fingerprint) LastSigner {
	fp := it.Verdict.Signer
	if fp == (sign.Fingerprint{}) {
		switch it.Verdict.Code {
		case diag.SigMalformed, diag.SigMultiple, diag.Legacy:
			return UnreadableSigner
		}
		return NoSigner
	}
	return v.owner(fp, signer)
}

// owner returns whose key fp is.
func (v *Verbs) owner(fp, signer sign.Fingerprint) LastSigner {
	if fp == signer {
		return OwnSigner
	}
	k, known := v.p.Resolver.Trust().Key(fp)
	switch {
	case !known:
		return OtherSigner
	case k.EmbeddedOnly:
		return NoSigner
	case !k.Own:
		return OtherSigner
	case k.Compromised:
		return LostSigner
	case k.Agent():
		return AgentSigner
	}
	return OwnSigner
}

// byAgent reports whether the signer's key is an agent's.
func (v *Verbs) byAgent(signer sign.Signer) bool {
	k, known := v.p.Resolver.Trust().Key(sign.FingerprintOf(signer.Public()))
	return known && k.Agent()
}

// rule is what the way in which a file was selected permits.
type rule struct {
	keep    bool          // a valid signature stays
	skip    *diag.Finding // the file is not signed, and why
	foreign bool          // the signature of another key is replaced
	promote bool          // only an agent has signed the file
}

// rule returns the rule for one file. A directory or a pattern never replaces the
// signature of another key and never promotes a draft: the user may not have read it.
func (v *Verbs) rule(f signTarget, it *resolve.Item, call SignCall) rule {
	last := v.LastSigner(it, sign.FingerprintOf(call.Signer.Public()))
	person := !v.byAgent(call.Signer)
	draft := person && (it.Verdict.Agent || last == AgentSigner)
	if !f.walked {
		return rule{foreign: last == OtherSigner, promote: draft}
	}
	written := it.Verdict.OK() && !it.Verdict.Agent // a person has signed these bytes
	switch {
	case draft || person && !written && strings.HasPrefix(it.Ref.ID, trust.Drafts):
		return rule{skip: notSigned("draft_by_pattern", it, "not signed: a draft; name it to sign it")}
	case it.Verdict.OK():
		return rule{keep: true}
	case !v.mergedByOwn(it, sign.FingerprintOf(call.Signer.Public())):
		return rule{skip: notSigned("conflict_by_pattern", it, "not signed: the merge of its signature lines is not finished; name it to sign it")}
	case last == UnreadableSigner && it.Verdict.Code == diag.Legacy:
		return rule{skip: notSigned("legacy_by_pattern", it, "not signed: it has a signature of the earlier format; upgrade it, or name it to sign it")}
	case it.Verdict.Code == diag.SigMalformed:
		return rule{skip: notSigned("unreadable_by_pattern", it, "not signed: its signature line is unreadable (%s); name it to sign it", it.Verdict.Code)}
	case (last == OtherSigner || last == LostSigner) && !call.TakeOver:
		return rule{skip: notSigned("foreign_by_pattern", it, "not signed: signed by %s; name it, or use --take-over", signerLabel(it))}
	}
	return rule{foreign: last == OtherSigner}
}

// signerLabel returns the key and the owner in the signature line of an item.
func signerLabel(it *resolve.Item) string {
	owner := it.Verdict.Owner
	if owner == "" {
		owner = "unknown"
	}
	return it.Verdict.Signer.Short() + " (" + owner + ")"
}

// byPattern ends the reason of a file that a pattern does not sign.
// A pattern signs what has no signature and what the user changed, also merges of two lines of
// own keys. It skips malformed lines and lines of the earlier format. Below drafts/ it signs
// nothing that a person has not signed as it is: an agent can write a line that names the
// person's key.
const byPattern = "_by_pattern"

// notSigned returns the warning for a file that is not signed.
func notSigned(reason string, it *resolve.Item, format string, args ...any) *diag.Finding {
	f := diag.Warnf(diag.ApprovalRequired, 0, 0, format, args...)
	f.Path = it.Path()
	f = f.WithReason(reason, "ref", it.Ref.String())
	return &f
}

// approve asks the user whether a draft may be signed as changed and whether the
// signature of another key may be replaced, unless the call is the answer. It returns
// the refusal, or nil.
func (v *Verbs) approve(
	ctx context.Context,
	r rule,
	rep *SignReport,
	it *resolve.Item,
	call SignCall,
) (*diag.Finding, error) {
	refuse := func(code diag.Code, reason, format string, args ...any) *diag.Finding {
		f := diag.Errorf(code, 0, 0, format, args...)
		f.Path = it.Path()
		f = f.WithReason(reason, "ref", it.Ref.String())
		return &f
	}
	headless := call.Ask == nil || call.Check
	if rep.Diff != "" && !headless {
		rep.Asked = true
		yes, err := call.Ask(ctx, rep.Diff, "Only an agent has signed "+it.Ref.String()+" since. Sign this version?")
		if err == nil && !yes {
			return refuse(diag.ApprovalDenied, "", "not signed: it stays a draft"), nil
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case !r.foreign || call.TakeOver:
		return nil, nil
	case headless:
		return refuse(diag.ApprovalRequired, "foreign_signature", "signed by %s: your signature would replace it", signerLabel(it)), nil
	}
	yes, err := call.Ask(
		ctx,
		"",
		it.Ref.String()+" is signed by "+signerLabel(it)+". Replace the signature?",
	)
	if err == nil && !yes {
		return refuse(diag.ApprovalDenied, "", "not signed: the signature of %s was kept", signerLabel(it)), nil
	}
	return nil, err
}

// Replaced is a signature of another key that was replaced.
type Replaced struct {
	Key   string `json:"key"`
	Owner string `json:"owner,omitempty"`
}

// draftDiff returns the difference between a draft and the last version that a
// person signed, "" if there is none. Signature lines are left out.
// Without a terminal the name is the answer, and the difference is in the report.
func (c SignCall) draftDiff(ctx context.Context, it *resolve.Item) string {
	if c.LastByPerson == nil {
		return ""
	}
	old, from := c.LastByPerson(ctx, it)
	if old == nil {
		return ""
	}
	return linediff.Unified(
		it.Path()+" ("+from+")",
		it.Path(),
		unsignedText(old, it),
		unsignedText(it.Bytes, it),
	)
}

// unsignedText returns a file without its signature line.
func unsignedText(b []byte, it *resolve.Item) []byte {
	sp, err := sign.SplitFile(b, it.Type.Style)
	if err != nil {
		return b
	}
	return sp.Body()
}
