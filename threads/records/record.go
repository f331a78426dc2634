package records

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// Writer returns the function that writes a text about a run as a knowledge item
// of the project, without secrets, signed by the runtime key. Older records of the same
// graph are removed.
func Writer(p *project.Project, signer sign.Signer) func(ctx context.Context, ref item.Ref, text []byte) error {
	return func(ctx context.Context, ref item.Ref, text []byte) error {
		secrets, err := Filter(p)
		if err != nil {
			return err
		}
		style, _ := sign.StyleByName("<!--")
		out, _, err := sign.Sign(
			ctx,
			secrets.Bytes(text),
			style,
			extract.Subject(ref),
			signer,
			p.Env.Now(),
		)
		if err != nil {
			return err
		}
		made := auditlog.Entry{
			Use:    string(doc.DefaultUse),
			Kind:   string(ref.Kind),
			ID:     ref.ID,
			Space:  string(space.Project),
			Digest: item.DigestOf(out).String(),
			Key:    sign.FingerprintOf(signer.Public()).String(),
		}
		err = p.Recorder().Record(ctx, []auditlog.Entry{made})
		if err != nil {
			return err
		}
		base := atomicfile.Project(p.Spaces.ProjectDir)
		top, _, _ := strings.Cut(ref.ID, "/")
		rel := path.Join(space.Dir, "knowledge", ref.ID+".md")
		err = ignoreRecords(p, base, path.Join(space.Dir, "knowledge", top))
		if err != nil {
			return err
		}
		if err := base.Replace(rel, out, 0o600); err != nil {
			return diag.Doing("recording the run", err)
		}
		return pruneRecords(ctx, p, ref)
	}
}

// ignoreRecords makes git ignore the records below a directory, also in a project that
// rye init did not make: other people cannot verify them.
func ignoreRecords(p *project.Project, base atomicfile.Base, dir string) error {
	if project.Worktree(project.Resolved(p.Spaces.ProjectDir)) == "" {
		return nil
	}
	err := base.Create(path.Join(dir, ".gitignore"), []byte("*\n"), 0o644)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return diag.Doing("recording the run", err)
	}
	return nil
}
