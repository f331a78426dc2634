// Package adopt uses components of sources that have no manifest: it proposes what a
// commit has, installs what a person reviewed, and compares what is locked with the
// reviews and their lists of files.
//
// It signs nothing and asks no user: the caller shows a proposal to a person and returns
// with the signed review of exactly that proposal.
package adopt

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/interop/scan"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/lock/treehash"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/review"
	"github.com/ryeos/rye/trust"
)

// ManyComponents is the number of components up to which a source needs no selection.
const ManyComponents = 20

// folder has the reviews of adopted sources, below .ai.
const folder = "adopted"

// Params configures an engine. Base and Source are required.
type Params struct {
	Base   string // absolute: the directory that contains .ai, rye.yaml and rye.lock
	Source source.Source
	Trust  *trust.Store
	Rules  packages.Rules // of the user and the machine
	Locked bool           // refuse every change of the lock
	// Ignore excludes installed sources from git, before one is installed. Nil does nothing.
	Ignore func() error
	Now    func() time.Time
}

// Engine works on the adopted sources of one project. It keeps no state between calls.
type Engine struct{ p Params }

// New returns an engine.
func New(p Params) *Engine {
	if p.Trust == nil {
		p.Trust = &trust.Store{}
	}
	return &Engine{p}
}

// Component is one selected component with its texts for people.
type Component struct {
	review.Component
	Found *scan.Component
}

// Proposal is what a person decides about: components of one commit.
type Proposal struct {
	ID         lock.ID
	Origin     source.Origin
	Require    string   // for the project file: a version or a commit
	Use        []string // for the project file; nil uses all components
	Components []Component
	Found      *scan.Result
	Snapshot   *source.Snapshot
	Before     *lock.Adopted      // the locked entry; nil: it is new
	Accepted   []review.Component // of Before
	Notes      []string
}

// Selection names the components of a source.
type Selection struct {
	Patterns []string // KIND:GLOB, or KIND:NAME
	All      bool     // without patterns: all of many
	// Keep adds the patterns to the components that are used already.
	Keep bool
}

// IsSource reports whether a snapshot of all files of a commit is a source without a
// manifest.
func IsSource(snap *source.Snapshot) bool {
	return !slices.ContainsFunc(snap.Files, func(f source.File) bool {
		return source.Carried(f.Path) && strings.HasPrefix(f.Path, space.Dir+"/")
	})
}

// Propose fetches a commit and returns the selected components. It writes nothing to the
// project.
func (e *Engine) Propose(ctx context.Context, q packages.Query, sel Selection) (*Proposal, error) {
	st, err := lock.ReadState(lock.Dir(e.p.Base), nil)
	if err != nil {
		return nil, err
	}
	p := &Proposal{ID: q.ID, Before: st.Lock.AdoptedSource(q.ID)}
	err = e.permits(st.ProjectFile, lock.Module{ID: q.ID, Version: q.Version})
	if err != nil {
		return nil, err
	}
	if p.Before != nil {
		p.Accepted, err = e.listed(*p.Before)
		if err != nil {
			return nil, err
		}
	}
	o, err := e.resolve(ctx, q)
	if err != nil {
		return nil, err
	}
	// Skills are outside of .ai, which is all that a bundle has.
	o.Whole = true
	if p.Snapshot, err = e.p.Source.Fetch(ctx, o); err != nil {
		return nil, err
	}
	p.Origin = p.Snapshot.Origin
	p.Require = o.Commit
	if !lock.IsPseudo(o.Version) {
		p.Require = o.Version
	}
	// Items of rye have signatures, which a review must not replace.
	if !IsSource(p.Snapshot) {
		return nil, diag.New(diag.Usage, "reading %s: it has items of rye, so it is added as a bundle", q.ID)
	}
	if p.Found, err = scan.Components(files{p.Snapshot}); err != nil {
		return nil, err
	}
	p.Notes = alike(st.Lock, q.ID)
	return p, e.choose(st, p, sel)
}

// permits applies the rules of the project, the user and the machine.
func (e *Engine) permits(project *lock.ProjectFile, m lock.Module) error {
	rules := append(
		slices.Clone(e.p.Rules),
		packages.RuleFile{
			Path:        lock.ProjectFileName,
			ProjectFile: project,
		},
	)
	return permits(rules, m)
}

func permits(rules packages.Rules, m lock.Module) error {
	err := rules.Source(m)
	if err != nil {
		return err
	}
	for _, f := range rules {
		if f.ProjectFile != nil && f.Policy.AdoptedDeny {
			return diag.New(
				diag.PolicyDenied,
				"using %s: policy.adopted of %s is deny, and the source has no manifest",
				m.ID,
				f.Path,
			).
				WithReason("adopted_denied")
		}
	}
	return nil
}

