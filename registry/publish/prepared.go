package publish

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// Prepared publications are archives in the user's state. Their name is the beginning of
// the digest of the archive: preparing the same bundle again changes nothing.
const (
	preparedDir = "prepared"
	preparedExt = ".tgz"
	preparedLen = 32 // digits of the digest: finding two archives with one name takes 2^64 attempts
	maxPrepared = 32 // a model can prepare any number
)

func preparedName() *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`^[0-9a-f]{%d}$`, preparedLen))
}

// KeepPrepared keeps a packed bundle for a person to publish, and returns its id.
func KeepPrepared(p *project.Project, b *PackedBundle) (string, error) {
	id := strings.TrimPrefix(b.Archive, "sha256:")[:preparedLen]
	err := atomicfile.Private(deps.RegistryState(p)).Write(
		preparedDir+"/"+id+preparedExt,
		b.archive,
		0o600,
	)
	if err != nil {
		return "", diag.New(diag.FileSystemError, "keeping the prepared bundle %s: %w", b.Full(), err)
	}
	return id, dropPrepared(p, id)
}

// dropPrepared removes the oldest prepared publications beyond the limit, never the one with
// the id. They can be prepared again.
func dropPrepared(p *project.Project, keep string) error {
	dir := filepath.Join(deps.RegistryState(p), preparedDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return diag.New(diag.FileSystemError, "listing prepared bundles: %w", err)
	}
	type archive struct {
		name string
		at   time.Time
	}
	var all []archive
	for _, e := range entries {
		fi, err := e.Info()
		if err == nil &&
			strings.HasSuffix(e.Name(), preparedExt) &&
			e.Name() != keep+preparedExt {
			all = append(all, archive{e.Name(), fi.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b archive) int {
		return cmp.Or(
			a.at.Compare(b.at),
			cmp.Compare(a.name, b.name),
		)
	})
	for _, a := range all[:max(0, len(all)-maxPrepared+1)] {
		err := atomicfile.Private(deps.RegistryState(p)).Remove(preparedDir + "/" + a.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return diag.New(diag.FileSystemError, "removing an old prepared bundle: %w", err)
		}
	}
	return nil
}

// PreparedBundle returns a prepared bundle. Everything about it is read from the archive and
// checked again: the file is not evidence of what was prepared. Review is called with the
// bundle before a key signs anything about it; its error ends the call.
func PreparedBundle(
	ctx context.Context,
	p *project.Project,
	id string,
	review func(*PackedBundle) error,
) (*PackedBundle, error) {
	if !preparedName().MatchString(id) {
		return nil, diag.New(diag.Usage, "reading the prepared bundle %q: an id has %d hexadecimal digits", id, preparedLen)
	}
	at := filepath.Join(deps.RegistryState(p), preparedDir, id+preparedExt)
	archive, err := openat.ReadRegular(at, wire.MaxArchive)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, diag.New(diag.SourceNotFound, "reading the prepared bundle %s: it does not exist", id)
	case err != nil:
		return nil, diag.New(diag.FileSystemError, "reading the prepared bundle %s: %w", id, err)
	case !strings.HasPrefix(item.DigestOf(archive).Hex(), id):
		return nil, diag.New(diag.HashMismatch, "reading the prepared bundle %s: %s is another archive; prepare the bundle again", id, at)
	}
	files := map[string][]byte{}
	executable := map[string]bool{}
	_, err = wire.Unpack(ctx, bytes.NewReader(archive), func(f wire.File) error {
		files[f.Path], executable[f.Path] = bytes.Clone(f.Data), f.Executable
		return nil
	})
	if err != nil {
		return nil, diag.Doing("reading the prepared bundle "+id, err)
	}
	snap, err := source.InMemory(
		source.Origin{},
		files,
		func(path string) bool { return executable[path] },
	)
	if err != nil {
		return nil, err
	}
	b, err := packed(ctx, p, snap, "", false)
	if err == nil && len(b.Signers) == 0 {
		err = onlyOwn(ctx, p, snap)
	}
	if err == nil {
		err = review(b)
	}
	if err != nil || len(b.Signers) > 0 {
		return b, err
	}
	return signAndPack(ctx, p, snap) // prepared from one item: a person signs its manifest now
}

// ReleaseItems returns the items and support files of a release, with the verdicts that the
// user's trust documents give.
func ReleaseItems(
	ctx context.Context,
	p *project.Project,
	release *packages.Release,
) ([]*resolve.Item, error) {
	resolver, err := ResolverOf(ctx, p, release)
	if err != nil {
		return nil, err
	}
	var out []*resolve.Item
	for _, kind := range releaseKinds() {
		entries, err := resolver.All(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Root.Layer != release.Bundle.ID.String() {
				continue
			}
			it, err := resolver.Open(ctx, e)
			if err != nil {
				return nil, err
			}
			out = append(out, it)
		}
	}
	return out, nil
}

// notByAgents returns an error if the key of an agent signed the manifest or a file of a
// bundle: only what a person signed is published.
func notByAgents(ctx context.Context, p *project.Project, b *PackedBundle, snap *source.Snapshot) error {
	release := &packages.Release{Snapshot: snap}
	var err error
	if release.Bundle.ID, err = lock.ParseID(b.Full()); err != nil {
		return err
	}
	release.Bundle.Version = b.Version
	items, err := ReleaseItems(ctx, p, release)
	if err != nil {
		return err
	}
	for _, it := range items {
		if it.Verdict.Agent {
			return byAgent(space.Dir + "/" + it.Rel)
		}
	}
	for _, s := range b.Signers {
		if fp, err := wire.ParseKey(s); err == nil {
			k, ok := p.Trust.Key(fp)
			if ok && k.Agent() {
				return byAgent("its manifest")
			}
		}
	}
	return nil
}

func byAgent(what string) error {
	return diag.New(diag.Scope, "packing the bundle: the key of an agent signed %s, and only what a person signed is published", what).WithReason("registry_agent")
}

// releaseKinds returns the kinds of items that a release can have.
func releaseKinds() []item.Kind {
	return []item.Kind{item.Directive, item.Tool, item.Knowledge, item.Config}
}
