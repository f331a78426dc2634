package judge

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/itemcheck"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/verify"
)

// Params are what the judgement needs of its program.
type Params struct {
	System   fs.FS // the embedded system space, whose items the chains of a bundle end at
	Now      func() time.Time
	Released time.Time // before which the clock cannot be
}

// New returns the judgement of a registry about a bundle: rye verify's, with the keys of the
// namespace as the only trusted ones. It reads no project and no file of the user.
func New(p Params) rules.Judge {
	return func(ctx context.Context, s rules.Submission) (*rules.Content, []diag.Finding, error) {
		store, err := StoreOf(p, s.Documents)
		if err != nil {
			return nil, nil, err
		}
		files := SentFiles(s.Files)
		root := space.NewFiles(space.Project, files)
		spaces, err := space.Discover(space.Params{System: p.System, Layer: stdlib.Bundle})
		if err != nil {
			return nil, nil, err
		}
		spaces.Roots = append([]*space.Root{root}, spaces.Roots...)
		j := &registryJudge{
			submission: s,
			files:      files,
			root:       root,
			store:      store,
			resolver: resolve.New(resolve.Params{
				Spaces:  spaces,
				Trust:   store,
				Check:   itemcheck.Submitted,
				Lenient: true,
				NoCache: true,
			}),
		}
		return j.judge(ctx)
	}
}

// StoreOf returns a store that trusts exactly the keys with these documents.
func StoreOf(p Params, documents []trust.File) (*trust.Store, error) {
	store, found := trust.Load(trust.Params{
		System:  documents,
		Anchors: project.CompiledAnchors(),
		Now:     p.Now,
		Floor:   p.Released,
	})
	return store, diag.FromFindings("reading the keys of the namespace", found)
}

// registryJudge judges one bundle.
type registryJudge struct {
	submission rules.Submission
	files      *memoryFiles
	root       *space.Root
	store      *trust.Store
	resolver   *resolve.Resolver
}

func (j *registryJudge) judge(ctx context.Context) (*rules.Content, []diag.Finding, error) {
	manifests, err := resolve.Manifests(j.root)
	if err != nil {
		return nil, nil, err
	}
	if len(manifests) != 1 {
		return nil, []diag.Finding{diag.Errorf(
			diag.ValidationFailed,
			0,
			0,
			"the archive has %d bundle manifests, want one",
			len(manifests),
		)}, nil
	}
	id := manifests[0].ID
	tree, done, err := verify.BundleTree(j.root)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	r, err := bundle.Verify(ctx, bundle.VerifyParams{
		Tree:             tree,
		ID:               id,
		Shared:           true,
		Judge:            verify.JudgeManifest(j.store, string(space.Project), bundle.ManifestPath(id)),
		JudgeCosignature: verify.JudgeCosignature(j.store, string(space.Project)),
	})
	if err != nil {
		return nil, nil, err
	}
	if r.Manifest == nil {
		return nil, r.Findings, nil
	}
	// The report of the walk includes the findings about the manifest.
	report, err := verify.Root(
		ctx,
		verify.Params{Resolver: j.resolver, Trust: j.store, CountOnly: true},
		j.root,
	)
	if err != nil {
		return nil, nil, err
	}
	found := report.Findings
	for i := range found {
		// bundle.Verify warns about a rye.yaml that the manifest does not list, since old
		// releases have one. A new release must sign it.
		if found[i].Code == diag.BundleFileExtra {
			found[i].Severity = diag.SeverityError
		}
	}
	if v := "v" + r.Manifest.Version; v != j.submission.Version {
		found = append(found, diag.Errorf(
			diag.VersionMismatch,
			0,
			0,
			"the manifest has version %s, the statement %s",
			v,
			j.submission.Version,
		))
	}
	if f := j.named(r.Manifest); f != nil {
		found = append(found, *f)
	}
	c := &rules.Content{Manifest: r.Digest.String(), Signers: packages.SignerTexts(r.Signers())}
	found = append(found, j.requirements(c)...)
	j.found(c, r.Manifest.Description)
	return c, found, j.items(ctx, c)
}

// named returns a finding unless the signed rye.yaml has the id that the bundle is
// published under: clients refuse it under a different id.
func (j *registryJudge) named(m *bundle.Manifest) *diag.Finding {
	var text []byte
	if m.Lists(lock.ProjectFileName) {
		text, _, _ = j.files.ReadSibling(lock.ProjectFileName, lock.MaxProjectFile) // without it, it names nothing
	}
	err := packages.CheckRegistryName(j.submission.ID.Full(j.submission.Host), text)
	if err == nil {
		return nil
	}
	f := diag.Errorf(err.Code, 0, 0, "%s; write %v into it", err.Message, err.Details["expected"])
	f.Path = lock.ProjectFileName
	return &f
}

