package signing

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/draft"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// Files signs items that are not on disk yet: files maps paths below .ai of
// the space of root to contents. Each is loaded first by the code that will use it
// (package draft): one that does not load fails the call, and nothing is signed. It returns a report and the signed contents of
// each file that has no trusted signature; the contents of the others are
// returned unchanged. The signatures are in the log when it returns.
func Files(
	ctx context.Context,
	p *project.Project,
	root *space.Root,
	key sign.Signer,
	files map[string][]byte,
) ([]primary.SignReport, map[string][]byte, error) {
	mem := space.NewFiles(root.Space, Memory(files))
	spaces := *p.Spaces
	spaces.Roots = slices.Clone(spaces.Roots)
	for i, r := range spaces.Roots {
		if r == root {
			spaces.Roots[i] = mem
		}
	}
	r := p.Verifier(&spaces)
	verbs := primary.New(primary.Params{Resolver: r, Record: p.Recorder().Record, Now: p.Env.Now})
	check := DraftChecker(p, r)
	out := maps.Clone(files)
	var reports []primary.SignReport
	var made []primary.SignedFile
	var findings []diag.Finding
	for _, rel := range slices.Sorted(maps.Keys(files)) {
		it, err := r.File(ctx, mem, rel)
		if err != nil {
			return nil, nil, err
		}
		if it.Verdict.OK() {
			continue
		}
		rep, file, err := verbs.Prepare(ctx, policy.Person(), it, key)
		if err != nil {
			return nil, nil, err
		}
		if rep.Status == primary.Signed {
			if bad := check.Check(ctx, it); len(bad) > 0 {
				rep.Status = primary.Refused
				rep.Findings = append(rep.Findings, bad...)
			}
		}
		reports = append(reports, rep)
		findings = append(findings, rep.Findings...)
		if rep.Status == primary.Signed {
			out[file.Rel] = file.Bytes
			made = append(made, file)
		}
	}
	if err := diag.FromFindings("signing", findings); err != nil {
		return nil, nil, err
	}
	return reports, out, verbs.Record(ctx, made)
}

// DraftChecker returns the checks of items that are not signed yet, which r finds.
func DraftChecker(p *project.Project, r *resolve.Resolver) *draft.Checker {
	return &draft.Checker{
		Resolver: r,
		Executor: p.Executor.WithResolver(r),
		Graphs:   p.GraphItems(),
	}
}

// CheckDrafts loads files that are not written and not signed yet, by the code that will
// use them. files maps paths below .ai of the space of root to contents.
func CheckDrafts(
	ctx context.Context,
	p *project.Project,
	root *space.Root,
	files map[string][]byte,
) ([]diag.Finding, error) {
	mem := space.NewFiles(root.Space, withFiles{root, Memory(files)})
	spaces := *p.Spaces
	spaces.Roots = slices.Clone(spaces.Roots)
	for i, r := range spaces.Roots {
		if r == root {
			spaces.Roots[i] = mem
		}
	}
	r := p.Verifier(&spaces)
	check := DraftChecker(p, r)
	var out []diag.Finding
	for _, rel := range slices.Sorted(maps.Keys(files)) {
		it, err := r.File(ctx, mem, rel)
		if err != nil {
			return nil, err
		}
		if it.Ref.IsZero() || it.Support() {
			continue
		}
		for _, f := range slices.Concat(it.Findings, check.Check(ctx, it)) {
			if f.Severity == diag.SeverityError {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// withFiles implements space.Files over the files of a root and new ones.
type withFiles struct {
	root *space.Root
	Memory
}

// Read implements space.Files.
func (w withFiles) Read(rel string, limit int64) ([]byte, error) {
	if _, isNew := w.Memory[rel]; isNew {
		return w.Memory.Read(rel, limit)
	}
	return w.root.Read(rel, limit)
}

// Exists implements space.Files.
func (w withFiles) Exists(rel string) bool {
	return w.Memory.Exists(rel) || w.root.Exists(rel)
}

// Create signs one item in memory and creates its file, and the file of its
// detached signature if it has one.
func Create(
	ctx context.Context,
	p *project.Project,
	root *space.Root,
	key sign.Signer,
	rel string,
	text []byte,
) ([]primary.SignReport, error) {
	reports, files, err := Files(ctx, p, root, key, map[string][]byte{rel: text})
	if err != nil {
		return nil, err
	}
	// The item is last: without it the id is free, so that the same command works
	// after a crash.
	if at := rel + extract.DetachedExt; files[at] != nil {
		put := root.Create
		if root.Exists(at) {
			put = root.Write
		}
		if err := put(at, files[at]); err != nil {
			return nil, err
		}
	}
	return reports, root.Create(rel, files[rel])
}

// Memory implements space.Files over contents by path.
type Memory map[string][]byte

// Read implements space.Files.
func (m Memory) Read(rel string, limit int64) ([]byte, error) {
	b, ok := m[rel]
	switch {
	case !ok:
		return nil, &fs.PathError{Op: "reading", Path: rel, Err: fs.ErrNotExist}
	case int64(len(b)) > limit:
		return nil, diag.New(diag.TooLarge, "reading %q: it has %d bytes, more than %d", rel, len(b), limit)
	}
	return bytes.Clone(b), nil
}

// Exists implements space.Files.
func (m Memory) Exists(rel string) bool {
	if _, ok := m[rel]; ok || rel == "." {
		return true
	}
	for r := range m {
		if strings.HasPrefix(r, rel+"/") {
			return true
		}
	}
	return false
}

// Executable implements space.Files.
func (m Memory) Executable(string) bool {
	return false
}

// Walk implements space.Files.
func (m Memory) Walk(rel string, fn func(space.Entry) error) error {
	for _, r := range slices.Sorted(maps.Keys(m)) {
		if r == rel || rel == "." || strings.HasPrefix(r, rel+"/") {
			if err := fn(space.Entry{Rel: r}); err != nil {
				return err
			}
		}
	}
	return nil
}
