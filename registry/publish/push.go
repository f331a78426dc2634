package publish

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/importing"
	"github.com/ryeos/rye/internal/itemcheck"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/registry/judge"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/verify"
)

// ItemBundle states which item is packed as a bundle of its own, and where it belongs.
type ItemBundle struct {
	Ref       item.Ref
	As        string // the whole id; "" makes it from the other fields
	Host      string // "" is the default registry, or the only pinned one
	Namespace string // "" is the only one that this account bound at the host
	Version   string // "" means the item's version
}

// PackItem packs one item of the project as a bundle, whose manifest the user's release key
// signs. The files of the project do not change.
func PackItem(ctx context.Context, p *project.Project, in ItemBundle) (*PackedBundle, error) {
	snap, err := itemSnapshot(ctx, p, in)
	if err != nil {
		return nil, err
	}
	return signAndPack(ctx, p, snap)
}

// PrepareItem is PackItem without a signature of the manifest, which a person adds when the
// prepared bundle is published.
func PrepareItem(ctx context.Context, p *project.Project, in ItemBundle) (*PackedBundle, error) {
	snap, err := itemSnapshot(ctx, p, in)
	if err != nil {
		return nil, err
	}
	b, err := packed(ctx, p, snap, "", false)
	if err != nil {
		return nil, err
	}
	return b, onlyOwn(ctx, p, snap)
}

// itemSnapshot returns the files of a bundle with one item: the item, the files that belong
// to it, a rye.yaml with its name, and a manifest without a signature.
func itemSnapshot(ctx context.Context, p *project.Project, in ItemBundle) (*source.Snapshot, error) {
	it, err := p.Resolver.Find(ctx, in.Ref)
	if err != nil {
		return nil, err
	}
	if it.Root.Space != space.Project || it.Root.Bundled() {
		return nil, diag.New(diag.Usage, "packing %s: it is %s, and only an item of the project itself is published", in.Ref, it.Path())
	}
	version := strings.TrimPrefix(in.Version, "v")
	if version == "" {
		version = it.Meta.Version
	}
	if err := item.CheckVersion(version); err != nil {
		return nil, diag.New(diag.VersionMismatch, "packing %s: %w", in.Ref, err).WithReason("push_version")
	}
	full, err := itemBundleID(p, in, version)
	if err != nil {
		return nil, err
	}
	requires, err := itemRequires(ctx, p, it)
	if err != nil {
		return nil, err
	}
	support, err := supportFiles(ctx, p, it)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	executable := map[string]bool{}
	for _, x := range append(support, it) {
		at := space.Dir + "/" + x.Rel
		files[at], executable[at] = x.Bytes, executableFile(x)
		if x.Signature != nil {
			files[at+extract.DetachedExt] = x.Signature
		}
	}
	files[lock.ProjectFileName] = itemProjectFile(full, requires)
	_, name, err := wire.ParseFull(full)
	if err != nil {
		return nil, err
	}
	body, err := itemManifest(ctx, files, executable, it, bundle.Params{ID: name.Name, Version: version, SourceDateEpoch: p.Env.Getenv("SOURCE_DATE_EPOCH")})
	if err != nil {
		return nil, err
	}
	files[bundle.ManifestPath(name.Name)] = body
	return source.InMemory(source.Origin{}, files, func(path string) bool { return executable[path] })
}

func executableFile(it *resolve.Item) bool {
	return importing.Executable(it.Root, it.Rel)
}

// entrypoint returns the item that a manifest names as the first to run.
func entrypoint(ref item.Ref) string {
	if ref.Kind == item.Tool || ref.Kind == item.Directive {
		return ref.String()
	}
	return ""
}

