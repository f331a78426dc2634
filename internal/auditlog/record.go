package auditlog

import (
	"cmp"
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// The surfaces that make signatures, as the log records them.
const (
	SurfaceCLI  = "cli"
	SurfaceHook = "hook"
	SurfaceMCP  = "mcp"
	// SurfaceBroker is a program of a tool.
	SurfaceBroker = "broker"
)

// Recorder records the signatures that a program makes for a project.
type Recorder struct {
	Log     *Log
	Surface string // that asks for the signatures; "" is the command line
	Project string // the directory of the project, "" for none
}

// Record writes down what was signed, and for whom. Whatever makes a signature
// calls it before the signed file is written.
func (r *Recorder) Record(ctx context.Context, made []Entry) error {
	for i := range made {
		made[i].Surface = cmp.Or(r.Surface, SurfaceCLI)
		made[i].Project = cmp.Or(made[i].Project, r.Project)
	}
	return r.Log.Append(ctx, made)
}

// Documents writes down trust documents that were signed just now.
func (r *Recorder) Documents(ctx context.Context, in space.Name, files ...trust.File) error {
	var made []Entry
	for _, f := range files {
		document, fs := doc.Parse(f.Name, f.Data)
		if document == nil {
			return diag.FromFindings("recording the signature", diag.WithPath(fs, f.Name))
		}
		head := document.Head()
		e := Entry{
			Use:    documentUse(head.Kind),
			Kind:   head.Kind,
			ID:     head.Stem,
			Space:  string(in),
			Digest: head.Digest.String(),
			Key:    head.Signer.String(),
		}
		if rotation, ok := document.(*doc.Rotation); ok { // the successor signed what is in it
			e.Key = sign.FingerprintOf(rotation.Successor).String()
			made = append(made, e)
			e.Key = head.Signer.String()
		}
		made = append(made, e)
	}
	return r.Record(ctx, made)
}

// documentUse returns the use of the signature of a trust document.
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

// Manifest writes down that the manifest of the bundle in a folder was
// signed; digest is the digest of the manifest's file.
func (r *Recorder) Manifest(
	ctx context.Context,
	dir string,
	sub sign.Subject,
	digest item.Digest,
	by sign.Signer,
) error {
	return r.Record(ctx, []Entry{{
		Use: "release", Kind: sub.Kind, ID: sub.ID, Space: string(space.Project), Project: dir,
		Digest: digest.String(), Key: sign.FingerprintOf(by.Public()).String(),
	}})
}
