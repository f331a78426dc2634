package trust

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/sign"
)

// The values of Verdict.Anchor.
const (
	AnchorClaimed = "claimed" // only the signer states the time
	AnchorLock    = "lock"    // the lock recorded the content before the key expired
)

// Status is how far a file is trusted, in one word. It follows from the code of
// the verdict.
type Status string

// The statuses. Only Trusted and Adopted permit the use of a file.
const (
	Trusted   Status = "trusted"
	Adopted   Status = "adopted"   // enough trusted reviewers accepted exactly these bytes; their author is not known
	Untrusted Status = "untrusted" // the signature is valid or cannot be checked, and the key is not trusted here
	Unsigned  Status = "unsigned"
	Invalid   Status = "invalid" // the bytes are not those that a key signed, or were not read
	Legacy    Status = "legacy"  // a signature of the earlier format
)

// Verdict is how far one file is trusted, and why. It is a value that is passed
// on with the file. Owner, Document and Reasons are safe to print. The zero
// Verdict is not trusted.
type Verdict struct {
	Status   Status           `json:"status"`
	Code     diag.Code        `json:"code,omitempty"` // "" if trusted
	Signer   sign.Fingerprint `json:"signer,omitzero"`
	Owner    string           `json:"owner,omitempty"`    // of the key, according to its document
	Document string           `json:"document,omitempty"` // that permits the key
	Tier     Tier             `json:"tier,omitempty"`     // of that document
	Time     time.Time        `json:"time,omitzero"`      // of the signature
	Agent    bool             `json:"agent,omitempty"`    // an agent's or the runtime key signed it: no person has read it yet
	Runtime  bool             `json:"runtime,omitempty"`  // the runtime key signed it: it records what a run did
	Anchor   string           `json:"anchor,omitempty"`   // how the time is known: claimed or lock
	Ended    time.Time        `json:"expired,omitzero"`   // when the key expired, if it has
	Reasons  []string         `json:"reasons,omitempty"`  // of a refusal, or what should be shown
	Expected string           `json:"expected,omitempty"` // the recorded value, if two values differ
	Found    string           `json:"found,omitempty"`    // the actual value
	Earlier  string           `json:"earlier,omitempty"`  // the result of the rules of the earlier format, in one word
	Findings []diag.Finding   `json:"findings,omitempty"` // positions in the file
}

// OK reports whether the file may be used.
func (v Verdict) OK() bool {
	return v.Status == Trusted || v.Status == Adopted
}

// AgentWord is the result of Word for a file that only an agent's key has signed.
const AgentWord = "agent"

// Word returns the verdict in one word: trusted, agent if only an agent's key has
// signed the file, runtime if the runtime key has, or the code of the refusal.
func (v Verdict) Word() string {
	switch {
	case !v.OK():
		return string(v.Code)
	case v.Runtime:
		return RuntimeWord
	case v.Agent:
		return AgentWord
	}
	return string(v.Status)
}

// Err returns nil if the file is trusted, else an error about ref with the code
// and the reasons of the verdict.
func (v Verdict) Err(ref string) error {
	if v.OK() {
		return nil
	}
	code := v.Code
	if code == "" {
		code = diag.Internal // the zero Verdict
	}
	ref = hidden.Visible(ref)
	e := diag.New(code, "verifying %s: %s", ref, v.Reason())
	e.Findings = v.Findings
	if v.Signer != (sign.Fingerprint{}) {
		e = e.WithDetail("signer", v.Signer.String())
	}
	if v.Owner != "" {
		e = e.WithDetail("owner", v.Owner)
	}
	if v.Expected != "" {
		e = e.
			WithDetail("expected", v.Expected).
			WithDetail("found", v.Found)
	}
	if len(v.Reasons) > 1 {
		e = e.WithDetail("reasons", v.Reasons[1:])
	}
	return v.withHint(e.WithDetail("status", string(v.Status)), ref)
}

// withHint sets the case of the error for its hint: the case of the first finding
// with one, else the case of the code.
func (v Verdict) withHint(e *diag.Error, ref string) *diag.Error {
	for _, f := range v.Findings {
		if f.Severity == diag.SeverityError && f.Reason != "" {
			for name, fact := range f.Facts {
				e = e.WithDetail(name, fact)
			}
			return e.WithReason(f.Reason).WithDetail("ref", ref)
		}
	}
	switch v.Code {
	case diag.Unsigned:
		return e.WithReason("never_signed").WithDetail("ref", ref)
	case diag.KeyUnknown:
		return e.WithReason("unknown_signer").WithDetail("ref", ref)
	case diag.HashMismatch:
		return e.WithDetail("path", ref)
	case diag.Scope:
		return e.WithReason("signer_scope").WithDetail("ref", ref)
	}
	return e
}

// Reason returns why the file is refused.
func (v Verdict) Reason() string {
	if len(v.Reasons) > 0 {
		return v.Reasons[0]
	}
	if row, ok := diag.Lookup(v.Code); ok {
		return row.When
	}
	return "nothing was decided"
}

// statusOf returns the status of a verdict with that code.
func statusOf(code diag.Code) Status {
	switch code {
	case "":
		return Trusted
	case diag.Unsigned:
		return Unsigned
	case diag.Legacy:
		return Legacy
	case diag.KeyUnknown, diag.KeyWeak, diag.Scope, diag.NotYetValid, diag.Expired, diag.Revoked, diag.TrustChanged, diag.Stale,
		diag.Threshold, diag.Cooldown, diag.PolicyDenied:
		return Untrusted
	}
	return Invalid
}

// Refuse returns the verdict with that code and its status, and with the reasons
// before those that it has. An empty code is INTERNAL, so that an error without a
// code never makes a file trusted.
func (v Verdict) Refuse(code diag.Code, reasons ...string) Verdict {
	v.Code = cmp.Or(code, diag.Internal)
	v.Status = statusOf(v.Code)
	v.Reasons = slices.Concat(reasons, v.Reasons)
	return v
}

// refuseErr is Refuse for an error of package sign.
func (v Verdict) refuseErr(err error, in Input) Verdict {
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.SigInvalid
	}
	reason := err.Error()
	for _, doing := range []string{"verifying: ", "reading the signature line: "} {
		reason = strings.TrimPrefix(reason, doing)
	}
	if code == diag.Unsigned {
		reason = "it has no signature"
	}
	v = v.Refuse(code, reason)
	f := diag.Errorf(code, 0, 0, "%s", reason)
	f.Path = in.Path
	var e *diag.Error
	if errors.As(err, &e) {
		v.Expected, _ = e.Details["expected"].(string)
		v.Found, _ = e.Details["found"].(string)
		f.Line, _ = e.Details["line"].(int)
		f.Column, _ = e.Details["column"].(int)
		f.Reason = e.Reason
	}
	if f.Reason == "" && in.Subject.Use == sign.UseItem {
		switch code {
		case diag.SigMalformed:
			if !in.DetachedOnly && !sign.Replaceable(in.Bytes, in.Style) {
				f = f.WithReason("line_with_code", "line", f.Line)
			} else {
				f = f.WithReason("item_signature")
			}
		case diag.Unsigned, diag.HashMismatch, diag.SigMultiple, diag.SigInvalid:
			f = f.WithReason("item_signature")
		}
	}
	v.Findings = append(v.Findings, f)
	return v
}

// quoted returns a text that is safe to print.
func quoted(s string) string {
	return hidden.Visible(s)
}
