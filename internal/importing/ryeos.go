package importing

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/ryeos"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
)

// Call is one request to copy a project of the Python original.
type Call struct {
	From, To   string // directories, absolute
	LegacyKeys []string
	DryRun     bool // write nothing that stays

	// Init makes a directory a project with the name of To.
	Init func(ctx context.Context, dir string) error
}

// Result is the result of an import.
type Result struct {
	Items  []primary.ImportReport
	Others []string // paths of the files that are not items
	Left   []ryeos.Left
	HasKey bool // the user has a key to sign with
}

// Project copies the items of a project of the original and prepares them for their
// first signatures. The copy is made in a temporary directory next to its final path and
// renamed when it is complete. The original directory is only read.
func Project(ctx context.Context, e *project.Env, call Call) (out *Result, err error) {
	if err := checkImport(e, call); err != nil {
		return nil, err
	}
	stage, err := importStage(call)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(stage))
	}()
	out = &Result{}
	if err := call.Init(ctx, stage); err != nil {
		return nil, err
	}
	base := atomicfile.Project(stage)
	out.Left, err = ryeos.Read(call.From, func(f ryeos.File) error {
		out.Others = append(out.Others, space.Dir+"/"+f.Rel)
		return base.Replace(space.Dir+"/"+f.Rel, f.Bytes, filePerm(f.Executable))
	})
	if err != nil {
		return nil, err
	}
	if err := importItems(ctx, e.In(stage), call, base, out); err != nil {
		return nil, err
	}
	if call.DryRun {
		return out, nil
	}
	if err := base.RemoveAll(space.Dir + "/cache"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.Remove(call.To); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty directory
		return nil, importFailed(call, err)
	}
	if err := os.Rename(stage, call.To); err != nil {
		return nil, importFailed(call, err)
	}
	return out, nil
}

func filePerm(executable bool) fs.FileMode {
	if executable {
		return 0o755
	}
	return 0o644
}

// checkImport checks the directories of an import before anything is written.
func checkImport(e *project.Env, call Call) error {
	fail := func(reason, format string, args ...any) *diag.Error {
		return diag.New(diag.Usage, "importing "+call.From+": "+format, args...).WithReason(reason)
	}
	has, err := ryeos.Has(call.From)
	if err != nil {
		return diag.New(diag.FileSystemError, "importing %s: %w", call.From, err)
	}
	if !has {
		return diag.New(diag.ItemNotFound, "importing %s: it has no directory %s with files", call.From, space.Dir).WithReason("import_empty")
	}
	_, err = os.Lstat(filepath.Join(call.From, "rye.yaml"))
	if err == nil {
		return fail("import_current", "it is a project of this rye already")
	}
	des, err := os.ReadDir(call.To)
	if err == nil && len(des) > 0 ||
		err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail("import_target", "%s exists and is not an empty directory", call.To)
	}
	rel, err := filepath.Rel(filepath.Join(call.From, space.Dir), call.To)
	if err == nil && (rel == "." || filepath.IsLocal(rel)) {
		return fail("import_target", "%s is inside it", call.To)
	}
	return e.CheckNewProject(call.To)
}

// importStage creates the temporary directory of an import.
func importStage(call Call) (string, error) {
	parent := filepath.Dir(call.To)
	if call.DryRun {
		parent = ""
	} else if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", importFailed(call, err)
	}
	stage, err := os.MkdirTemp(parent, ".rye-import-")
	if err != nil {
		return "", importFailed(call, err)
	}
	// Messages have the path: through a link (macOS) it would have two forms.
	if real, err := filepath.EvalSymlinks(stage); err == nil {
		stage = real
	}
	return stage, os.Chmod(stage, 0o755)
}

func importFailed(call Call, err error) error {
	return diag.New(diag.FileSystemError, "importing %s to %s: %w", call.From, call.To, err)
}

// importItems prepares every item of the copy.
func importItems(ctx context.Context, e *project.Env, call Call, base atomicfile.Base, out *Result) error {
	p, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	_, err = p.Keys.OwnKey("")
	out.HasKey = err == nil
	keys, err := p.Keys.LegacyKeys(call.LegacyKeys)
	if err != nil {
		return err
	}
	entries, err := p.Verbs.Match(ctx, "*")
	if err != nil {
		return err
	}
	ids := map[item.Ref][]string{}
	items := map[string]bool{}
	for _, at := range entries {
		items[space.Dir+"/"+at.Rel] = true
		rep, b, err := p.Verbs.Import(ctx, at, keys)
		if err != nil {
			return err
		}
		if b != nil {
			err := base.Replace(
				space.Dir+"/"+at.Rel,
				b,
				filePerm(at.Root.Executable(at.Rel)),
			)
			if err != nil {
				return err
			}
		}
		if !rep.Support {
			ids[at.Ref] = append(ids[at.Ref], rep.Path)
		}
		out.Items = append(out.Items, rep)
	}
	out.Others = slices.DeleteFunc(out.Others, func(p string) bool { return items[p] })
	out.noteTwice(ids)
	slices.SortFunc(out.Items, func(a, b primary.ImportReport) int {
		return strings.Compare(a.Path, b.Path)
	})
	return nil
}

// noteTwice adds an error to each file whose id another file has.
func (i *Result) noteTwice(ids map[item.Ref][]string) {
	for k := range i.Items {
		rep := &i.Items[k]
		ref, err := item.ParseRef(rep.Ref, "")
		if err != nil || len(ids[ref]) < 2 || rep.Support {
			continue
		}
		f := diag.Errorf(
			diag.AmbiguousItem,
			0,
			0,
			"%s is defined by %s",
			rep.Ref,
			strings.Join(ids[ref], " and "),
		)
		f.Path = rep.Path
		rep.Status = primary.Broken
		rep.Findings = append(rep.Findings, f)
	}
}

// Findings returns the work for a person.
func (i *Result) Findings() []diag.Finding {
	var out []diag.Finding
	for _, rep := range i.Items {
		out = append(out, rep.Findings...)
	}
	for _, p := range i.Others {
		if !extract.Incidental(p) && strings.Count(p, "/") > 1 {
			f := diag.Errorf(diag.Unsigned, 0, 0, "it is not an item, so it is not signed")
			f.Path = p
			out = append(out, f.WithReason("not_an_item"))
		}
	}
	for _, l := range i.Left {
		if l.Reason.ForPerson() {
			out = append(out, l.Finding())
		}
	}
	return out
}
