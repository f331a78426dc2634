package signing

import (
	"context"
	"path/filepath"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
	"github.com/ryeos/rye/verify"
)

// Resign signs what a key signed in the project again with its successor: the items at
// the paths, then the manifests among them, which list items, then endorsements. The
// project must be opened after the successor became trusted.
func Resign(
	ctx context.Context,
	p *project.Project,
	old sign.Fingerprint,
	paths []string,
	by sign.Signer,
) error {
	var targets, manifests []string
	for _, rel := range paths {
		if id, ok := bundle.ManifestID(rel); ok {
			manifests = append(manifests, id)
		} else {
			targets = append(targets, filepath.Join(p.Spaces.ProjectDir, filepath.FromSlash(rel)))
		}
	}
	if err := resignItems(ctx, p, targets, by); err != nil {
		return err
	}
	for _, id := range manifests {
		if err := resignManifest(ctx, p, id, by); err != nil {
			return err
		}
	}
	return endorseAgain(ctx, p, old, by)
}

func resignItems(ctx context.Context, p *project.Project, targets []string, by sign.Signer) error {
	if len(targets) == 0 {
		return nil
	}
	reports, err := p.Verbs.Sign(ctx, primary.SignCall{
		Held:     policy.Person(),
		Targets:  targets,
		Dir:      p.Env.Base,
		Signer:   by,
		TakeOver: true,
	})
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
	return relock.Refresh(ctx, p, reports)
}

// resignManifest writes the manifest of a bundle of the project with the current
// digests of its files.
func resignManifest(ctx context.Context, p *project.Project, id string, by sign.Signer) error {
	root, err := p.NeedProject()
	if err != nil {
		return err
	}
	tree, err := bundle.Folder(root.Base)
	if err != nil {
		return diag.New(diag.FileSystemError, "opening the directory of the bundle: %w", err)
	}
	defer tree.Close()
	body, err := bundle.Create(ctx, tree, ManifestParams(p, tree, root.Base, id))
	if err != nil {
		return err
	}
	_, err = WriteManifest(ctx, p, root.Base, id, body, by)
	return err
}

// ManifestParams returns the parameters of the next manifest of a bundle in dir: the present
// manifest's, else version 0.1.0.
func ManifestParams(p *project.Project, tree bundle.Tree, dir, id string) bundle.Params {
	out := bundle.Params{Version: "0.1.0"}
	b, _, err := tree.Read(bundle.ManifestPath(id), bundle.MaxManifest)
	if err == nil {
		if m, _ := bundle.Parse(b); m != nil {
			out = bundle.ParamsOf(m)
		}
	}
	out.ID = id
	out.LeftOut = LeftOutOf(p.Env, dir)
	out.Converted = convertedOf(p.Env, dir)
	if epoch := p.Env.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		out.SourceDateEpoch = epoch
	}
	if tree.Modes() {
		out.Executable = nil // the files have modes
	}
	return out
}

// WriteManifest signs the body of a manifest and writes it below a bundle's directory.
// The signature of an unchanged body stays.
func WriteManifest(
	ctx context.Context,
	p *project.Project,
	dir, id string,
	body []byte,
	s sign.Signer,
) (item.Digest, error) {
	base := atomicfile.Project(dir)
	file := bundle.ManifestPath(id)
	style := sign.Hash()
	in := body
	old, err := openat.ReadRegular(base.Path(file), openat.MaxText)
	if err == nil {
		sp, err := sign.SplitFile(old, style)
		if err == nil && sp.Signed && string(sp.Body()) == string(body) {
			in = old
		}
	}
	out, changed, err := sign.Sign(
		ctx,
		in,
		style,
		bundle.Subject(id),
		s,
		p.Env.Now(),
	)
	if err == nil && changed {
		err = p.Recorder().Manifest(
			ctx,
			dir,
			bundle.Subject(id),
			item.DigestOf(out),
			s,
		)
	}
	if err != nil {
		return item.Digest{}, err
	}
	if err := base.Write(file, out, 0o644); err != nil {
		return item.Digest{}, diag.Doing("writing the manifest", err)
	}
	return item.DigestOf(out), nil
}

// endorseAgain repeats the endorsements in the project that the old key signed: they
// end with it.
func endorseAgain(ctx context.Context, p *project.Project, old sign.Fingerprint, by sign.Signer) error {
	dir, err := p.ProjectTrust()
	if err != nil {
		return nil //nolint:nilerr // without a project there is nothing to endorse
	}
	found, _ := filepath.Glob(filepath.Join(dir, "endorse-*-by-"+old.String()+".toml"))
	for _, at := range found {
		b, err := openat.ReadRegular(at, openat.MaxText)
		if err != nil {
			return diag.New(diag.FileSystemError, "reading %s: %w", at, err)
		}
		was := doc.As[*doc.Endorsement](doc.Parse(filepath.Base(at), b))
		if was == nil {
			continue
		}
		key, err := openat.ReadRegular(
			filepath.Join(dir, doc.FileName(doc.KindKey, was.Fingerprint)),
			openat.MaxText,
		)
		if err != nil {
			continue // the endorsement has no effect without its document
		}
		name, data, err := doc.NewEndorsement(
			ctx,
			doc.PermissionParams{
				Document:  key,
				NotBefore: was.NotBefore,
				NotAfter:  was.NotAfter,
				Scope:     was.Scope,
				Now:       p.Env.Now(),
			},
			by,
		)
		if err == nil {
			err = p.Recorder().Documents(ctx, space.Project, trust.File{Name: name, Data: data})
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

// LeftOutOf returns the files of a work tree that no bundle contains.
func LeftOutOf(e *project.Env, dir string) bundle.LeftOut {
	return verify.LeftOut(project.IgnoredIn(e, dir))
}

// convertedOf returns the files of a work tree that git stores with other bytes.
func convertedOf(e *project.Env, dir string) func(ctx context.Context, paths []string) (map[string]string, error) {
	return func(ctx context.Context, paths []string) (map[string]string, error) {
		git, err := gitcmd.New(gitcmd.Params{Dir: dir, Cwd: e.Cwd, Environ: e.Environ()})
		if err != nil || project.Worktree(project.Resolved(dir)) == "" {
			return nil, nil // without git, or outside of a work tree
		}
		return git.Converted(ctx, paths)
	}
}
