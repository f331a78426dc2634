package primary

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// agentSigned is what sign answers on a surface.
type agentSigned struct {
	Files   []SignReport `json:"files"`
	Signed  int          `json:"signed"`
	Refused int          `json:"refused"`
	Note    string       `json:"note,omitempty"`
}

// sign validates files and signs them with the agent's key: never with a
// person's, or whoever talks an agent into something would sign with it.
func (p *Place) sign(ctx context.Context, req Request, args map[string]any) (any, error) {
	ref := item.Ref{Kind: item.Kind(text(args, "item_type")), ID: text(args, "item_id")}
	if p.Settings.Sign == SignDeny {
		return nil, diag.New(diag.PermissionDenied, "signing %s: this server signs nothing", ref).WithHint("a person signs it with rye sign %s", ref)
	}
	files, err := p.drafts(ctx, ref, space.Name(text(args, "source")))
	if err != nil {
		return nil, err
	}
	signer, err := p.Signer(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.mayAll(sign.FingerprintOf(signer.Public()), files); err != nil {
		return nil, err
	}
	if err := p.asked(ctx, req, files); err != nil {
		return nil, err
	}
	out := agentSigned{Files: []SignReport{}}
	for _, f := range files {
		rep, err := p.signOne(ctx, f, signer)
		if err != nil {
			return nil, err
		}
		out.count(rep)
	}
	if p.Signed != nil {
		if err := p.Signed(ctx, out.Files); err != nil {
			return nil, err
		}
	}
	return out, out.err(ref)
}

// signOne leaves a file alone that verifies: somebody's signature counts.
func (p *Place) signOne(ctx context.Context, f draft, signer sign.Signer) (SignReport, error) {
	if f.verified {
		return SignReport{Ref: f.ref.String(), Path: f.root.Display(f.rel), Status: Unchanged}, nil
	}
	reports, err := p.Verbs.Sign(ctx, SignCall{Targets: []string{f.root.Path(f.rel)}, Dir: p.Verbs.p.Dir, Signer: signer})
	if err != nil || len(reports) != 1 {
		return SignReport{}, err
	}
	return reports[0], nil
}

func (a *agentSigned) count(r SignReport) {
	a.Files = append(a.Files, r)
	switch r.Status {
	case Signed:
		a.Signed++
		a.Note = "signed with the agent's key: it counts below drafts/ only, and running it needs a capability that a person gives, or a person's signature (rye sign)"
	case Refused:
		a.Refused++
	}
}

// err reports every structural problem of every refused file.
func (a *agentSigned) err(ref item.Ref) error {
	var fs []diag.Finding
	for _, r := range a.Files {
		if r.Status == Refused {
			fs = append(fs, r.Findings...)
		}
	}
	return diag.FromFindings("signing "+ref.String(), fs)
}

// draft is one file that an agent wants signed.
type draft struct {
	ref      item.Ref
	root     *space.Root
	rel      string
	digest   item.Digest
	verified bool
}

// drafts returns the files of one space that a ref, or a glob over ids, names.
func (p *Place) drafts(ctx context.Context, ref item.Ref, in space.Name) ([]draft, error) {
	targets, err := p.Verbs.inOne(ctx, ref, in)
	if err != nil {
		return nil, err
	}
	var out []draft
	for _, t := range targets {
		it, err := p.Verbs.p.Resolver.File(ctx, t.root, t.rel)
		if err != nil {
			return nil, err
		}
		out = append(out, draft{it.Ref, t.root, t.rel, it.Digest, it.Usable() == nil})
	}
	return out, nil
}

// inOne returns the files of a space that a ref, or a glob over the project's
// ids, names.
func (h *Verbs) inOne(ctx context.Context, ref item.Ref, in space.Name) ([]signTarget, error) {
	if strings.ContainsAny(ref.ID, "*?[") {
		if in != space.Project {
			return nil, diag.New(diag.Usage, "signing %s: patterns are for the project's items", ref).WithHint("name one item")
		}
		return h.globbed(ctx, ref.String())
	}
	all, err := h.p.Resolver.Shadows(ctx, ref)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.Root.Space == in && !e.Root.Bundled() {
			return []signTarget{{root: e.Root, rel: e.Rel}}, nil
		}
	}
	return nil, diag.New(diag.ItemNotFound, "signing %s: the %s space holds no such file", ref, in).
		WithHint("write the file below %s of that space first", space.Dir)
}

// mayAll refuses everything when the agent's key may not sign one of the files.
func (p *Place) mayAll(fp sign.Fingerprint, files []draft) error {
	var bad []string
	for _, f := range files {
		if p.May == nil || !p.May(fp, f.ref) {
			bad = append(bad, f.ref.String())
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return diag.New(diag.PermissionDenied, "signing %s: an agent's key signs below drafts/ only", strings.Join(bad, ", ")).
		WithHint("keep what you write below drafts/, or ask a person to run: rye sign %s", strings.Join(bad, " "))
}

// asked puts the question to the person at the client, where the settings want
// that.
func (p *Place) asked(ctx context.Context, req Request, files []draft) error {
	if p.Settings.Sign != SignAsk {
		return nil
	}
	var names, seen []string
	for _, f := range files {
		names = append(names, f.ref.String())
		seen = append(seen, f.ref.String()+" ("+f.digest.Hex()[:12]+")")
	}
	what := strings.Join(seen, ", ")
	if req.Ask == nil {
		return diag.New(diag.ApprovalRequired, "signing %s: a person must say yes, and this client cannot ask", what).
			WithHint("a person signs it with rye sign %s", strings.Join(names, " "))
	}
	yes, err := req.Ask(ctx, "Sign "+what+" with the agent's key?")
	if err == nil && !yes {
		err = diag.New(diag.ApprovalDenied, "signing %s: the person at the client said no", what)
	}
	if err != nil {
		return err
	}
	return p.unchanged(ctx, files)
}

// unchanged refuses files that are not what the person was asked about.
func (p *Place) unchanged(ctx context.Context, files []draft) error {
	for _, f := range files {
		it, err := p.Verbs.p.Resolver.File(ctx, f.root, f.rel)
		if err != nil {
			return err
		}
		if it.Digest != f.digest {
			return diag.New(diag.HashMismatch, "signing %s: the file changed while the person was asked", f.ref).
				WithHint("call sign again; the question names the digest of what is signed").
				WithDetail("expected", f.digest.String()).WithDetail("found", it.Digest.String())
		}
	}
	return nil
}
