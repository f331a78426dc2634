package project

import (
	"cmp"
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// The surfaces that make signatures, as the log of signatures records them.
const (
	surfaceCLI  = "cli"
	SurfaceHook = "hook"
	surfaceMCP  = "mcp"
	// surfaceBroker is a program of a tool.
	surfaceBroker = "broker"
)

// AuditLog returns the user's log of signatures.
func (p *Project) AuditLog() *auditlog.Log {
	return auditlog.New(auditlog.Params{Dir: p.Dirs.State, Now: p.Env.Now})
}

// Record writes down what was signed, and for whom. Whatever makes a signature
// calls it before the signed file is written.
func (p *Project) Record() func(context.Context, []auditlog.Entry) error {
	return func(ctx context.Context, made []auditlog.Entry) error {
		for i := range made {
			made[i].Surface = cmp.Or(p.Env.Surface, surfaceCLI)
			made[i].Project = cmp.Or(made[i].Project, p.Spaces.ProjectDir)
		}
		return p.AuditLog().Append(ctx, made)
	}
}

// RecordDocuments writes down trust documents that were signed just now.
func (p *Project) RecordDocuments(ctx context.Context, in space.Name, files ...trust.File) error {
	var made []auditlog.Entry
	for _, f := range files {
		document, fs := doc.Parse(f.Name, f.Data)
		if document == nil {
			return diag.FromFindings("recording the signature", diag.WithPath(fs, f.Name))
		}
		head := document.Head()
		e := auditlog.Entry{Use: documentUse(head.Kind), Kind: head.Kind, ID: head.Stem, Space: string(in), Digest: head.Digest.String(), Key: head.Signer.String()}
		if rotation, ok := document.(*doc.Rotation); ok { // the successor signed what is in it
			e.Key = sign.FingerprintOf(rotation.Successor).String()
			made = append(made, e)
			e.Key = head.Signer.String()
		}
		made = append(made, e)
	}
	return p.Record()(ctx, made)
}

// documentUse returns what the signature of a trust document is good for.
func documentUse(kind string) string {
	switch kind {
	case doc.KindEndorsement:
		return "endorse"
	case doc.KindRevocation, doc.KindRevocations, doc.KindReleaseRevocation:
		return "revoke"
	case doc.KindRotation:
		return "rotate"
	}
	return "trust"
}

// RecordManifest writes down that the manifest of the bundle in a folder was
// signed; digest is that of the manifest's file.
func (p *Project) RecordManifest(ctx context.Context, dir string, sub sign.Subject, digest item.Digest, by sign.Signer) error {
	return p.Record()(ctx, []auditlog.Entry{{
		Use: "release", Kind: sub.Kind, ID: sub.ID, Space: string(space.Project), Project: dir,
		Digest: digest.String(), Key: sign.FingerprintOf(by.Public()).String(),
	}})
}
