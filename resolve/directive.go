package resolve

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/directive"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve/space"
)

// CapabilityAliases is the configuration with the aliases of capabilities.
const CapabilityAliases = "agent/capabilities"

// Directive returns the typed metadata of the item; an item of another kind has the
// metadata of an empty directive. Mistakes are among the findings of the item.
func (it *Item) Directive() *directive.Directive {
	if it.Ref.Kind != item.Directive {
		return &directive.Directive{}
	}
	d, _ := directive.Read(&it.Meta)
	return d
}

// Directive returns the typed metadata of a directive with everything that it inherits
// and the capabilities of its aliases, and the directives that it extends, the nearest
// first. Each of them must be usable.
func (r *Resolver) Directive(ctx context.Context, it *Item) (*directive.Directive, []*Item, error) {
	return r.inherit(ctx, it, []item.Ref{it.Ref})
}

// declared returns the typed metadata of a directive with the capabilities of its
// aliases.
func (r *Resolver) declared(ctx context.Context, it *Item) (*directive.Directive, error) {
	return r.expand(ctx, it, it.Directive())
}

// expand is declared for the own typed metadata of a directive, which it changes.
func (r *Resolver) expand(
	ctx context.Context,
	it *Item,
	d *directive.Directive,
) (*directive.Directive, error) {
	if len(d.Permissions.Aliases) == 0 {
		return d, nil
	}
	aliases, err := r.aliases(ctx)
	if err != nil {
		return d, err
	}
	p, unknown := d.Permissions.Expand(aliases)
	d.Permissions = p
	if len(unknown) > 0 {
		err := diag.New(diag.ValidationFailed, "reading %s: config:%s has no alias %q", it.Ref, CapabilityAliases, unknown[0])
		near := suggest.Nearest(unknown[0], slices.Sorted(maps.Keys(aliases)))
		if near != "" {
			err.WithReason("nearest").WithDetail("nearest", near)
		}
		return d, err
	}
	return d, nil
}

// inherit merges a directive with those that it extends. within are the directives that
// led here.
// Permissions are the child's, each within the permissions of the base. A child that asks for more is
// refused by sign, verify and at use.
func (r *Resolver) inherit(
	ctx context.Context,
	it *Item,
	within []item.Ref,
) (*directive.Directive, []*Item, error) {
	d, err := r.declared(ctx, it)
	if err != nil || d.Extends.IsZero() {
		return d, nil, err
	}
	if err := extendsLimit(within, d.Extends); err != nil {
		return nil, nil, err
	}
	base, err := r.find(
		ctx,
		d.Extends,
		r.p.Spaces.From(it.Root),
		diag.ItemNotFound,
	)
	if err != nil {
		return nil, nil, err
	}
	inherited, more, err := r.inherit(ctx, base, append(within, d.Extends))
	if err != nil {
		return nil, nil, err
	}
	missing := directive.Uncovered(inherited.Permissions, d.Permissions)
	if len(missing) > 0 {
		return nil, nil, diag.New(
			diag.PermissionDenied,
			"reading %s: it asks for %s, which %s does not permit",
			it.Ref,
			missing[0],
			base.Ref,
		).
			WithReason("extends_caps").
			WithDetail("missing", string(missing[0])).
			WithDetail("base", base.Ref.String())
	}
	return directive.Merge(inherited, d), append([]*Item{base}, more...), nil
}

// extendsLimit refuses a base that leads back to one of the items within, or is too deep.
func extendsLimit(within []item.Ref, base item.Ref) *diag.Error {
	switch {
	case slices.Contains(within, base):
		return diag.New(
			diag.CircularDependency,
			"reading %s: extends leads from %s back to %s",
			within[0],
			within[len(within)-1],
			base,
		)
	case len(within) > MaxExtends:
		return diag.New(diag.ChainTooDeep, "reading %s: extends is more than %d deep", within[0], MaxExtends)
	}
	return nil
}

// Inputs returns the inputs of a directive with those that it inherits, or its own if
// a base cannot be used: what uses the directive reports that.
func (r *Resolver) Inputs(ctx context.Context, it *Item) []item.Input {
	if it.Ref.Kind == item.Directive && it.Meta.Extends != "" {
		d, _, err := r.inherit(ctx, it, []item.Ref{it.Ref})
		if err == nil {
			return d.Inputs
		}
	}
	return it.Meta.Inputs
}

