package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// resign signs what a key signed in the project again with its successor: items, then
// the manifests that list them, then endorsements. The project is opened again,
// because the successor is trusted only now.
func resign(ctx context.Context, c *cli.Call, old sign.Fingerprint, paths []string, by sign.Signer) error {
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	var targets, manifests []string
	for _, p := range paths {
		if id, ok := bundle.ManifestID(p); ok {
			manifests = append(manifests, id)
		} else {
			targets = append(targets, filepath.Join(h.Spaces.ProjectDir, filepath.FromSlash(p)))
		}
	}
	if len(targets) > 0 {
		reports, err := h.Verbs.Sign(ctx, primary.SignCall{Held: policy.Person(), Targets: targets, Dir: c.Base, Signer: by, TakeOver: true})
		if err != nil {
			return err
		}
		var fs []diag.Finding
		for _, r := range reports {
			fs = append(fs, r.Findings...)
		}
		if err := diag.FromFindings("signing again", fs); err != nil {
			return err
		}
		if err := h.RefreshLock(ctx, reports); err != nil {
			return err
		}
	}
	for _, id := range manifests {
		if err := resignManifest(ctx, c, id, by); err != nil {
			return err
		}
	}
	return endorseAgain(ctx, c, h, old, by)
}

// resignManifest writes the manifest of a bundle of the project with the current
// digests of its files.
func resignManifest(ctx context.Context, c *cli.Call, id string, by sign.Signer) error {
	h, tree, dir, err := openBundle(ctx, c, "", "")
	if err != nil {
		return err
	}
	defer tree.Close()
	body, err := bundle.Create(ctx, tree, bundleParams(c, &bundleCreateOptions{}, tree, id))
	if err != nil {
		return err
	}
	_, err = writeManifest(ctx, c, h, dir, id, body, by)
	return err
}

// endorseAgain repeats the endorsements in the project that the old key signed: they
// end with it.
func endorseAgain(ctx context.Context, c *cli.Call, h *project.Project, old sign.Fingerprint, by sign.Signer) error {
	dir, err := h.ProjectTrust()
	if err != nil {
		return nil //nolint:nilerr // without a project there is nothing to endorse
	}
	found, _ := filepath.Glob(filepath.Join(dir, "endorse-*-by-"+old.String()+".toml"))
	for _, at := range found {
		b, err := os.ReadFile(at)
		if err != nil {
			return diag.New(diag.FileSystemError, "reading %s: %w", at, err)
		}
		was := doc.As[*doc.Endorsement](doc.Parse(filepath.Base(at), b))
		if was == nil {
			continue
		}
		key, err := os.ReadFile(filepath.Join(dir, doc.FileName(doc.KindKey, was.Fingerprint)))
		if err != nil {
			continue // the endorsement has no effect without its document
		}
		name, data, err := doc.NewEndorsement(ctx, doc.PermissionParams{Document: key, NotBefore: was.NotBefore, NotAfter: was.NotAfter, Scope: was.Scope, Now: c.Now()}, by)
		if err == nil {
			err = h.RecordDocuments(ctx, space.Project, trust.File{Name: name, Data: data})
		}
		if err == nil {
			_, err = trust.AddToProject(dir, name, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
