package trust

import (
	"errors"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/sign"
)

// anchorClaimed is the value of Verdict.Anchor: only the signer states the time.
const anchorClaimed = "claimed"

// Status says how far a file is trusted, in one word.
type Status string

// The statuses. Only the first counts.
const (
	Trusted   Status = "trusted"
	Untrusted Status = "untrusted" // a sound signature, or one that cannot be checked, of a key that does not count here
	Unsigned  Status = "unsigned"
	Invalid   Status = "invalid" // the bytes are not what a key signed, or may not be looked at
	Legacy    Status = "legacy"  // a signature of the earlier format
)

// Verdict says how far one file is trusted and why. It is a value that travels
// with the file. Owner, Document and Reasons are safe to print.
type Verdict struct {
	Status   Status           `json:"status"`
	Code     diag.Code        `json:"code,omitempty"` // "" when trusted
	Signer   sign.Fingerprint `json:"signer,omitzero"`
	Owner    string           `json:"owner,omitempty"`    // of the key, as its document labels it
	Document string           `json:"document,omitempty"` // that granted trust
	Tier     Tier             `json:"tier,omitempty"`     // where that stands
	Time     time.Time        `json:"time,omitzero"`      // of the signature
	Agent    bool             `json:"agent,omitempty"`    // an agent's key signed it: nobody has read it yet
	Anchor   string           `json:"anchor,omitempty"`   // how the time is known
	Reasons  []string         `json:"reasons,omitempty"`  // of a refusal, or of what is remarkable
	Expected string           `json:"expected,omitempty"` // what was recorded, where two things differ
	Found    string           `json:"found,omitempty"`    // what is there
	Earlier  string           `json:"earlier,omitempty"`  // what the rules of the earlier format say, in one word
	Findings []diag.Finding   `json:"findings,omitempty"` // places in the file
}

// OK reports whether the file is trusted.
func (v Verdict) OK() bool { return v.Status == Trusted && v.Code == "" }

// AgentWord is the verdict in one word about what only an agent's key has signed.
const AgentWord = "agent"

// Word returns the verdict in one word: trusted, agent for what only an agent's
// key has signed, or the code of what is wrong.
func (v Verdict) Word() string {
	switch {
	case !v.OK():
		return string(v.Code)
	case v.Agent:
		return AgentWord
	}
	return string(v.Status)
}

// Err returns nil when the file is trusted, else an error about ref that
// carries the code, the reasons and what to do.
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
	e.Hint, e.Findings = v.hint(ref), v.Findings
	if v.Signer != (sign.Fingerprint{}) {
		e = e.WithDetail("signer", v.Signer.String())
	}
	if v.Owner != "" {
		e = e.WithDetail("owner", v.Owner)
	}
	if v.Expected != "" {
		e = e.WithDetail("expected", v.Expected).WithDetail("found", v.Found)
	}
	if len(v.Reasons) > 1 {
		e = e.WithDetail("reasons", v.Reasons[1:])
	}
	return e.WithDetail("status", string(v.Status))
}

// Reason returns in a few words why the file is refused.
func (v Verdict) Reason() string {
	if len(v.Reasons) > 0 {
		return v.Reasons[0]
	}
	if row, ok := diag.Lookup(v.Code); ok {
		return row.When
	}
	return "nothing was decided"
}

// hint is "" where the table's own is as good.
func (v Verdict) hint(ref string) string {
	for _, f := range v.Findings {
		if f.Severity == diag.SeverityError && f.Fix != "" {
			return named(f.Fix, ref)
		}
	}
	switch v.Code {
	case diag.Unsigned:
		return "read it, then rye sign " + ref
	case diag.KeyUnknown:
		return "rye trust explain " + ref + "; rye trust add FILE if you know the owner"
	case diag.TrustChanged:
		return "rye trust accept shows what changed and asks again"
	case diag.Stale:
		return "get the newest revocations of the project; an anchor makes a list with rye trust refresh"
	case diag.Scope:
		return "rye trust explain " + ref + " shows the scope; rye trust add FILE widens your grant"
	}
	return ""
}

// named puts ref in the place of the word REF.
func named(hint, ref string) string {
	words := strings.Split(hint, " ")
	for i, w := range words {
		if bare := strings.TrimRight(w, ";,."); bare == "REF" {
			words[i] = ref + w[len(bare):]
		}
	}
	return strings.Join(words, " ")
}

// statusOf is the status that a code leads to.
func statusOf(code diag.Code) Status {
	switch code {
	case "":
		return Trusted
	case diag.Unsigned:
		return Unsigned
	case diag.Legacy:
		return Legacy
	case diag.KeyUnknown, diag.KeyWeak, diag.Scope, diag.NotYetValid, diag.Expired, diag.Revoked, diag.TrustChanged, diag.Stale:
		return Untrusted
	}
	return Invalid
}

// refuse returns the verdict with a code and the reasons for it.
func (v Verdict) refuse(code diag.Code, reasons ...string) Verdict {
	v.Code, v.Status, v.Reasons = code, statusOf(code), append(v.Reasons, reasons...)
	return v
}

// refuseErr is refuse for an error of the sign room.
func (v Verdict) refuseErr(err error, path string) Verdict {
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.SigInvalid
	}
	reason := err.Error()
	for _, doing := range []string{"verifying: ", "reading the signature line: "} {
		reason = strings.TrimPrefix(reason, doing)
	}
	if code == diag.Unsigned {
		reason = "it carries no signature"
	}
	v = v.refuse(code, reason)
	f := diag.Errorf(code, 0, 0, "%s", reason)
	f.Path = path
	var e *diag.Error
	if errors.As(err, &e) {
		v.Expected, _ = e.Details["expected"].(string)
		v.Found, _ = e.Details["found"].(string)
		f.Fix = e.Hint
		f.Line, _ = e.Details["line"].(int)
		f.Column, _ = e.Details["column"].(int)
	}
	v.Findings = append(v.Findings, f)
	return v
}

func quoted(s string) string { return hidden.Visible(s) }
