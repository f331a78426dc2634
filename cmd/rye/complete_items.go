package main

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
)

// completeItems gives the ids of all kinds, or of some, each alone and as a
// ref. Nothing of an item is read: a completion is no place to wait.
func completeItems(kinds ...item.Kind) func(context.Context, *cli.Call) []string {
	return func(ctx context.Context, c *cli.Call) []string {
		h, err := envOf(c).Open(ctx, project.Lenient)
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
				out = append(out, e.Ref.ID+"\t"+string(ext.Kind), e.Ref.String()+"\t"+e.Root.Label())
			}
		}
	}
	return out
}

// completeKinds gives the kinds that extractors declare.
func completeKinds(ctx context.Context, c *cli.Call) []string {
	if len(c.Args) > 0 {
		return nil
	}
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return nil
	}
	table, err := h.Resolver.Table(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, ext := range table.All() {
		out = append(out, string(ext.Kind)+"\tbelow .ai/"+ext.Folder)
	}
	return out
}

// completeRun gives kinds and items, then the names of the item's parameters.
func completeRun(ctx context.Context, c *cli.Call) []string {
	if len(c.Args) == 0 {
		return append(completeKinds(ctx, c), completeItems()(ctx, c)...)
	}
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return nil
	}
	if kind, is := project.KnownKind(ctx, h, c.Args[0]); is && len(c.Args) == 1 {
		return slices.DeleteFunc(itemWords(ctx, h, []item.Kind{kind}), func(w string) bool { return strings.Contains(w, ":") })
	}
	ref, given, err := project.RefArgs(ctx, h, c.Args)
	if err != nil {
		return nil
	}
	it, err := h.Resolver.Find(ctx, ref)
	if err != nil {
		return nil
	}
	var names []string
	for _, in := range it.Meta.Inputs {
		names = append(names, in.Name+"=\t"+in.Description)
	}
	if s, err := exec.Schema(it); err == nil && s != nil {
		for _, name := range s.Properties() {
			names = append(names, name+"=\t"+it.Ref.String())
		}
	}
	return slices.DeleteFunc(names, func(n string) bool {
		name, _, _ := strings.Cut(n, "=")
		return slices.ContainsFunc(given, func(g string) bool { return strings.HasPrefix(g, name+"=") || strings.HasPrefix(g, name+":=") })
	})
}

// completeKeys gives the owners of own keys, or of every key that is known.
func completeKeys(own bool) func(context.Context, *cli.Call) []string {
	return func(ctx context.Context, c *cli.Call) []string {
		h, err := envOf(c).Open(ctx, project.Lenient)
		if err != nil || len(c.Args) > 0 {
			return nil
		}
		var out []string
		for _, k := range h.Trust.Keys() {
			if k.Own == own && !k.EmbeddedOnly {
				out = append(out, k.Fingerprint.Short()+"\t"+k.Owner)
			}
		}
		return out
	}
}
