package resolve

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/directive"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/hooks"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// Uses returns the items that an item names by a fixed id, sorted by ref: what it
// extends, with everything that those items name, the texts of its context, and the
// targets of its hooks. Of the configurations that it reads, it returns the layers of
// the project's own items. A name that contains a template is not fixed. A missing
// target is an error only if the item extends it; others are returned as findings.
//
// A missing base is an error of sign and verify; a warning if a locked bundle is not installed.
// Ids below rye/ that this version lacks are warnings.
func (r *Resolver) Uses(
	ctx context.Context,
	it *Item,
	reads ...string,
) ([]*Item, []diag.Finding, error) {
	u := &usage{r: r, found: map[item.Ref]*Item{}}
	err := u.names(ctx, it, []item.Ref{it.Ref})
	if err != nil {
		return nil, nil, err
	}
	for _, id := range reads {
		s, err := r.Config(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		for _, layer := range s.Layers {
			if layer.Root.Space == space.Project && !layer.Root.Bundled() {
				u.found[layer.Ref] = layer
			}
		}
	}
	delete(u.found, it.Ref)
	var out []*Item
	for _, x := range u.found {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b *Item) int {
		return cmp.Compare(a.Ref.String(), b.Ref.String())
	})
	return out, u.missing, nil
}

// usage collects the items that one item uses.
type usage struct {
	r       *Resolver
	found   map[item.Ref]*Item
	missing []diag.Finding
}

// names adds what an item names. within are the items that led here by extends.
func (u *usage) names(ctx context.Context, it *Item, within []item.Ref) error {
	named, err := namedBy(it, it.Directive())
	if err != nil {
		return err
	}
	for _, n := range named {
		target, err := u.r.used(ctx, n.ref, it.Root)
		switch code := diag.CodeOf(err); {
		case err != nil && n.optional && (code == diag.ItemNotFound || code == diag.ToolNotFound):
			continue
		case err != nil && (code == diag.ItemNotFound || code == diag.ToolNotFound):
			f := diag.Warnf(
				code,
				n.at.Line,
				n.at.Column,
				"%s names %s, which no space has",
				n.what,
				n.ref,
			)
			f.Path = it.Path()
			u.missing = append(u.missing, f.WithReason("used_missing", "ref", n.ref.String()))
			continue
		case err != nil:
			return err
		}
		u.found[n.ref] = target
	}
	base, err := extended(it)
	if err != nil || base.IsZero() {
		return err
	}
	if err := extendsLimit(within, base); err != nil {
		return err
	}
	target, err := u.r.used(ctx, base, it.Root)
	if err != nil {
		return err
	}
	u.found[base] = target
	return u.names(ctx, target, append(within, base))
}

// used returns the item that an item in root uses. Of a configuration it is the layer
// of highest precedence outside the user space: other people have that one too.
func (r *Resolver) used(
	ctx context.Context,
	ref item.Ref,
	root *space.Root,
) (*Item, error) {
	if ref.Kind != item.Config {
		return r.find(ctx, ref, r.p.Spaces.From(root), notFound(ref))
	}
	ext, err := r.Extractor(ctx, ref.Kind)
	if err != nil {
		return nil, err
	}
	files, err := r.layerFiles(ext, ref)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f file) bool {
		return f.root.Space == space.User
	})
	if len(files) == 0 {
		return nil, r.missing(ctx, ref, ext, r.roots, diag.ItemNotFound)
	}
	it, err := r.load(
		ctx,
		files[0].root,
		files[0].rel,
		extract.Match{Extractor: ext, Type: typeOf(ext, files[0].rel), Ref: ref},
	)
	if err != nil {
		return nil, err
	}
	return it, it.Usable()
}

// extended returns the item that an item extends, or the zero Ref. Knowledge only
// refers to what it names so.
func extended(it *Item) (item.Ref, error) {
	if it.Meta.Extends == "" ||
		it.Ref.Kind != item.Directive && it.Ref.Kind != item.Config {
		return item.Ref{}, nil
	}
	ref, err := item.ParseRef(it.Meta.Extends, it.Ref.Kind)
	if err != nil {
		return ref, diag.New(diag.ValidationFailed, "reading extends of %s: %w", it.Ref, err)
	}
	return ref, nil
}

// named is a fixed id in the metadata of an item.
type named struct {
	ref      item.Ref
	what     string // context or hooks
	at       diag.Position
	optional bool // the item works without it
}

// namedBy returns the items that the context and the hooks of an item name. d is its
// Directive.
func namedBy(it *Item, d *directive.Directive) ([]named, error) {
	if it.Ref.Kind != item.Directive && it.Ref.Kind != item.Config {
		return nil, nil
	}
	var out []named
	add := func(what string, ref item.Ref, optional bool) {
		out = append(out, named{ref, what, it.Meta.Pos[what], optional})
	}
	if it.Ref.Kind == item.Directive {
		for _, c := range d.Context {
			add("context", c.Ref, c.Optional)
		}
		for _, h := range d.Hooks {
			a := h.Action
			if a.ID != "" &&
				a.ID != hooks.ControlID &&
				item.CheckID(a.ID) == nil {
				add("hooks", item.Ref{Kind: a.Kind, ID: a.ID}, false)
			}
		}
		if len(d.Permissions.Aliases) > 0 {
			add("permissions", item.Ref{Kind: item.Config, ID: CapabilityAliases}, false)
		}
		return out, nil
	}
	return out, hookNames(it.Meta.Fields["hooks"], func(kind, id string) error {
		id = strings.TrimSpace(id)
		if id == "" || strings.ContainsAny(id, "{}$*") {
			return nil
		}
		if strings.HasPrefix(id, "rye.") { // the older spelling of a system tool
			id = strings.ReplaceAll(id, ".", "/")
		}
		ref, err := item.ParseRef(id, item.Kind(kind))
		if err != nil {
			return diag.New(diag.ValidationFailed, "reading hooks of %s: %w", it.Ref, err)
		}
		add("hooks", ref, false)
		return nil
	})
}

var namedKinds = []string{
	string(item.Knowledge),
	string(item.Directive),
	string(item.Tool),
	string(item.Config),
}

// hookNames reads the targets of the hooks of a configuration: the item of an action, or
// the keys tool, directive and knowledge.
func hookNames(hooks any, add func(kind, id string) error) error {
	list, _ := hooks.([]any)
	for _, x := range list {
		hook, _ := x.(map[string]any)
		for _, kind := range namedKinds {
			id, _ := hook[kind].(string)
			if err := add(kind, id); err != nil {
				return err
			}
		}
		action, _ := hook["action"].(map[string]any)
		kind, _ := action["item_type"].(string)
		id, _ := action["item_id"].(string)
		err := add(cmp.Or(kind, string(item.Tool)), id)
		if err != nil {
			return err
		}
	}
	return nil
}