// requirements reads rye.yaml.
func (j *registryJudge) requirements(c *rules.Content) []diag.Finding {
	text, _, err := j.files.ReadSibling(lock.ProjectFileName, lock.MaxProjectFile)
	if err != nil {
		return []diag.Finding{diag.Errorf(diag.BundleFileMissing, 0, 0, "the bundle has no %s, so its requirements are not signed", lock.ProjectFileName)}
	}
	m, fs := lock.ParseProjectFile(text)
	if m == nil {
		return diag.WithPath(fs, lock.ProjectFileName)
	}
	for _, need := range m.Requires() {
		if need.ID.Kind == lock.PathID {
			at := m.Position("require", need.ID.String())
			fs = append(fs, diag.Errorf(
				diag.Unresolvable,
				at.Line,
				at.Column,
				"it requires the local directory %s",
				need.ID,
			))
		}
		c.Requires = append(c.Requires, need.String())
	}
	return diag.WithPath(fs, lock.ProjectFileName)
}

func (j *registryJudge) found(c *rules.Content, description string) {
	c.Found = wire.Found{
		Description: description,
		Kinds:       []string{},
		Items:       []wire.FoundItem{},
		Caps:        []string{},
		Hosts:       []string{},
		Signers:     []string{},
	}
	for _, f := range j.submission.Files {
		if f.Executable {
			c.Exec = append(c.Exec, f.Path)
		}
	}
}

// items lists the items of the bundle and what they ask for.
func (j *registryJudge) items(ctx context.Context, c *rules.Content) error {
	table, err := j.resolver.Table(ctx)
	if err != nil {
		return err
	}
	for _, f := range j.submission.Files {
		rel, inside := strings.CutPrefix(f.Path, space.Dir+"/")
		at, known := table.Classify(rel)
		if !inside ||
			!known ||
			at.Type.Ext == "" ||
			strings.HasSuffix(f.Path, extract.DetachedExt) {
			continue
		}
		c.Caps = append(c.Caps, project.ItemCaps(at, f.Data)...)
		ref, _ := deps.ItemOf(at, f.Data)
		if ref.IsZero() {
			continue
		}
		meta, _ := at.Extractor.Read(at.Type, f.Data)
		c.Items = append(c.Items, ref.String())
		c.Found.Items = append(c.Found.Items, wire.FoundItem{Ref: ref.String(), Description: meta.Description, Tags: append([]string{}, meta.Tags...)})
		k := string(ref.Kind)
		if !slices.Contains(c.Found.Kinds, k) {
			c.Found.Kinds = append(c.Found.Kinds, k)
		}
	}
	for _, asked := range c.Caps {
		host, ok := strings.CutPrefix(asked, "net:")
		if ok && !slices.Contains(c.Found.Hosts, host) {
			c.Found.Hosts = append(c.Found.Hosts, host)
		}
	}
	slices.Sort(c.Found.Kinds)
	slices.Sort(c.Found.Hosts)
	return nil
}

// memoryFiles are the files of a bundle in memory. It implements space.Files.
type memoryFiles struct {
	paths []string // below .ai, sorted
	files map[string]wire.File
}

func SentFiles(list []wire.File) *memoryFiles {
	m := &memoryFiles{files: map[string]wire.File{}}
	for _, f := range list {
		m.files[f.Path] = f
		rel, ok := strings.CutPrefix(f.Path, space.Dir+"/")
		if ok {
			m.paths = append(m.paths, rel)
		}
	}
	sort.Strings(m.paths)
	return m
}

// Read implements space.Files.
func (m *memoryFiles) Read(rel string, limit int64) ([]byte, error) {
	b, _, err := m.ReadSibling(space.Dir+"/"+rel, limit)
	return b, err
}

// ReadSibling returns a file by its path in the bundle.
func (m *memoryFiles) ReadSibling(name string, limit int64) ([]byte, bool, error) {
	f, ok := m.files[name]
	switch {
	case !ok:
		return nil, false, &fs.PathError{Op: "reading", Path: name, Err: fs.ErrNotExist}
	case int64(len(f.Data)) > limit:
		return nil, false, diag.New(diag.TooLarge, "reading %s: it has %d bytes, at most %d are allowed", name, len(f.Data), limit)
	}
	return bytes.Clone(f.Data), f.Executable, nil
}

// Exists implements space.Files.
func (m *memoryFiles) Exists(rel string) bool {
	_, ok := m.files[space.Dir+"/"+rel]
	if ok || rel == "." && len(m.paths) > 0 {
		return true
	}
	return slices.ContainsFunc(m.paths, func(p string) bool {
		return strings.HasPrefix(p, rel+"/")
	})
}

// Executable implements space.Files.
func (m *memoryFiles) Executable(rel string) bool {
	return m.files[space.Dir+"/"+rel].Executable
}

// Walk implements space.Files.
func (m *memoryFiles) Walk(rel string, fn func(space.Entry) error) error {
	for _, p := range m.paths {
		if rel != "." && p != rel && !strings.HasPrefix(p, rel+"/") {
			continue
		}
		err := fn(space.Entry{Rel: p})
		if err != nil && !errors.Is(err, fs.SkipAll) {
			return err
		}
	}
	return nil
}