// itemBundleID returns the id that an item is published under: NS/KIND.ID with dots for
// slashes, and the major version from 2 on.
func itemBundleID(p *project.Project, in ItemBundle, version string) (string, error) {
	if in.As != "" {
		full, err := deps.FullRegistryID(p.Env, in.As)
		if err == nil {
			_, _, err = wire.ParseFull(full)
		}
		return full, err
	}
	fail := func(reason, format string, args ...any) error {
		return diag.New(diag.Usage, "packing "+in.Ref.String()+": "+format, args...).
			WithReason(reason).
			WithDetail("item", in.Ref.String())
	}
	host := in.Host
	ns := in.Namespace
	if host == "" {
		host = deps.DefaultRegistry(p)
	}
	pinned := p.Trust.Registries()
	if host == "" && len(pinned) == 1 {
		host = pinned[0]
	}
	if host == "" {
		return "", fail("push_host", "it is not clear for which registry")
	}
	bound := RegistryBindings(p, host)
	if ns == "" && len(bound) == 1 {
		ns = bound[0].Namespace
	}
	if ns == "" {
		return "", fail("push_namespace", "it is not clear in which namespace of %s", host)
	}
	id := wire.ID{NS: ns, Name: string(in.Ref.Kind) + "." + strings.ReplaceAll(in.Ref.ID, "/", ".")}
	major, _, _ := strings.Cut(version, ".")
	if major != "0" && major != "1" {
		id.Major = "v" + major
	}
	if !wire.CheckName(id.Name) {
		return "", fail("push_name", "%q cannot be the name of a bundle: 1 to 64 lower-case letters, digits, ., _ and -", id.Name)
	}
	return id.Full(host), nil
}

