package host

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// Item is an item of a project, in a list.
type Item struct {
	Ref         string `json:"ref"`
	Kind        string `json:"kind"`
	Project     string `json:"project"`
	Space       string `json:"space"`
	Version     string `json:"version,omitempty"`
	Trust       string `json:"trust" doc:"trusted, or the code of the failed check"`
	Signer      string `json:"signer,omitempty"`
	Shadowed    bool   `json:"shadowed,omitempty" doc:"another item with the id is used"`
	Standard    bool   `json:"standard,omitempty" doc:"part of rye"`
	Description string `json:"description,omitempty"`
}

// Input is an input of a directive.
type Input struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Required    bool   `json:"required"`
	Default     string `json:"default,omitempty"`
	Description string `json:"description,omitempty"`
}

// ItemDetail is one item.
type ItemDetail struct {
	Item

	Digest  string   `json:"digest"`
	Path    string   `json:"path"`
	Reason  string   `json:"reason,omitempty" doc:"why it is not trusted"`
	Inputs  []Input  `json:"inputs"`
	Caps    []string `json:"capabilities"`
	Text    string   `json:"text" doc:"of the file"`
	Cut     bool     `json:"cut,omitempty" doc:"the text is longer"`
	Shadows []string `json:"shadows" doc:"the spaces of other items with the id"`
}

// Items returns the items of the projects whose refs or descriptions contain all words of a query.
func (v *View) Items(ctx context.Context, query, kind string) ([]Item, error) {
	words := strings.Fields(strings.ToLower(query))
	out := []Item{}
	for _, dir := range v.dirs() {
		p, err := v.h.reading(ctx, dir)
		if err != nil {
			return nil, err
		}
		list, err := itemsOf(ctx, p, kind)
		if err != nil {
			return nil, err
		}
		for _, it := range list {
			text := strings.ToLower(it.Ref + " " + it.Description)
			missing := slices.ContainsFunc(words, func(w string) bool {
				return !strings.Contains(text, w)
			})
			if !missing {
				out = append(out, it)
			}
		}
	}
	// What a project has itself comes first.
	slices.SortStableFunc(out, func(a, b Item) int {
		return cmp.Or(
			compareBool(a.Standard, b.Standard),
			strings.Compare(a.Ref, b.Ref),
		)
	})
	return out, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func itemsOf(ctx context.Context, p *project.Project, kind string) ([]Item, error) {
	table, err := p.Resolver.Readable(ctx)
	if err != nil {
		return nil, err
	}
	var out []Item
	for _, ext := range table.All() {
		if kind != "" && kind != string(ext.Kind) {
			continue
		}
		entries, err := p.Resolver.All(ctx, ext.Kind)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			it, ok := entry(ctx, p, e)
			if ok {
				out = append(out, it)
			}
		}
	}
	return out, nil
}

// entry describes an entry of a space. ok is false for support files and records of runs.
func entry(ctx context.Context, p *project.Project, e resolve.Entry) (out Item, ok bool) {
	out = Item{
		Ref:      e.Ref.String(),
		Kind:     string(e.Ref.Kind),
		Project:  p.Spaces.ProjectDir,
		Space:    e.Root.Label(),
		Shadowed: e.Shadow,
		Standard: e.Root.Embedded(),
	}
	it, err := p.Resolver.Open(ctx, e)
	if err != nil {
		out.Trust = string(diag.CodeOf(err))
		return out, true
	}
	out.Version = it.Meta.Version
	out.Trust = it.Verdict.Word()
	out.Signer = it.Verdict.Owner
	out.Description = it.Meta.Description
	return out, !it.Support() && !it.Verdict.Runtime
}

// maxText is the length of the longest text of a file that is shown, in bytes.
const maxText = 64 << 10

// Item returns the item that a run would use, by its ref.
func (v *View) Item(ctx context.Context, dir, ref string) (*ItemDetail, error) {
	r, err := item.ParseRef(ref, "")
	if err != nil {
		return nil, err
	}
	for _, d := range v.dirs() {
		if dir != "" && d != dir {
			continue
		}
		p, err := v.h.reading(ctx, d)
		if err != nil {
			return nil, err
		}
		it, err := p.Resolver.Inspect(ctx, r)
		if diag.CodeOf(err).Class() == diag.ClassNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		return detail(ctx, p, it)
	}
	return nil, diag.New(diag.ItemNotFound, "finding the item: there is no %s", r)
}

func detail(ctx context.Context, p *project.Project, it *resolve.Item) (*ItemDetail, error) {
	out := &ItemDetail{
		Item: Item{
			Ref:         it.Ref.String(),
			Kind:        string(it.Ref.Kind),
			Project:     p.Spaces.ProjectDir,
			Space:       it.Root.Label(),
			Version:     it.Meta.Version,
			Trust:       it.Verdict.Word(),
			Signer:      it.Verdict.Owner,
			Standard:    it.Root.Embedded(),
			Description: it.Meta.Description,
		},
		Digest:  it.Digest.String(),
		Path:    it.Path(),
		Inputs:  []Input{},
		Caps:    []string{},
		Shadows: []string{},
		Text:    string(it.Bytes[:min(len(it.Bytes), maxText)]),
		Cut:     len(it.Bytes) > maxText,
	}
	if !it.Verdict.OK() {
		out.Reason = it.Verdict.Reason()
	}
	out.Caps = append(out.Caps, it.Meta.Permissions...)
	for _, in := range p.Resolver.Inputs(ctx, it) {
		out.Inputs = append(out.Inputs, Input{
			Name:        in.Name,
			Type:        in.Type,
			Required:    in.Required,
			Default:     in.Default,
			Description: in.Description,
		})
	}
	// A copy in a nearer space decides what a run uses.
	others, err := p.Resolver.Shadows(ctx, it.Ref)
	if err != nil {
		return nil, err
	}
	for _, e := range others {
		out.Shadows = append(out.Shadows, e.Root.Label())
	}
	return out, nil
}
