package trust

import (
	"fmt"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// step is one line of Explain: the codes of its failure, and the text if it
// passed.
type step struct {
	number int
	name   string
	codes  []diag.Code
	detail func(*Store, Verdict, Input) string
}

func steps() []step {
	return []step{
		{2, "size", []diag.Code{diag.TooLarge}, func(_ *Store, _ Verdict, in Input) string {
			return fmt.Sprintf("%d bytes of at most %d", len(in.Bytes), in.limit())
		}},
		{3, "encoding", []diag.Code{diag.Encoding}, func(_ *Store, _ Verdict, in Input) string {
			if in.Text {
				return "UTF-8 without byte order mark or NUL"
			}
			return "not text, nothing to check"
		}},
		{4, "signature line", []diag.Code{
			diag.Unsigned,
			diag.SigMalformed,
			diag.Legacy,
			diag.Internal,
			diag.Usage,
		}, func(_ *Store, v Verdict, in Input) string {
			if in.DetachedOnly {
				return "detached, of " + stamp(v.Time) + " (" + v.Anchor + ")"
			}
			return "inline, of " + stamp(v.Time) + " (" + v.Anchor + ")"
		}},
		{5, "duplicates", []diag.Code{diag.SigMultiple}, fixed("one signature")},
		{6, "hash", []diag.Code{diag.HashMismatch}, fixed("the content is the one that was signed")},
		{7, "key", []diag.Code{diag.KeyUnknown, diag.TrustChanged}, func(_ *Store, v Verdict, _ Input) string {
			return v.Signer.String() + " of " + v.Owner
		}},
		{8, "key check", []diag.Code{diag.KeyWeak}, fixed("a sound Ed25519 point")},
		{9, "signature", []diag.Code{diag.SigInvalid}, func(_ *Store, _ Verdict, in Input) string {
			return "made for " + hidden.Visible(in.Subject.Kind+":"+in.Subject.ID)
		}},
		{10, "scope", []diag.Code{diag.Scope}, (*Store).explainScope},
		{11, "validity", []diag.Code{diag.NotYetValid, diag.Expired}, (*Store).explainWindow},
		{12, "revocation", []diag.Code{diag.Revoked, diag.Stale}, (*Store).explainRevocation},
		{13, "hidden characters", []diag.Code{diag.HiddenChars}, func(_ *Store, v Verdict, in Input) string {
			if !in.Text {
				return "not text, nothing to check"
			}
			return fmt.Sprintf("none that refuse, %d suspicious", len(v.Findings))
		}},
	}
}

func fixed(s string) func(*Store, Verdict, Input) string {
	return func(*Store, Verdict, Input) string { return s }
}

func (s *Store) explainScope(v Verdict, _ Input) string {
	e := s.keys[v.Signer]
	if e == nil {
		return ""
	}
	out := e.bounds.String()
	for _, b := range e.bounds {
		out += "; " + quoted(b.Source) + ": " + b.Scope.String()
	}
	return out
}

func (s *Store) explainWindow(v Verdict, _ Input) string {
	e := s.keys[v.Signer]
	if e == nil {
		return ""
	}
	b, _, reason := e.best(v.Time, s.clockTime(), nil)
	switch {
	case b == nil:
		return ""
	case v.Anchor == AnchorLock && len(v.Reasons) > 0:
		return v.Reasons[0]
	case reason != "":
		return reason
	case b.notAfter.IsZero():
		return "a compiled-in key has no end"
	}
	return stamp(b.notBefore) + " to " + stamp(b.notAfter)
}

// Explain returns the steps of a verdict of this store for this input: every step
// in order, passed, failed or not reached, then everything that is known about
// the key. The lines are safe to print.
func (s *Store) Explain(v Verdict, in Input) []string {
	out := []string{"1 containment: decided where the file was opened"}
	failed := false
	for _, st := range steps() {
		head := fmt.Sprintf("%d %s: ", st.number, st.name)
		switch {
		case failed:
			out = append(out, head+"not reached")
		case v.Code != "" && slices.Contains(st.codes, v.Code):
			failed = true
			out = append(out, head+"FAILED, "+string(v.Code))
			for _, r := range v.Reasons {
				out = append(out, "  "+hidden.Visible(r))
			}
		default:
			out = append(out, head+"passed, "+st.detail(s, v, in))
		}
	}
	out = append(out, s.explainKey(v.Signer)...)
	return append(out, s.conclusion(v))
}

func (s *Store) conclusion(v Verdict) string {
	if !v.OK() {
		return "verdict: " + string(v.Status) + ", " + string(v.Code)
	}
	if v.Tier == TierEmbedded {
		return "verdict: trusted, by the key inside rye (embedded tier)"
	}
	return fmt.Sprintf("verdict: trusted, by %s (%s tier)", v.Document, v.Tier)
}