// itemRequires returns the bundles that an item needs. An item of the project that it needs
// would be missing for others.
func itemRequires(
	ctx context.Context,
	p *project.Project,
	it *resolve.Item,
) (map[string]string, error) {
	elements := []*resolve.Item{it}
	if it.Ref.Kind == item.Tool {
		c, err := p.Executor.Walk(ctx, it.Ref)
		if err != nil {
			return nil, err
		}
		elements = c.Elements
	}
	uses, found, err := p.Executor.Uses(ctx, elements)
	if err == nil {
		err = diag.FromFindings("packing "+it.Ref.String(), found)
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, x := range append(elements[1:len(elements):len(elements)], uses...) {
		switch root := x.Root; {
		case root.Embedded():
		case root.Bundled() && (root.Version() == "" || root.Version() == lock.LocalVersion): // a directory
			return nil, diag.New(diag.Usage, "packing %s: it needs %s of the bundle %s, which is only on this computer", it.Ref, x.Ref, root.Layer).
				WithReason("push_local").WithDetail("bundle", root.Layer)
		case root.Bundled():
			out[root.Layer] = root.Version()
		default:
			return nil, diag.New(diag.Usage, "packing %s: it needs %s of the %s space, which a bundle with one item does not have", it.Ref, x.Ref, root.Space).
				WithReason("push_needs").
				WithDetail("item", it.Ref.String()).
				WithDetail("needs", x.Ref.String())
		}
	}
	return out, nil
}

// supportFiles returns the files in the folder of a tool, and below, that are not items:
// modules that it imports, for example. Each must be verified.
func supportFiles(
	ctx context.Context,
	p *project.Project,
	it *resolve.Item,
) (out []*resolve.Item, err error) {
	if it.Ref.Kind != item.Tool {
		return nil, nil
	}
	entries, err := p.Resolver.All(ctx, item.Tool)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Root != it.Root ||
			!strings.HasPrefix(e.Rel, path.Dir(it.Rel)+"/") {
			continue
		}
		x, err := p.Resolver.Open(ctx, e)
		if err != nil {
			return nil, err
		}
		if !x.Support() {
			continue
		}
		if err := x.Verdict.Err(x.Path()); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// itemProjectFile returns the rye.yaml of a bundle with one item. It has one form, so that
// a prepared one can be compared.
func itemProjectFile(name string, requires map[string]string) []byte {
	var b bytes.Buffer
	b.WriteString("rye: 1\nname: " + name + "\n")
	for i, id := range slices.Sorted(maps.Keys(requires)) {
		if i == 0 {
			b.WriteString("require:\n")
		}
		b.WriteString("  " + id + ": " + requires[id] + "\n")
	}
	return b.Bytes()
}

// treeOf returns the tree of the files of a bundle in memory.
func treeOf(files map[string][]byte, executable map[string]bool) bundle.Tree {
	var list []wire.File
	for name, b := range files {
		list = append(list, wire.File{Path: name, Executable: executable[name], Data: b})
	}
	tree, _, _ := verify.BundleTree(space.NewFiles(space.Project, judge.SentFiles(list))) // files in memory open nothing
	return tree
}

// signAndPack signs the manifest of a bundle with one item and packs it.
func signAndPack(ctx context.Context, p *project.Project, snap *source.Snapshot) (*PackedBundle, error) {
	_, err := packed(ctx, p, snap, "", false)
	if err != nil { // before the key signs anything
		return nil, err
	}
	if err := onlyOwn(ctx, p, snap); err != nil {
		return nil, err
	}
	signer, err := p.Keys.SignerFor(ctx, "release")
	if err != nil {
		return nil, err
	}
	list, err := filesOf(ctx, snap)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	executable := map[string]bool{}
	for _, f := range list {
		id, manifest := bundle.ManifestID(f.Path)
		if manifest {
			if f.Data, err = signManifest(ctx, p, id, f.Data, signer); err != nil {
				return nil, err
			}
		}
		files[f.Path], executable[f.Path] = f.Data, f.Executable
	}
	if snap, err = source.InMemory(source.Origin{}, files, func(path string) bool { return executable[path] }); err != nil {
		return nil, err
	}
	return packSnapshot(ctx, p, snap, "")
}

func signManifest(
	ctx context.Context,
	p *project.Project,
	id string,
	body []byte,
	signer sign.Signer,
) ([]byte, error) {
	out, _, err := sign.Sign(
		ctx,
		body,
		sign.Hash(),
		bundle.Subject(id),
		signer,
		p.Env.Now(),
	)
	if err != nil {
		return nil, err
	}
	return out, p.Recorder().Manifest(
		ctx,
		p.Spaces.ProjectDir,
		bundle.Subject(id),
		item.DigestOf(out),
		signer,
	)
}

// onlyOwn returns an error unless a bundle without a signed manifest has only what the user
// would sign without looking: one item and its files, each with a signature of a person that
// the user trusts, a rye.yaml in its one form, and the manifest that rye makes of them. A
// prepared bundle may be the work of an agent.
func onlyOwn(ctx context.Context, p *project.Project, snap *source.Snapshot) error {
	files, err := filesOf(ctx, snap)
	if err != nil {
		return err
	}
	root := space.NewFiles(space.Project, judge.SentFiles(files))
	resolver, err := ResolverOf(ctx, p, &packages.Release{Snapshot: snap})
	if err != nil {
		return err
	}
	var items []*resolve.Item
	for _, f := range snap.Files {
		rel, inside := strings.CutPrefix(f.Path, space.Dir+"/")
		base, signature := strings.CutSuffix(rel, extract.DetachedExt)
		switch _, manifest := bundle.ManifestID(f.Path); {
		case manifest || f.Path == lock.ProjectFileName:
			continue
		case !inside || signature && !root.Exists(base):
			return notOwn("%s is not a file of an item", f.Path)
		case signature:
			rel = base
		}
		it, err := resolver.File(ctx, root, rel) // UNSIGNED if no signature covers it; both of two signatures are verified
		if err == nil {
			err = it.Verdict.Err(f.Path)
		}
		switch {
		case err != nil:
			return err
		case it.Verdict.Agent:
			return byAgent(f.Path)
		case !signature && !it.Support():
			items = append(items, it)
		}
	}
	if len(items) != 1 {
		return notOwn("it has %d items", len(items))
	}
	return ownManifest(ctx, snap, files, items[0])
}

func notOwn(format string, args ...any) error {
	return diag.New(diag.Unsigned, "signing the manifest of a bundle with one item: "+format, args...).WithReason("registry_unsigned")
}

// ownManifest returns an error unless rye.yaml and the manifest of a bundle are those that
// itemSnapshot makes of its other files.
func ownManifest(
	ctx context.Context,
	snap *source.Snapshot,
	list []wire.File,
	it *resolve.Item,
) error {
	text, err := snap.Read(lock.ProjectFileName)
	if err != nil || !isItemProjectFile(text) {
		return notOwn("its %s has something else than a name and requirements", lock.ProjectFileName)
	}
	full, err := registryName(snap)
	if err != nil {
		return err
	}
	_, name, err := wire.ParseFull(full)
	if err != nil {
		return err
	}
	at := bundle.ManifestPath(name.Name)
	have, err := snap.Read(at)
	if err != nil {
		return notOwn("%s cannot be read: %w", at, err)
	}
	m, found := bundle.Parse(have)
	if m == nil {
		return diag.FromFindings("reading "+at, diag.WithPath(found, at))
	}
	files := map[string][]byte{}
	executable := map[string]bool{}
	for _, f := range list {
		if f.Path != at {
			files[f.Path], executable[f.Path] = f.Data, f.Executable
		}
	}
	want, err := itemManifest(ctx, files, executable, it, bundle.Params{ID: name.Name, Version: m.Version, SourceDateEpoch: bundle.ParamsOf(m).SourceDateEpoch})
	if err == nil && !bytes.Equal(want, have) {
		return notOwn("%s is not the manifest that rye makes of its files", at)
	}
	return err
}

// itemManifest returns the manifest of a bundle with one item.
func itemManifest(
	ctx context.Context,
	files map[string][]byte,
	executable map[string]bool,
	it *resolve.Item,
	params bundle.Params,
) ([]byte, error) {
	params.Description, params.Entrypoint = it.Meta.Description, entrypoint(it.Ref)
	return bundle.Create(ctx, treeOf(files, executable), params)
}

// isItemProjectFile reports whether a rye.yaml has the form that itemProjectFile writes.
func isItemProjectFile(text []byte) bool {
	m, _ := lock.ParseProjectFile(text)
	if m == nil {
		return false
	}
	needs := map[string]string{}
	for _, n := range m.Requires() {
		needs[n.ID.String()] = n.Version
	}
	return bytes.Equal(text, itemProjectFile(m.ID.String(), needs))
}

// ResolverOf returns a resolver over a release and the system bundle. It judges by the trust
// documents that the release was judged by: the documents of the project may be older.
func ResolverOf(
	ctx context.Context,
	p *project.Project,
	release *packages.Release,
) (*resolve.Resolver, error) {
	files, err := filesOf(ctx, release.Snapshot)
	if err != nil {
		return nil, err
	}
	spaces := &space.Spaces{Roots: []*space.Root{space.NewFiles(space.User, judge.SentFiles(nil))}}
	id := release.Bundle.ID.String()
	spaces.AddLayers(space.Layer{
		Space:    space.User,
		ID:       id,
		Version:  release.Bundle.Version,
		Show:     id + "@" + release.Bundle.Version,
		Files:    judge.SentFiles(files),
		Manifest: release.Bundle.Manifest,
	})
	system, err := space.Discover(space.Params{System: p.Env.Stdlib, Layer: stdlib.Bundle})
	if err != nil {
		return nil, err
	}
	spaces.Roots = append(spaces.Roots, system.Roots...)
	return resolve.New(resolve.Params{
		Spaces:  spaces,
		Trust:   cmp.Or(release.Trust, p.Trust),
		Check:   itemcheck.Submitted,
		Lenient: true,
		NoCache: true,
	}), nil
}

// filesOf returns the files of a snapshot.
func filesOf(ctx context.Context, s *source.Snapshot) (files []wire.File, err error) {
	err = s.Each(ctx, func(f source.File, b []byte) error {
		files = append(files, wire.File{Path: f.Path, Executable: f.Executable, Data: b})
		return nil
	})
	return files, err
}