// resolve returns the origin of a query: the version, the newest release, or the default
// branch.
func (e *Engine) resolve(ctx context.Context, q packages.Query) (source.Origin, error) {
	if q.ID.Kind != lock.HostID && q.ID.Kind != lock.URLID {
		return source.Origin{}, diag.New(
			diag.Usage,
			"reading %s: only a repository of git can be adopted, because a review names a commit",
			q.ID,
		)
	}
	if q.Version != "" && q.Version != source.Latest {
		return e.p.Source.Resolve(ctx, q.ID, q.Version)
	}
	l, err := e.p.Source.Versions(ctx, q.ID)
	if err != nil {
		return source.Origin{}, err
	}
	newest := lock.Newest(q.ID, "", l.Names(), nil)
	// Without a release the default branch is reviewed.
	if newest == "" {
		newest = source.Latest
	}
	return e.p.Source.Resolve(ctx, q.ID, newest)
}

// choose fills in the components of a proposal.
func (e *Engine) choose(st *lock.State, p *Proposal, sel Selection) error {
	patterns := slices.Clone(sel.Patterns)
	if sel.Keep && p.Before != nil {
		patterns = append(slices.Clone(p.Before.Use), patterns...)
		sel.All = sel.All || len(p.Before.Use) == 0
	}
	if sel.All {
		patterns = nil
	}
	for _, pattern := range patterns {
		err := p.usable(pattern)
		if err != nil {
			return err
		}
	}
	p.Use = slices.Compact(slices.Sorted(slices.Values(patterns)))
	for _, c := range p.Found.Found {
		if !Selects(p.Use, c.Ref()) ||
			len(p.Use) == 0 && c.Executed() {
			continue
		}
		// The top of the source needs a name in the list of files.
		from := cmp.Or(c.Dir, ".")
		r, err := review.NewComponent(c.Kind, c.Name, from, c.Files)
		if err != nil {
			return err
		}
		p.Components = append(p.Components, Component{Component: r, Found: c})
	}
	switch n := len(p.Components); {
	case n == 0:
		return diag.New(
			diag.SourceNotFound,
			"looking for components of %s: none of %d is selected%s",
			p.ID,
			len(p.Found.Found),
			p.whyLeft(),
		)
	case n > ManyComponents && len(p.Use) == 0 && !sel.All:
		return diag.New(
			diag.ConsentRequired,
			"adding %s: it has %d components, and a review is about files that you read",
			p.ID,
			n,
		).
			WithReason("select_components").WithDetail("source", p.ID.String())
	}
	return e.distinct(st, p)
}

// whyLeft returns the first reason for which a component cannot be used.
func (p *Proposal) whyLeft() string {
	if len(p.Found.Left) == 0 {
		return ""
	}
	f := p.Found.Left[0].Finding
	return fmt.Sprintf("; %s: %s", f.Path, f.Message)
}

// usable returns an error for a pattern that is not valid or names nothing that can be
// used.
func (p *Proposal) usable(pattern string) error {
	kind, name, ok := strings.Cut(pattern, ":")
	if !ok || !slices.Contains(review.Kinds(), kind) {
		return diag.New(
			diag.Usage,
			"reading the selection %q: want KIND:NAME or KIND:PATTERN with one of the kinds %s",
			pattern,
			strings.Join(review.Kinds(), ", "),
		)
	}
	// A pattern may match nothing today.
	if glob.IsPattern(name) {
		return nil
	}
	found, left := p.Found.Find(pattern)
	switch {
	case found != nil:
		return nil
	case left != nil:
		return diag.New(
			left.Finding.Code,
			"adding %s of %s: %s: %s",
			pattern,
			p.ID,
			left.Finding.Path,
			left.Finding.Message,
		)
	}
	return diag.New(diag.SourceNotFound, "looking for %s in %s: it has no such component", pattern, p.ID)
}

// Selects reports whether a selection, which is empty for all components, selects one.
// Patterns never select components that other programs execute; names do.
func Selects(use []string, id string) bool {
	if len(use) == 0 {
		return true
	}
	kind, name, _ := strings.Cut(id, ":")
	executed := kind == review.KindHooks || kind == review.KindMCP
	return slices.ContainsFunc(use, func(pattern string) bool {
		k, want, _ := strings.Cut(pattern, ":")
		return pattern == id || k == kind && !executed && glob.Match(want, name)
	})
}

