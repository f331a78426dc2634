package importing

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/importsource"
	"github.com/ryeos/rye/internal/interop"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/privatekey"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/signing"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// OthersCall is one request to import workflows of other programs.
type OthersCall struct {
	Paths  []string // absolute
	Shown  func(path string) string
	Format interop.Format // "": by name and content
	ID     string         // of the item, if there is one path
	DryRun bool
}

// Imported is the result for one source.
type Imported struct {
	Path   string         `json:"path"`
	Format interop.Format `json:"format"`
	Items  []string       `json:"items"`
	Files  []string       `json:"files"`               // relative to the project
	Kept   []string       `json:"unchanged,omitempty"` // the part of Files that an earlier import wrote
	Mapped []interop.Note `json:"mapped"`
	Left   []interop.Note `json:"left"`
	Next   [][]string     `json:"-"`
}

// Others writes unsigned items into the project. A source that is damaged, or whose file
// exists with other content, is a finding of the error; the others are written.
func Others(ctx context.Context, p *project.Project, call OthersCall) ([]Imported, error) {
	sources, links, err := importsource.Read(importsource.Call{
		Paths:   call.Paths,
		Shown:   call.Shown,
		Project: p.Spaces.ProjectDir,
		Format:  call.Format,
	})
	if err != nil {
		return nil, err
	}
	root, err := p.NeedProject()
	if err != nil {
		return nil, err
	}
	if call.ID != "" && len(sources) > 1 {
		return nil, diag.New(diag.Usage, "importing: --to names one item, and there are %d sources", len(sources))
	}
	base := atomicfile.Project(p.Spaces.ProjectDir)
	out := []Imported{}
	fresh := [][]interop.File{}
	var failed []diag.Finding
	for _, s := range sources {
		one, files, err := convert(ctx, p, s, call)
		if err != nil && s.Found && diag.Typed(err).Reason == interop.NothingFound {
			continue
		}
		if err == nil {
			err = taken(s, files, fresh)
		}
		if err != nil && len(sources) == 1 {
			return nil, err
		}
		if err != nil {
			failed = append(failed, importFindings(s.Path, err)...)
			continue
		}
		out = append(out, *one)
		fresh = append(fresh, files)
	}
	for _, l := range links {
		left := []interop.Note{{From: l.Path, Why: "a link to " + l.To + ", which is not followed"}}
		out = append(out, Imported{
			Path:  filepath.ToSlash(l.Path),
			Items: []string{},
			Files: []string{},
			Left:  left,
		})
		fresh = append(fresh, nil)
	}
	refused, err := checkConverted(ctx, p, root, slices.Concat(fresh...))
	if err != nil {
		return nil, err
	}
	failed = append(failed, refused...)
	out, fresh = withoutRefused(out, fresh, refused)
	written := map[string]bool{}
	for _, files := range fresh {
		for _, file := range files {
			if call.DryRun || written[file.Path] { // another source became the same file
				continue
			}
			written[file.Path] = true
			err := base.Create(file.Path, file.Bytes, filePerm(file.Executable))
			if err != nil {
				return nil, diag.Doing(
					"writing "+root.Display(strings.TrimPrefix(file.Path, space.Dir+"/")),
					err,
				)
			}
		}
	}
	return out, diag.FromFindings("importing", failed)
}

// taken returns an error if an earlier source of the same import became a file with the same
// path and other content.
func taken(s interop.Source, files []interop.File, earlier [][]interop.File) error {
	for _, f := range files {
		for _, e := range slices.Concat(earlier...) {
			if e.Path == f.Path && !bytes.Equal(e.Bytes, f.Bytes) {
				return diag.New(diag.AmbiguousItem, "importing %s: another source of this import becomes %s too", s.Path, f.Path).WithReason("id_taken")
			}
		}
	}
	return nil
}

// readServers reads a list of MCP servers of a client.
func readServers(file string, b []byte) (*interop.ServerList, error) {
	found, err := mcpclient.ReadClientFile(file, b, "")
	if err != nil && diag.Typed(err).Reason == mcpclient.NoServers {
		return nil, diag.Typed(err).WithReason(interop.NothingFound)
	}
	if err != nil {
		return nil, err
	}
	out := &interop.ServerList{Disabled: found.Disabled}
	for _, server := range found.Servers {
		out.Names = append(out.Names, server.Name)
	}
	for _, refused := range found.Refused {
		out.Refused = append(out.Refused, diag.Typed(refused).Message)
	}
	return out, nil
}

// convert converts one source. It returns the files that are not in the project yet.
func convert(
	ctx context.Context,
	p *project.Project,
	s interop.Source,
	call OthersCall,
) (*Imported, []interop.File, error) {
	if s.Fault != nil {
		return nil, nil, s.Fault
	}
	f := call.Format
	if f == "" {
		f = interop.Detect(s)
	}
	if f == "" && !s.Dir {
		list, err := readServers(s.Name, s.Bytes())
		if err == nil && len(list.Names)+len(list.Disabled) > 0 {
			f = interop.Servers // in a file with a name of the person
		}
	}
	if f == "" {
		return nil, nil, diag.New(diag.Usage, "importing %s: its format is not known", s.Path).WithReason("import_format")
	}
	r, err := interop.Convert(f, s, interop.Options{ID: call.ID, Skills: hasSkills(ctx, p), Servers: readServers})
	if err != nil {
		return nil, nil, err
	}
	one := &Imported{
		Path:   s.Path,
		Format: f,
		Items:  append([]string{}, r.Items...),
		Files:  []string{},
		Mapped: append([]interop.Note{}, r.Mapped...),
		Left:   append([]interop.Note{}, r.Left...),
		Next:   r.Next,
	}
	var fresh []interop.File
	for _, file := range r.Files {
		rel, isNew, err := checkImported(p, s, file)
		if err != nil {
			return nil, nil, err
		}
		if one.Files = append(one.Files, rel); isNew {
			file.Path = rel
			fresh = append(fresh, file)
		} else {
			one.Kept = append(one.Kept, rel)
		}
	}
	return one, fresh, nil
}

