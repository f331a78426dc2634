package items

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/registry/client"
	"github.com/ryeos/rye/registry/publish"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// Searched selects what a search in registries finds.
type Searched struct {
	Hosts []string
	Query search.Query
	Items bool // items of bundles; otherwise bundles
}

// Hit is a bundle that a registry lists, or an item of one. Except for the description, it
// is what the registry states, and no signature of it was checked. Texts are escaped.
type Hit struct {
	Ref         item.Ref `json:"-"`  // the item; the zero value for a bundle
	ID          string   `json:"id"` // of the bundle, for projects
	Version     string   `json:"version"`
	Description string   `json:"description,omitempty"` // signed by a key that the user trusts
	Items       []string `json:"items"`
	Caps        []string `json:"caps"`
	Signers     []Signer `json:"signers"`
	First       string   `json:"first_published"`
	State       string   `json:"state,omitempty"`
	Score       float64  `json:"score"`
}

// Signer is a signer of a release, by the user's trust documents.
type Signer struct {
	Key   string         `json:"key"`
	Trust trust.KeyState `json:"trust"`
	Owner string         `json:"owner,omitempty"`
}

// Hits is one page of the matches of a search in registries.
type Hits struct {
	Hits       []Hit  `json:"hits"`
	Total      int    `json:"total"`
	NextOffset int    `json:"-"`
	Note       string `json:"note,omitempty"`
}

// Search searches registries. The query does not leave this computer, and neither do the
// hits: a description is shown if the release is in the cache, and Add would accept it.
func Search(ctx context.Context, p *project.Project, s Searched) (*Hits, error) {
	bundles, notes, err := registryBundles(ctx, p, s.Hosts)
	if err != nil {
		return nil, err
	}
	list := describedBundles(bundles)
	if s.Items {
		list = describedItems(bundles)
	}
	var described []search.Described
	for _, x := range list {
		described = append(described, x.Described)
	}
	a, err := search.NewCatalog(described).Search(s.Query)
	if err != nil {
		return nil, err
	}
	out := &Hits{
		Hits:       []Hit{},
		Total:      a.Total,
		NextOffset: a.NextOffset,
		Note:       joinNotes(append(notes, a.Note)...),
	}
	for _, found := range a.Found {
		x := list[found.Number]
		hit := newHit(p, x.of, found.Score)
		if s.Items {
			hit.Ref = x.Ref
		}
		out.Hits = append(out.Hits, hit)
	}
	describe(ctx, p, out.Hits)
	return out, context.Cause(ctx)
}

// foundBundle is a bundle that a registry lists.
type foundBundle struct {
	host string
	wire.Found
}

func (b foundBundle) id() string {
	return "registry:" + b.host + "/" + b.ID
}

// listed is an entry of the catalog and the bundle that it belongs to.
type listed struct {
	search.Described
	of foundBundle
}

func describedBundles(bundles []foundBundle) (out []listed) {
	for _, b := range bundles {
		out = append(out, listed{of: b, Described: search.Described{
			Ref:         item.Ref{Kind: "bundle", ID: b.ID},
			Description: b.Description,
			Body:        b.Words(),
			Signers:     namedSigners(b.Found),
		}})
	}
	return out
}

func describedItems(bundles []foundBundle) (out []listed) {
	for _, b := range bundles {
		for _, x := range b.Items {
			ref, err := item.ParseRef(x.Ref, "")
			if err != nil {
				continue // the bundle was checked
			}
			out = append(out, listed{of: b, Described: search.Described{
				Ref:         ref,
				Description: x.Description,
				Tags:        x.Tags,
				Body:        append(slices.Clone(b.Caps), b.ID, b.Description),
				Signers:     namedSigners(b.Found),
			}})
		}
	}
	return out
}

// joinNotes joins the notes that are not empty.
func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
}

// Hosts returns the registries that a person searches: the named one, else the default
// registry, else all that the user pinned.
func Hosts(p *project.Project, name string) []string {
	if name == "" {
		name = deps.DefaultRegistry(p)
	}
	if name == "" {
		return p.Trust.Registries()
	}
	return []string{name}
}

// registryBundles returns the bundles that registries list. If some of several registries
// cannot be searched, or a bundle is left out, the notes state why.
func registryBundles(
	ctx context.Context,
	p *project.Project,
	hosts []string,
) (list []foundBundle, notes []string, err error) {
	if len(hosts) == 0 {
		return nil, nil, diag.New(diag.Usage, "searching registries: you pinned none").WithReason("registry_none")
	}
	all := deps.RegistriesOf(p)
	for _, name := range hosts {
		found, wrong, err := listedBundles(ctx, all, name)
		if wrong > 0 {
			notes = append(notes, fmt.Sprintf("registry %s describes %d bundles with values that are not in their form: they were left out", name, wrong))
		}
		switch {
		case err != nil && (len(hosts) == 1 || ctx.Err() != nil):
			return nil, nil, err
		case err != nil:
			notes = append(notes, "registry "+name+" was not searched: "+diag.Typed(err).Message)
		}
		list = append(list, found...)
	}
	return list, notes, nil
}

// listedBundles returns the bundles of a registry, and the number of those whose description
// has something else than its form, which might be a text for a model.
func listedBundles(
	ctx context.Context,
	all *deps.Registries,
	host string,
) (out []foundBundle, wrong int, err error) {
	h, err := all.Host(ctx, host)
	if err != nil {
		return nil, 0, err
	}
	list, err := h.Bundles(ctx)
	for _, f := range list {
		if f.Check() != nil {
			wrong++
			continue
		}
		out = append(out, foundBundle{host, f})
	}
	return out, wrong, err
}