// distinct refuses a component whose name a component of a different source has.
func (e *Engine) distinct(st *lock.State, p *Proposal) error {
	if st.Lock == nil {
		return nil
	}
	for _, a := range st.Lock.Adopted {
		// The entry that is replaced cannot conflict with its replacement.
		if a.ID == p.ID {
			continue
		}
		list, err := e.listed(a)
		if err != nil {
			return err
		}
		for _, c := range list {
			if slices.ContainsFunc(p.Components, func(x Component) bool { return x.ID() == c.ID() }) {
				return diag.New(
					diag.AmbiguousItem,
					"adding %s: %s has %s too; select the components of one of them",
					p.ID,
					a.ID,
					c.ID(),
				)
			}
		}
	}
	return nil
}

// alike returns a note for each locked id that is easily mistaken for id.
func alike(l *lock.Lock, id lock.ID) (notes []string) {
	if l == nil {
		return nil
	}
	var ids []lock.ID
	for _, b := range l.Bundles {
		ids = append(ids, b.ID)
	}
	for _, a := range l.Adopted {
		ids = append(ids, a.ID)
	}
	for _, x := range ids {
		if x != id && lock.LookOf(x).Alike(lock.LookOf(id)) != lock.Unlike {
			notes = append(notes, fmt.Sprintf("%s looks like %s, which is locked: compare the addresses", id, x))
		}
	}
	return notes
}

// Review returns the statement that accepts a proposal.
func (p *Proposal) Review(shown string) review.Review {
	list := make([]review.Component, len(p.Components))
	for i, c := range p.Components {
		list[i] = c.Component
	}
	return review.Review{
		Source:  p.ID.String(),
		URL:     p.Origin.URL,
		Commit:  p.Origin.Commit,
		Shown:   shown,
		Accepts: review.Accept(list),
	}
}

// Dir returns the directory with the reviews of a source, relative to the project.
func Dir(a lock.Adopted) (string, error) {
	dir, err := a.ID.Dir(a.Version)
	if err != nil {
		return "", err
	}
	return path.Join(space.Dir, folder, strings.TrimSuffix(dir, "@"+a.Version)), nil
}

// installed returns the path of a file of a component in the install directory.
func installed(c review.Component, file string) string {
	if c.Kind == review.KindSkill {
		return path.Join(space.Dir, "skills", c.Name, file)
	}
	return path.Join("components", c.Kind, c.Name, file)
}

// InstalledFile returns the path of a file of a component, relative to the project.
func InstalledFile(a lock.Adopted, c review.Component, file string) (string, error) {
	dir, err := a.ID.Dir(a.Version)
	if err != nil {
		return "", err
	}
	return path.Join(space.Dir, "bundles", dir, installed(c, file)), nil
}

// tree returns the files of the install directory of components.
func tree(list []review.Component) []treehash.File {
	var out []treehash.File
	for _, c := range list {
		for _, f := range c.Files {
			f.Path = installed(c, f.Path)
			out = append(out, f)
		}
	}
	return out
}

// files is a snapshot as package scan reads it: with the paths that are not files.
type files struct{ s *source.Snapshot }

// Files implements scan.Source.
func (f files) Files() []treehash.File {
	out := slices.Clone(f.s.Left)
	for _, x := range f.s.Files {
		mode := treehash.Regular
		if x.Executable {
			mode = treehash.Executable
		}
		out = append(out, treehash.File{
			Path:   x.Path,
			Mode:   mode,
			Size:   x.Size,
			Digest: x.Digest,
		})
	}
	slices.SortFunc(out, func(a, b treehash.File) int {
		return cmp.Compare(a.Path, b.Path)
	})
	return out
}

// Read implements scan.Source.
func (f files) Read(p string) ([]byte, error) {
	return f.s.Read(p)
}

// Waiting returns a note for each component of a proposal that has too few reviews after it
// was applied.
func (e *Engine) Waiting(p *Proposal) (notes []string) {
	st, err := lock.ReadState(lock.Dir(e.p.Base), nil)
	if err != nil {
		return nil
	}
	for _, s := range Verify(VerifyParams{
		Files:   lock.Dir(e.p.Base),
		Lock:    st.Lock,
		Project: st.ProjectFile,
		Rules:   e.p.Rules,
		Trust:   e.p.Trust,
	}) {
		if s.Entry.ID != p.ID {
			continue
		}
		for _, r := range s.Results {
			if !r.Verdict.OK() {
				notes = append(notes, fmt.Sprintf(
					"%s is not usable yet: %s",
					r.Component.ID(),
					r.Verdict.Reason(),
				))
			}
		}
	}
	return notes
}

// InstallDirs returns the install directories of the adopted sources of a lock, relative to
// the directory of bundles.
func InstallDirs(l *lock.Lock) []string {
	var out []string
	if l == nil {
		return nil
	}
	for _, a := range l.Adopted {
		if dir, err := a.ID.Dir(a.Version); err == nil {
			out = append(out, dir)
		}
	}
	return out
}
