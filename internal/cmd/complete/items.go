package complete

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// Items returns the ids of all kinds, or of some, each alone and as a
// ref. It reads no item, because a completion must be fast.
func Items(kinds ...item.Kind) func(context.Context, *cli.Call) []string {
	return func(ctx context.Context, c *cli.Call) []string {
		h, err := env.Of(c).Open(ctx, project.Lenient)
		if err != nil {
			return nil
		}
		return itemWords(ctx, h, kinds)
	}
}

func itemWords(ctx context.Context, h *project.Project, kinds []item.Kind) []string {
	table, err := h.Resolver.Table(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, ext := range table.All() {
		if len(kinds) > 0 && !slices.Contains(kinds, ext.Kind) {
			continue
		}
		entries, err := h.Resolver.All(ctx, ext.Kind)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !e.Shadow && !strings.HasPrefix(path.Base(e.Ref.ID), "_") {
				out = append(
					out,
					e.Ref.ID+"\t"+string(ext.Kind),
					e.Ref.String()+"\t"+e.Root.Label(),
				)
			}
		}
	}
	return out
}

// Kinds returns the kinds that extractors declare.
func Kinds(ctx context.Context, c *cli.Call) []string {
	if len(c.Args) > 0 {
		return nil
	}
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return nil
	}
	return kindWords(ctx, h, nil)
}

// kindWords returns the kinds among kinds, or all if it is empty.
func kindWords(ctx context.Context, h *project.Project, kinds []item.Kind) []string {
	table, err := h.Resolver.Table(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, ext := range table.All() {
		if len(kinds) == 0 || slices.Contains(kinds, ext.Kind) {
			out = append(out, string(ext.Kind)+"\tbelow .ai/"+ext.Folder)
		}
	}
	return out
}

// Item returns the words of "KIND ID" and "REF" for one item.
func Item(kinds ...item.Kind) func(context.Context, *cli.Call) []string {
	return func(ctx context.Context, c *cli.Call) []string {
		h, err := env.Of(c).Open(ctx, project.Lenient)
		if err != nil {
			return nil
		}
		switch len(c.Args) {
		case 0:
			return append(kindWords(ctx, h, kinds), itemWords(ctx, h, kinds)...)
		case 1:
			return idsOfKind(ctx, h, c.Args[0])
		}
		return nil
	}
}

// idsOfKind returns the ids of a kind, or nil if word is not a kind.
func idsOfKind(ctx context.Context, h *project.Project, word string) []string {
	kind, is := project.KnownKind(ctx, h, word)
	if !is {
		return nil
	}
	words := itemWords(ctx, h, []item.Kind{kind})
	return slices.DeleteFunc(words, func(w string) bool {
		return strings.Contains(w, ":")
	})
}

// Run returns kinds and items, then the names of the item's parameters.
func Run(ctx context.Context, c *cli.Call) []string {
	if len(c.Args) == 0 {
		return Item()(ctx, c)
	}
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return nil
	}
	if len(c.Args) == 1 {
		ids := idsOfKind(ctx, h, c.Args[0])
		if ids != nil {
			return ids
		}
	}
	ref, given, err := project.RefArgs(ctx, h, c.Args)
	if err != nil {
		return nil
	}
	it, err := h.Resolver.Find(ctx, ref)
	if err != nil {
		return nil
	}
	var out []string
	for _, p := range parametersOf(ctx, h.Resolver, it) {
		if !slices.ContainsFunc(given, func(g string) bool {
			return strings.HasPrefix(g, p.name+"=") ||
				strings.HasPrefix(g, p.name+":=")
		}) {
			out = append(out, p.name+"=\t"+p.text)
		}
	}
	return out
}

// parameter is a parameter that an item takes on the command line.
type parameter struct{ name, text string }

// parametersOf returns the inputs of a directive, or the properties of a tool's
// schema.
func parametersOf(ctx context.Context, r *resolve.Resolver, it *resolve.Item) []parameter {
	var out []parameter
	for _, in := range r.Inputs(ctx, it) {
		out = append(out, parameter{in.Name, in.Description})
	}
	if s, err := exec.Schema(it); err == nil && s != nil {
		for _, name := range s.Properties() {
			out = append(out, parameter{name, it.Ref.String()})
		}
	}
	return out
}

// ParameterOfFlag returns the NAME=VALUE for which a user wrote a flag, or "" if
// the item has no such parameter.
func ParameterOfFlag(ctx context.Context, c *cli.Call, name, value string) string {
	if len(c.Args) == 0 {
		return ""
	}
	e := env.Of(c)
	e.Person = project.Person{} // the error about the flag is the only output
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return ""
	}
	ref, _, err := project.RefArgs(ctx, h, c.Args)
	if err != nil {
		return ""
	}
	it, err := h.Resolver.Inspect(ctx, ref)
	if err != nil {
		return ""
	}
	for _, p := range parametersOf(ctx, h.Resolver, it) {
		if p.name == name || p.name == strings.ReplaceAll(name, "-", "_") {
			return p.name + "=" + cli.ShellArgument(cmp.Or(value, "VALUE"))
		}
	}
	return ""
}

// Keys returns the fingerprints of own keys, or of all other known keys.
func Keys(owned bool) func(context.Context, *cli.Call) []string {
	return func(ctx context.Context, c *cli.Call) []string {
		h, err := env.Of(c).Open(ctx, project.Lenient)
		if err != nil || len(c.Args) > 0 {
			return nil
		}
		var out []string
		for _, k := range h.Trust.Keys() {
			if k.Own == owned && !k.EmbeddedOnly {
				out = append(out, k.Fingerprint.Short()+"\t"+k.Owner)
			}
		}
		return out
	}
}
