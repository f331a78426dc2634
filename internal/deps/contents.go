package deps

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// bundleContents returns a function that lists the files of a bundle with the
// items that they are. Manifests and detached signatures are left out: they differ
// in every release.
func bundleContents(p *project.Project) func(context.Context, *source.Snapshot) ([]packages.Content, error) {
	return func(ctx context.Context, s *source.Snapshot) ([]packages.Content, error) {
		table, err := p.Resolver.Table(ctx)
		if err != nil {
			return nil, err
		}
		var out []packages.Content
		err = s.Each(ctx, func(f source.File, text []byte) error {
			rel, inside := strings.CutPrefix(f.Path, space.Dir+"/")
			if strings.HasSuffix(f.Path, extract.DetachedExt) ||
				inside && strings.HasPrefix(rel, space.BundlesFolder+"/") {
				return nil
			}
			c := packages.Content{Path: f.Path, Body: item.DigestOf(text)}
			at, known := table.Classify(rel)
			if inside && known && at.Type.Ext != "" {
				c.Style = at.Type.Style
				sp, err := sign.SplitFile(text, at.Type.Style)
				if err == nil {
					c.Body = item.DigestOf(sp.Body())
				}
				c.Signs = at.Ref
				c.Ref, c.Type = ItemOf(at, text)
				c.Asks = project.ItemCaps(at, text)
			}
			out = append(out, c)
			return nil
		})
		return out, err
	}
}

// ItemOf returns the ref of a file and, for a tool, its type. A support file has
// none. A tool that cannot be read is shown as a tool.
func ItemOf(at extract.Match, text []byte) (item.Ref, string) {
	if at.Ref.Kind != item.Tool {
		return at.Ref, ""
	}
	meta, found := at.Extractor.Read(at.Type, text)
	if meta.ToolType == "" && !meta.HasExecutor && len(found) == 0 {
		return item.Ref{}, ""
	}
	return at.Ref, meta.ToolType
}

// holders returns a function that lists who else has an item: the spaces, and other
// bundles than the one that is named, whatever its version.
func holders(p *project.Project, in space.Name) func(context.Context, item.Ref, string) ([]packages.Holder, error) {
	return func(ctx context.Context, ref item.Ref, bundle string) ([]packages.Holder, error) {
		entries, err := p.Resolver.Shadows(ctx, ref)
		if err != nil {
			return nil, err
		}
		var out []packages.Holder
		for _, e := range entries {
			r := e.Root
			if r.Bundled() && r.Layer == bundle {
				continue
			}
			if r.Space == in && r.Bundled() {
				out = append(out, packages.Holder{Label: r.Label(), Bundle: r.Layer})
				continue
			}
			out = append(out, packages.Holder{Label: r.Label(), Nearer: r.Space == in && !r.Embedded() || r.Space.Rank() < in.Rank()})
		}
		return out, nil
	}
}

// CheckEntrypoint returns an error if the manifest of a new bundle names an item to run
// first that none of its files is.
func CheckEntrypoint(ctx context.Context, p *project.Project, body []byte) error {
	m, fs := bundle.Parse(body)
	err := diag.FromFindings("reading the new manifest", fs)
	if err != nil || m.Entrypoint == "" {
		return err
	}
	ref, err := item.ParseRef(m.Entrypoint, item.Directive)
	if err != nil {
		return err
	}
	ext, err := p.Resolver.Extractor(ctx, ref.Kind)
	if err != nil {
		return err
	}
	for _, rel := range ext.Paths(ref.ID) {
		at := space.Dir + "/" + rel
		if slices.ContainsFunc(m.Files, func(f bundle.File) bool { return f.Path == at }) {
			return nil
		}
	}
	return diag.New(diag.ItemNotFound, "creating the manifest of %s: entrypoint names %s, which is not in the bundle", m.ID, ref).WithReason("entrypoint")
}

// CheckItems returns an error if an item that the manifest of a new bundle of the project lists
// cannot be used: an earlier version may have signed what this one refuses.
func CheckItems(ctx context.Context, p *project.Project, dir string, body []byte) error {
	root, err := p.NeedProject()
	m, fs := bundle.Parse(body)
	if diag.Failed(fs) || err != nil || root.Base != dir {
		return nil // another directory than the project has no items of it
	}
	table, err := p.Resolver.Table(ctx)
	if err != nil {
		return err
	}
	var found []diag.Finding
	for _, f := range m.Files {
		rel, inside := strings.CutPrefix(f.Path, space.Dir+"/")
		at, known := table.Classify(rel)
		if !inside || !known || at.Type.Ext == "" {
			continue
		}
		it, err := p.Resolver.File(ctx, root, rel)
		if err != nil {
			return err
		}
		for _, f := range slices.Concat(it.Findings, p.Resolver.Lint(ctx, it)) {
			if f.Severity != diag.SeverityWarning {
				found = append(found, diag.WithPath([]diag.Finding{f}, it.Path())...)
			}
		}
	}
	return diag.FromFindings("creating the manifest of "+m.ID, found)
}
