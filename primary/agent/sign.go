package agent

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// signed is the result of sign.
type signed struct {
	Signed  int                  `json:"signed"`
	Refused int                  `json:"refused"`
	Note    string               `json:"note,omitempty"`
	Files   []primary.SignReport `json:"files"`
}

// sign validates files and signs them with the agent's key. It never uses a
// person's key: a prompt injection could sign anything with it.
func (w *Workspace) sign(
	ctx context.Context,
	req Request,
	args map[string]any,
) (any, error) {
	ref := item.Ref{Kind: item.Kind(text(args, "item_type")), ID: text(args, "item_id")}
	if w.Settings.Sign == SignDeny {
		return nil, diag.New(diag.PermissionDenied, "signing %s: this server does not sign", ref).
			WithReason("sign_disabled").WithDetail("refs", []string{ref.String()})
	}
	files, err := w.drafts(ctx, ref, space.Name(text(args, "source")))
	if err != nil {
		return nil, err
	}
	signer, err := w.Signer(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.checkScope(sign.FingerprintOf(signer.Public()), files); err != nil {
		return nil, err
	}
	if err := w.confirm(ctx, req, files); err != nil {
		return nil, err
	}
	out := signed{Files: []primary.SignReport{}}
	for _, f := range files {
		rep, err := w.signOne(ctx, f, primary.SignCall{Held: req.Held, Signer: signer})
		if err != nil {
			return nil, err
		}
		out.add(rep)
	}
	if w.Signed != nil {
		if err := w.Signed(ctx, out.Files); err != nil {
			return nil, err
		}
	}
	return out, out.err(ref)
}

// signOne signs one file as it was when the user was asked. A file with a trusted
// signature is unchanged: the agent's signature must not replace a person's.
func (w *Workspace) signOne(
	ctx context.Context,
	it *resolve.Item,
	call primary.SignCall,
) (primary.SignReport, error) {
	if it.Usable() == nil {
		return primary.SignReport{Ref: it.Ref.String(), Path: it.Path(), Status: primary.Unchanged}, nil
	}
	return w.Verbs.SignItem(ctx, it, call)
}

func (s *signed) add(r primary.SignReport) {
	s.Files = append(s.Files, r)
	switch r.Status {
	case primary.Signed:
		s.Signed++
		s.Note = "signed with the agent's key, which is trusted below drafts/ only; to run it, the server needs a rye.draft capability, or the user must review and sign it"
	case primary.Refused:
		s.Refused++
	}
}

// err returns an error with the findings of every refused file, or nil.
func (s *signed) err(ref item.Ref) error {
	var fs []diag.Finding
	for _, r := range s.Files {
		if r.Status == primary.Refused {
			fs = append(fs, r.Findings...)
		}
	}
	return diag.FromFindings("signing "+ref.String(), fs)
}

// drafts returns the files of one space that a ref, or a pattern of ids, names.
func (w *Workspace) drafts(
	ctx context.Context,
	ref item.Ref,
	in space.Name,
) ([]*resolve.Item, error) {
	entries, err := w.entries(ctx, ref, in)
	if err != nil {
		return nil, err
	}
	var out []*resolve.Item
	for _, e := range entries {
		it, err := w.Verbs.Resolver().File(ctx, e.Root, e.Rel)
		if err != nil {
			return nil, err
		}
		out = append(out, it)
	}
	return out, nil
}

func (w *Workspace) entries(
	ctx context.Context,
	ref item.Ref,
	in space.Name,
) ([]resolve.Entry, error) {
	if strings.ContainsAny(ref.ID, "*?[") {
		if in != space.Project {
			return nil, diag.New(diag.Usage, "signing %s: a pattern selects items of the project only", ref)
		}
		return w.Verbs.Match(ctx, ref.String())
	}
	all, err := w.Verbs.Resolver().Shadows(ctx, ref)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.Root.Space == in && !e.Root.Bundled() {
			return []resolve.Entry{e}, nil
		}
	}
	return nil, diag.New(diag.ItemNotFound, "signing %s: not found in the %s space", ref, in).
		WithReason("sign_not_found").
		WithDetail("directory", space.Dir).
		WithDetail("space", string(in))
}

// checkScope refuses the call if the agent's key may not sign one of the files.
func (w *Workspace) checkScope(fp sign.Fingerprint, files []*resolve.Item) error {
	var bad []string
	for _, f := range files {
		if w.May == nil || !w.May(fp, f.Ref) {
			bad = append(bad, f.Ref.String())
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return diag.New(diag.PermissionDenied, "signing %s: the agent's key may sign below drafts/ only", strings.Join(bad, ", ")).
		WithReason("drafts_only").WithDetail("refs", bad)
}

// confirm asks the user if the settings require it.
func (w *Workspace) confirm(ctx context.Context, req Request, files []*resolve.Item) error {
	if w.Settings.Sign != SignAsk {
		return nil
	}
	var refs, shown []string
	for _, f := range files {
		refs = append(refs, f.Ref.String())
		shown = append(
			shown,
			f.Path()+" ("+f.Digest.Hex()[:12]+")",
		)
	}
	what := strings.Join(shown, ", ")
	if req.Ask == nil {
		return diag.New(diag.ApprovalRequired, "signing %s: the user must confirm it, and this client cannot ask", what).
			WithReason("sign_ask").WithDetail("refs", refs)
	}
	return w.confirmed(ctx, req, "signing "+what, "Sign "+what+" with the agent's key?")
}
