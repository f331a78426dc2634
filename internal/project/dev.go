package project

import (
	"errors"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/owner"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

// AcceptDev returns nil if the user may run an item without a valid signature in the
// sandbox: an own item of the project that is not signed, or that changed after the
// user signed it. Metadata and hidden characters are checked as for a signed item.
func (p *Project) AcceptDev(it *resolve.Item) error {
	refuse := func(code diag.Code, why string) error {
		return diag.New(code, "running %s with --dev: %s", it.Ref, why).
			WithReason("dev").
			WithDetail("ref", it.Ref.String()).
			WithDetail("path", it.Path())
	}
	switch {
	case it.Root.Space != space.Project || it.Root.Bundled():
		return refuse(diag.PolicyDenied, it.Path()+" is in "+it.Root.Label()+"; --dev accepts items of the project itself only")
	case it.Verdict.OK():
		return diag.New(diag.Usage, "running %s with --dev: a trusted key signed it", it.Ref).
			WithReason("dev_signed").
			WithDetail("ref", it.Ref.String())
	case !p.edited(it.Verdict):
		return diag.Doing(
			"running "+it.Ref.String()+" with --dev",
			it.Verdict.Err(it.Path()),
		)
	}
	fs := trust.Hidden(string(it.Ref.Kind), it.Bytes)
	if len(fs) > 0 {
		return diag.FromFindings(
			"reading "+it.Ref.String(),
			diag.WithPath(fs, it.Path()),
		)
	}
	if err := p.onlyMine(it); err != nil {
		return refuse(diag.PolicyDenied, err.Error())
	}
	err := diag.FromFindings("reading "+it.Ref.String(), it.Findings)
	if err != nil {
		return err
	}
	if it.Support() {
		return diag.New(diag.ToolNotFound, "finding %s: %s has no tool_type, so it is a support file, not a tool", it.Ref, it.Path()).
			WithReason(extract.HeaderHint).WithDetail("header", extract.Header(it.Type))
	}
	return nil
}

// edited reports whether a file was never signed, or was changed after a key of the
// user, not one of an agent, had signed it.
func (p *Project) edited(v trust.Verdict) bool {
	if v.Code == diag.Unsigned {
		return true
	}
	key, ok := p.Trust.Key(v.Signer)
	return v.Code == diag.HashMismatch &&
		ok &&
		key.Own &&
		!key.Agent() &&
		!key.GrantOnly &&
		key.State.Usable()
}

// onlyMine returns an error if another user of the machine can write or replace the file of an
// item.
func (p *Project) onlyMine(it *resolve.Item) error {
	path := filepath.Join(p.Spaces.ProjectDir, ".ai", filepath.FromSlash(it.Rel))
	err := owner.Private(path, p.Env.sudoUser())
	if err == nil {
		err = owner.Sealed(filepath.Dir(path))
	}
	if err == nil {
		return nil
	}
	u := (*owner.Unsafe)(nil)
	if errors.As(err, &u) {
		return errors.New(u.Error())
	}
	return diag.Doing("examining "+it.Path(), err)
}
