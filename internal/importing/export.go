package importing

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/importsource"
	"github.com/ryeos/rye/internal/interop"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

// Skill is a skill that was written as a folder.
type Skill struct {
	Ref   string   `json:"ref"`
	Files []string `json:"files"` // relative to the folder
}

// ExportSkill writes the folder of a skill, without signatures, to a directory that does
// not exist. It writes nothing if one file of the skill is not verified.
// The signature covers SKILL.md only. A bundle manifest covers the other files of the folder; a
// file that nothing covers is refused.
func ExportSkill(
	ctx context.Context,
	p *project.Project,
	ref item.Ref,
	to string,
) (*Skill, error) {
	if ref.Kind != interop.KindSkill || !hasSkills(ctx, p) {
		return nil, diag.New(diag.Usage, "exporting %s: it is not an item of the kind skill", ref).WithReason("export_kind")
	}
	it, err := p.Resolver.Find(ctx, ref)
	if err != nil {
		return nil, err
	}
	files, err := skillFiles(ctx, p, it)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.FileSystemError, "exporting %s: %s exists", ref, to).WithReason("export_exists")
	}
	base := atomicfile.Project(to)
	out := &Skill{Ref: ref.String()}
	for _, f := range files {
		err := base.Create(f.Path, f.Bytes, filePerm(f.Executable))
		if err != nil {
			return nil, diag.Doing("exporting "+ref.String(), err)
		}
		out.Files = append(out.Files, f.Path)
	}
	return out, nil
}

// skillFiles returns the verified files of a skill, the bytes that were judged.
func skillFiles(
	ctx context.Context,
	p *project.Project,
	it *resolve.Item,
) ([]interop.File, error) {
	dir := path.Dir(it.Rel)
	report, err := verify.Below(
		ctx,
		verify.Params{Resolver: p.Verifier(p.Spaces), Trust: p.Trust},
		it.Root,
		dir,
	)
	if err != nil {
		return nil, err
	}
	if report.Failed() {
		return nil, diag.FromFindings("exporting "+it.Ref.String(), report.Findings)
	}
	judged := map[string]item.Digest{}
	for _, f := range report.Files {
		judged[f.Path] = f.Digest
	}
	var out []interop.File
	err = it.Root.Walk(dir, func(e space.Entry) error {
		digest, ok := judged[it.Root.Display(e.Rel)]
		if !ok { // a directory, or the file of a signature
			return nil
		}
		b, err := it.Root.Read(e.Rel, importsource.MaxFile)
		if err != nil {
			return err
		}
		if item.DigestOf(b) != digest {
			return diag.New(diag.HashMismatch, "exporting %s: %s changed while it was read", it.Ref, it.Root.Display(e.Rel))
		}
		out = append(out, interop.File{Path: strings.TrimPrefix(e.Rel, dir+"/"), Bytes: b, Executable: Executable(it.Root, e.Rel)})
		return nil
	})
	return out, err
}

// Executable reports the permission of a file on disk, or what the storage records.
func Executable(root *space.Root, rel string) bool {
	if !root.OnDisk() {
		return root.Executable(rel)
	}
	fi, err := os.Stat(root.Path(rel))
	return err == nil && fi.Mode().Perm()&0o100 != 0
}