// namedSigners returns the keys that a registry names as the signers of a bundle.
func namedSigners(f wire.Found) (out []sign.Fingerprint) {
	for _, s := range f.Signers {
		if fp, err := wire.ParseKey(s); err == nil {
			out = append(out, fp)
		}
	}
	return out
}

// newHit describes a bundle by the list of its registry, without the description.
func newHit(p *project.Project, b foundBundle, score float64) Hit {
	out := Hit{
		ID:      b.id(),
		Version: client.Printable(b.Version),
		Items:   []string{},
		Caps:    printables(b.Caps),
		Signers: []Signer{},
		First:   client.Printable(b.First),
		Score:   score,
	}
	if b.State != wire.StateOK {
		out.State = client.Printable(b.State)
	}
	for _, i := range b.Items {
		out.Items = append(out.Items, client.Printable(i.Ref))
	}
	for _, s := range b.Signers {
		out.Signers = append(out.Signers, registrySigner(p, s))
	}
	return out
}

func registrySigner(p *project.Project, key string) Signer {
	out := Signer{Key: client.Printable(key), Trust: trust.StateNotTrusted}
	fp, err := wire.ParseKey(key)
	if err != nil || fp == (sign.Fingerprint{}) {
		return out
	}
	if k, ok := p.Trust.Key(fp); ok {
		out.Trust = k.State
		out.Owner = k.Owner
	}
	return out
}

// signedTexts reads descriptions from releases in the cache. It uses no network: a request
// for a hit would show the registry what was searched.
type signedTexts struct {
	p      *project.Project
	all    *deps.Registries
	opened []*deps.Packages // of the spaces that would record a release
}

// describe sets the descriptions of hits whose signature by a trusted key is verified. Only
// one release at a time is in memory.
func describe(ctx context.Context, p *project.Project, hits []Hit) {
	t := &signedTexts{p: p, all: deps.RegistriesOf(p)}
	defer t.close()
	pages := map[lock.Module][]*Hit{}
	for i := range hits {
		id, err := lock.ParseID(hits[i].ID)
		if err != nil {
			continue // the registry lists an id that no lock can have
		}
		mod := lock.Module{ID: id, Version: hits[i].Version}
		pages[mod] = append(pages[mod], &hits[i])
	}
	for mod, list := range pages {
		if release := t.release(ctx, mod); release != nil {
			t.describe(ctx, release, list)
			release.Snapshot.Release()
		}
	}
}

func (t *signedTexts) close() {
	for _, x := range t.opened {
		x.Close()
	}
}

// describe sets the descriptions of hits of one release.
func (t *signedTexts) describe(ctx context.Context, release *packages.Release, hits []*Hit) {
	resolver, err := publish.ResolverOf(ctx, t.p, release)
	if err != nil {
		return
	}
	for _, h := range hits {
		if h.Ref == (item.Ref{}) {
			h.Description = client.Printable(manifestDescription(release))
			continue
		}
		it, err := itemIn(ctx, resolver, agent.RegistryRef{Ref: h.Ref, Bundle: h.ID, Version: h.Version})
		if err == nil && it.Usable() == nil {
			h.Description = client.Printable(it.Meta.Description)
		}
	}
}

// release returns a listed release, nil unless it is in the cache and Add would accept it.
func (t *signedTexts) release(ctx context.Context, mod lock.Module) *packages.Release {
	host, name, err := wire.ParseFull(mod.ID.String())
	if err != nil {
		return nil
	}
	line := t.all.Client.Remembered(host, name, mod.Version)
	if line == nil {
		return nil // it was never fetched
	}
	if t.opened == nil && t.open(ctx) != nil {
		return nil
	}
	var out *packages.Release
	for _, x := range t.opened {
		one, err := x.Cached(ctx, mod, line.Sum)
		if err != nil {
			return nil
		}
		if out != nil {
			one.After(out)
		}
		out = one
	}
	if out == nil || out.Refused != nil {
		return nil
	}
	return out
}

// open opens the package managers whose rules decide about a release.
func (t *signedTexts) open(ctx context.Context) error {
	offline := *t.p.Env
	offline.Offline = true
	for _, s := range recordingSpaces(t.p) {
		x, err := servingPackages(ctx, offline, deps.Params{Space: s, Look: true})
		if err != nil {
			return err
		}
		t.opened = append(t.opened, x)
	}
	return nil
}

// manifestDescription returns the description in the signed manifest of a release.
func manifestDescription(r *packages.Release) string {
	for _, f := range r.Snapshot.Files {
		if _, isManifest := bundle.ManifestID(f.Path); !isManifest {
			continue
		}
		text, err := r.Snapshot.Read(f.Path)
		if err != nil || item.DigestOf(text) != r.Bundle.Manifest {
			continue // not the manifest that was judged
		}
		if m, _ := bundle.Parse(text); m != nil {
			return m.Description
		}
	}
	return ""
}

// recordingSpaces returns the spaces of which one would record a release that is added.
func recordingSpaces(p *project.Project) []space.Name {
	if p.Spaces.ProjectDir == "" {
		return []space.Name{space.User}
	}
	return []space.Name{space.Project, space.User}
}