// aliases returns the capability sets by name. A project or a bundle adds names and
// replaces none: it would widen what directives of other authors may do.
func (r *Resolver) aliases(ctx context.Context) (map[string]policy.Set, error) {
	s, err := r.Config(ctx, CapabilityAliases)
	if diag.CodeOf(err) == diag.ItemNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]policy.Set{}
	for _, layer := range s.Layers { // lowest precedence first
		owned := layer.Root.Space == space.User && !layer.Root.Bundled()
		root := tree.NewReader(
			&tree.Doc{Root: layer.Meta.Fields, Pos: layer.Meta.Pos},
			diag.ConfigError,
		)
		list := root.Map("aliases")
		for _, name := range list.Keys() {
			if _, taken := out[name]; taken && !owned {
				continue
			}
			out[name] = policy.Set{}
			for _, c := range list.Texts(name, checkCap) {
				out[name] = append(out[name], policy.Cap(c))
			}
		}
		err := diag.FromFindings(
			"reading "+layer.Ref.String(),
			diag.WithPath(root.Findings(), layer.Path()),
		)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bases returns findings about the directives that a directive extends and about the
// items that its context and its hooks name. Their signatures are not checked: they
// may be signed later than it.
func (r *Resolver) bases(ctx context.Context, it *Item) []diag.Finding {
	if it.Ref.Kind != item.Directive {
		return nil
	}
	var out []diag.Finding
	declared := it.Directive()
	expanded := *declared
	d, err := r.expand(ctx, it, &expanded)
	e := diag.Typed(err)
	if e != nil && e.Code == diag.ValidationFailed {
		_, cause, _ := strings.Cut(e.Message, ": ")
		f := at(it, "permissions", diag.SeverityError, "%s", cause)
		f.Reason = e.Reason
		f.Facts = e.Details
		out = append(out, f)
	}
	if f := r.checkBases(ctx, it, d); f != nil {
		out = append(out, *f)
	}
	return append(out, r.named(ctx, it, declared)...)
}

// checkBases follows extends and returns the first problem.
func (r *Resolver) checkBases(ctx context.Context, it *Item, d *directive.Directive) *diag.Finding {
	within := []item.Ref{it.Ref}
	for cur, current := it, d; !current.Extends.IsZero(); {
		if e := extendsLimit(within, current.Extends); e != nil {
			f := at(it, extendsKey, diag.SeverityError, "%s", e.Message)
			f.Code = e.Code
			return &f
		}
		base, err := r.inspect(
			ctx,
			current.Extends,
			r.p.Spaces.From(cur.Root),
			diag.ItemNotFound,
		)
		if err != nil {
			return extendsMissing(it, current.Extends, err)
		}
		inherited, _ := r.declared(ctx, base) // its mistakes are its own findings
		if cur == it {
			for _, c := range directive.Uncovered(inherited.Permissions, current.Permissions) {
				where := tree.Index("permissions", slices.Index(it.Meta.Permissions, string(c)))
				f := at(it, where, diag.SeverityError, "it asks for %s, which %s does not permit", c, base.Ref).
					WithReason("extends_caps", "missing", string(c), "base", base.Ref.String())
				return &f
			}
		}
		within = append(within, current.Extends)
		cur = base
		current = inherited
	}
	return nil
}

// extendsMissing reports a base that does not exist. If it can be in a bundle that is
// not installed, that is a warning.
// A missing item of a context or hook is a warning: it may belong to a bundle or a later
// version.
func extendsMissing(it *Item, base item.Ref, err error) *diag.Finding {
	f := at(it, extendsKey, diag.SeverityError, "extends %q: no directive of this name exists", base.ID)
	var e *diag.Error
	if !errors.As(err, &e) || e.Code != diag.ItemNotFound {
		f = at(it, extendsKey, diag.SeverityWarning, "extends %q: %s", base.ID, err)
	} else if near, ok := e.Details["nearest"].(string); ok {
		f = f.WithReason("nearest", "nearest", near)
	}
	return &f
}

// named reports items that context and hooks name and no space has.
func (r *Resolver) named(
	ctx context.Context,
	it *Item,
	d *directive.Directive,
) []diag.Finding {
	named, err := namedBy(it, d)
	if err != nil {
		return nil // among the findings of the item
	}
	var out []diag.Finding
	for _, n := range named {
		if n.optional || r.Holds(ctx, n.ref, it.Root) {
			continue
		}
		severity := diag.SeverityError
		if space.Reserved(n.ref) {
			severity = diag.SeverityWarning // an item that a later version of rye has
		}
		out = append(out, at(it, n.what, severity, "%s names %s, which no space has", n.what, n.ref).
			WithReason("used_missing", "ref", n.ref.String()))
	}
	return out
}

// at returns a finding at a key of an item.
func at(it *Item, key string, s diag.Severity, format string, args ...any) diag.Finding {
	pos := (&tree.Doc{Pos: it.Meta.Pos}).At(key)
	f := diag.Errorf(
		diag.ValidationFailed,
		max(pos.Line, 1),
		pos.Column,
		format,
		args...,
	)
	f.Severity = s
	return f
}
