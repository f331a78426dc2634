package primary

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/legacy"
	"github.com/ryeos/rye/internal/ryeos"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
)

// ImportStatus is what an import did with one file.
type ImportStatus string

// The states of an imported file. Ready and Rewritten are signed by the pattern '*';
// Rewritten has other bytes besides the old signature line. Held keeps its old
// signature line, because that proves nothing: a pattern does not sign it. Broken would
// be refused.
const (
	Ready     ImportStatus = "ready"
	Rewritten ImportStatus = "rewritten"
	Held      ImportStatus = "held"
	Broken    ImportStatus = "broken"
)

// ImportReport is the outcome for one file.
type ImportReport struct {
	Ref      string         `json:"ref"`
	Path     string         `json:"path"`
	Status   ImportStatus   `json:"status"`
	Old      string         `json:"old_signature"` // an outcome of package legacy, "unsigned", or "current" for one of today's format
	Support  bool           `json:"support,omitempty"`
	Changes  []diag.Finding `json:"changes,omitempty"`  // what was rewritten
	Findings []diag.Finding `json:"findings,omitempty"` // the work for a person
}

// Import prepares an item of the Python original for its first signature of today. It
// returns the new bytes of the file, nil if it stays as it is. The old signature line is
// removed only if the signature is valid: then the text that it covered is what its
// author signed.
func (v *Verbs) Import(
	ctx context.Context,
	e resolve.Entry,
	keys legacy.Keys,
) (ImportReport, []byte, error) {
	it, err := v.p.Resolver.Open(ctx, e)
	if err != nil {
		rep := ImportReport{
			Ref:    e.Ref.String(),
			Path:   e.Root.Display(e.Rel),
			Status: Broken,
			Old:    "unsigned",
		}
		rep.Findings = []diag.Finding{signFinding(rep.Path, err)}
		return rep, nil, ctx.Err()
	}
	rep := ImportReport{
		Ref:    it.Ref.String(),
		Path:   it.Path(),
		Status: Ready,
		Old:    "current",
	}
	before := it.Bytes
	switch {
	case it.Verdict.Code == diag.Legacy,
		it.Verdict.Code == diag.SigMalformed && ofLater(it):
		if it = v.stripped(it, keys, &rep); it == nil {
			return rep, nil, nil
		}
	case it.Verdict.Code == diag.Unsigned:
		rep.Old = "unsigned"
		why := "it was never signed: read it"
		if it.Ref.Kind == item.Config {
			why = "configuration was never signed: read it"
		}
		rep.find(diag.Warnf(diag.Unsigned, 0, 0, "%s", why))
	case it.Verdict.Signer == (sign.Fingerprint{}) && !it.Verdict.OK():
		rep.Status = Held
		rep.Old = string(legacy.Malformed)
		if v.LastSigner(it, sign.Fingerprint{}) == NoSigner { // no text, so no line was looked for
			rep.Status = Broken
			rep.Old = "unsigned"
		}
		rep.find(signFinding(rep.Path, it.Verdict.Err(rep.Path)))
		return rep, nil, nil
	default:
		return rep, nil, nil
	}
	bare := it.Bytes
	if !diag.Failed(hidden.Encoding(it.Bytes)) {
		it, rep.Changes = ryeos.Translate(v.p.Resolver, it)
	}
	if rep.Support = it.Support(); !bytes.Equal(it.Bytes, bare) {
		rep.Status = Rewritten
	}
	v.left(ctx, it, &rep)
	if bytes.Equal(before, it.Bytes) {
		return rep, nil, ctx.Err()
	}
	return rep, it.Bytes, ctx.Err()
}

// ofLater reports whether a malformed line is a signature of the last versions of the
// original, which have no padding.
func ofLater(it *resolve.Item) bool {
	return legacy.Check(string(it.Ref.Kind), it.Bytes, nil).Outcome != legacy.Malformed
}

// stripped returns an item without its valid signature of the earlier format. It
// returns nil if the signature is not valid.
func (v *Verbs) stripped(it *resolve.Item, keys legacy.Keys, rep *ImportReport) *resolve.Item {
	kind := string(it.Ref.Kind)
	old := legacy.Check(kind, it.Bytes, keys)
	rep.Old = string(old.Outcome)
	if why := notUpgradable(old); why != nil {
		rep.Status = Held
		rep.find(why.WithReason(why.Reason, "ref", rep.Ref))
		return nil
	}
	b := plainEnds(legacy.Without(kind, it.Bytes, old.Line))
	// Versions of the original that signed a file again kept the line before.
	for more := legacy.Check(kind, b, nil); more.Line.Number > 0 && more.Line.Junk == ""; more = legacy.Check(kind, b, nil) {
		b = legacy.Without(kind, b, more.Line)
	}
	for _, p := range legacy.Uncovered(kind, b) {
		rep.find(diag.Warnf(
			diag.Legacy,
			p.Line,
			0,
			"the old signature does not cover %s: read it",
			hidden.Visible(p.What),
		))
	}
	return v.p.Resolver.WithBytes(it, b)
}

// plainEnds replaces single carriage returns, which the original read as the ends of
// lines and rye refuses.
func plainEnds(b []byte) []byte {
	const pair = "\x00" // no text item has it
	if bytes.IndexByte(b, '\r') < 0 || bytes.IndexByte(b, 0) >= 0 {
		return b
	}
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte(pair))
	b = bytes.ReplaceAll(b, []byte("\r"), []byte("\n"))
	return bytes.ReplaceAll(b, []byte(pair), []byte("\r\n"))
}

// left adds what a person must do before the item can be signed, and what will stop
// its runs.
func (v *Verbs) left(ctx context.Context, it *resolve.Item, rep *ImportReport) {
	found := v.check(ctx, it, it.Verdict.Signer)
	if it.Verdict.Code != diag.Unsigned { // another line that looks like a signature
		found = append(found, signFinding(rep.Path, it.Verdict.Err(rep.Path)))
	}
	if diag.Failed(found) {
		rep.Status = Broken
	}
	rep.find(found...)
	if strings.HasSuffix(it.Rel, ".py") {
		for _, m := range ryeos.Imports(it.Bytes) {
			f := diag.Warnf(diag.Legacy, m.Line, 0, "it imports %s of the original, which rye does not have", m.Module)
			rep.find(f.WithReason("original_import", "use", m.Use))
		}
	}
}

// find adds findings about the file.
func (r *ImportReport) find(fs ...diag.Finding) {
	r.Findings = slices.Concat(r.Findings, diag.WithPath(fs, r.Path))
}