// importFindings returns the findings of an error about one source, or the error as one.
func importFindings(path string, err error) []diag.Finding {
	if fs := diag.FindingsOf(err); diag.Failed(fs) {
		return fs
	}
	e := diag.Typed(err)
	f := diag.Errorf(
		e.Code,
		0,
		0,
		"%s",
		strings.TrimPrefix(e.Message, "importing "+path+": "),
	)
	f.Path = path
	f.Reason = e.Reason
	f.Facts = e.Details
	return []diag.Finding{f}
}

// withoutRefused leaves out the sources with a file that a finding is about.
func withoutRefused(
	sources []Imported,
	files [][]interop.File,
	refused []diag.Finding,
) (out []Imported, fresh [][]interop.File) {
	out = []Imported{}
	for i, one := range sources {
		if !slices.ContainsFunc(refused, func(f diag.Finding) bool { return slices.Contains(one.Files, f.Path) }) {
			out = append(out, one)
			fresh = append(fresh, files[i])
		}
	}
	return out, fresh
}

// checkConverted loads the items of an import as their users will: what rye would refuse to
// run is not written.
func checkConverted(
	ctx context.Context,
	p *project.Project,
	root *space.Root,
	fresh []interop.File,
) ([]diag.Finding, error) {
	files := map[string][]byte{}
	for _, file := range fresh {
		files[strings.TrimPrefix(file.Path, space.Dir+"/")] = file.Bytes
	}
	fs, err := signing.CheckDrafts(ctx, p, root, files)
	if err != nil {
		return nil, diag.Doing("importing", err)
	}
	return fs, nil
}

// hasSkills reports whether the project has a kind that keeps the folders of skills.
func hasSkills(ctx context.Context, p *project.Project) bool {
	e, err := p.Resolver.Extractor(ctx, interop.KindSkill)
	return err == nil &&
		e.ID == extract.IDParentDir &&
		e.File == interop.SkillFile &&
		e.Folder == "skills"
}

// signedAs reports whether a file is a text with a signature line.
func signedAs(file, text []byte) bool {
	return slices.ContainsFunc(sign.Styles(), func(style sign.Style) bool {
		sp, err := sign.SplitFile(file, style)
		return err == nil && sp.Signed && bytes.Equal(sp.Body(), text)
	})
}

// hiddenAt returns the findings about hidden characters of a converted file at their lines in the
// source, which a person can edit, and in the item only if the source has them as escapes.
func hiddenAt(
	s interop.Source,
	f interop.File,
	fs []diag.Finding,
	rel string,
) []diag.Finding {
	line := bytes.Split(f.Bytes, []byte("\n"))[fs[0].Line-1]
	for i := range s.Files {
		src := &s.Files[i]
		there := hidden.Scan(src.Bytes)
		if diag.Failed(there) && bytes.Contains(src.Bytes, line) {
			return diag.WithPath(there, s.PathOf(src))
		}
	}
	return diag.WithPath(fs, rel)
}

// checkImported returns the path of a file in the project, and whether it must be written:
// an import that was interrupted continues, and one that was signed is not written again.
func checkImported(
	p *project.Project,
	s interop.Source,
	f interop.File,
) (rel string, new bool, err error) {
	rel = path.Join(space.Dir, f.Path)
	if err := bundle.CheckPath(rel); err != nil {
		return "", false, diag.Doing("importing "+s.Path, err)
	}
	if utf8.Valid(f.Bytes) {
		if fs := hidden.Scan(f.Bytes); diag.Failed(fs) {
			return "", false, diag.FromFindings("importing "+s.Path, hiddenAt(s, f, fs, rel))
		}
	}
	if line := privatekey.Line(f.Bytes, true); line > 0 {
		return "", false, diag.New(diag.PolicyDenied, "importing %s: line %d of %s would begin a private key, which a commit shares", s.Path, line, rel).
			WithReason("private_key_imported").WithDetail("path", s.Path)
	}
	old, _, err := openat.Read(p.Spaces.ProjectDir, rel, importsource.MaxFile+1)
	switch {
	case err == nil && (bytes.Equal(old, f.Bytes) || signedAs(old, f.Bytes)):
		return rel, false, nil
	case err == nil || diag.CodeOf(err) == diag.TooLarge:
		return "", false, diag.New(diag.AmbiguousItem, "importing %s: %s exists with other content", s.Path, rel).WithReason("import_taken")
	case !errors.Is(err, fs.ErrNotExist):
		return "", false, err
	}
	return rel, true, nil
}
