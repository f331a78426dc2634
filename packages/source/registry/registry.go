// Package registry fetches bundles from registries: it resolves versions by the index of a
// registry, whose lines must be proven by its log, and unpacks archives into the cache.
//
// A locked bundle needs one request for its archive, which the lock names by its digest.
// The package does not judge signatures, does not select versions and writes no lock.
package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/registry/client"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// Source is the source of registry ids.
type Source struct {
	Client *client.Client
	Cache  *source.Cache
}

// idOf returns the host of an id and its name there.
func idOf(id lock.ID) (string, wire.ID, error) {
	if id.Kind != lock.RegistryID {
		return "", wire.ID{}, diag.New(diag.SourceNotFound, "looking for %s: it is not in a registry", id)
	}
	return wire.ParseFull(id.String())
}

// lines returns the index of a bundle at a host with a verified checkpoint.
func (s Source) lines(ctx context.Context, id lock.ID) (*client.Host, []*wire.Line, error) {
	host, name, err := idOf(id)
	if err != nil {
		return nil, nil, err
	}
	h, err := s.Client.Host(ctx, host)
	if err != nil {
		return nil, nil, err
	}
	lines, err := h.Index(ctx, name)
	return h, lines, err
}

// Versions implements source.Source: the versions that may be selected without being
// named.
func (s Source) Versions(ctx context.Context, id lock.ID) (*source.Listing, error) {
	_, lines, err := s.lines(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &source.Listing{ID: id}
	for _, l := range lines {
		if l.State == wire.StateOK {
			out.Versions = append(out.Versions, source.Version{Version: l.Version})
		}
	}
	slices.SortFunc(out.Versions, func(a, b source.Version) int {
		switch {
		case a.Version == b.Version:
			return 0
		case lock.MaxVersion(a.Version, b.Version) == a.Version:
			return 1
		}
		return -1
	})
	return out, nil
}

// Resolve implements source.Source. The origin names a release that the log contains.
func (s Source) Resolve(ctx context.Context, id lock.ID, query string) (source.Origin, error) {
	h, lines, err := s.lines(ctx, id)
	if err != nil {
		return source.Origin{}, err
	}
	if lock.IsCommit(query) {
		return source.Origin{}, diag.New(diag.VersionNotFound, "resolving %s at %q: a registry has releases and no commits", id, query)
	}
	version := query
	if query == "" || query == source.Latest {
		l, err := s.Versions(ctx, id)
		if err != nil {
			return source.Origin{}, err
		}
		if version = lock.Newest(id, "", l.Names(), nil); version == "" {
			return source.Origin{}, noneSelectable(id, h.Name, lines)
		}
	}
	i := slices.IndexFunc(lines, func(l *wire.Line) bool {
		return l.Version == version
	})
	if i < 0 {
		return source.Origin{}, diag.New(diag.VersionNotFound, "resolving %s %s: registry %s has no such version", id, version, h.Name)
	}
	l := lines[i]
	e, err := h.Prove(ctx, l)
	if err != nil {
		return source.Origin{}, err
	}
	switch l.State {
	case wire.StateDeleted:
		return source.Origin{}, stateError(id, l, "it was deleted").WithReason("registry_deleted")
	case wire.StateYanked:
		return source.Origin{}, stateError(id, l, "it was yanked, so only projects that locked it use it").WithReason("registry_yanked")
	}
	return source.Origin{
		ID:      id,
		Version: version,
		Archive: l.Archive,
		Log:     strconv.FormatInt(l.Log, 10),
		Sum:     l.Sum,
		Time:    e.Time,
	}, nil
}

// noneSelectable states why the versions that were published last are not selected.
func noneSelectable(id lock.ID, host string, lines []*wire.Line) *diag.Error {
	const named = 3
	var states []string
	unlisted := ""
	for _, l := range slices.Backward(lines) {
		if l.State == wire.StateOK { // a pre-release
			continue
		}
		if len(states) < named {
			states = append(states, l.Version+" is "+l.State)
		}
		if l.State == wire.StateUnlisted {
			unlisted = cmp.Or(unlisted, l.Version)
		}
	}
	why := ""
	if len(states) > 0 {
		why = ": " + strings.Join(states, ", ")
	}
	err := diag.New(diag.VersionNotFound, "resolving %s: registry %s has no version of it that may be selected%s", id, host, why)
	if unlisted != "" {
		return err.
			WithReason("registry_unlisted").
			WithDetail("bundle", id.String()).
			WithDetail("version", unlisted)
	}
	return err
}

func stateError(id lock.ID, l *wire.Line, what string) *diag.Error {
	if l.Reason != "" {
		what += ": " + strconv.Quote(l.Reason)
	}
	return diag.New(diag.VersionNotFound, "resolving %s %s: %s", id, l.Version, what).
		WithDetail("bundle", id.String()).
		WithDetail("version", l.Version).
		WithDetail("state", l.State)
}

// Fetch implements source.Source. The archive must have the digest of the origin, and its
// files the sum of the origin if it has one.
func (s Source) Fetch(ctx context.Context, o source.Origin) (*source.Snapshot, error) {
	host, _, err := idOf(o.ID)
	if err != nil {
		return nil, err
	}
	if o.Archive == "" {
		return nil, diag.New(diag.LockMismatch, "fetching %s %s: no archive is recorded for it", o.ID, o.Version)
	}
	h, err := s.Client.Bare(host)
	if err != nil {
		return nil, err
	}
	b, err := h.Archive(ctx, o.Archive, wire.MaxArchive)
	if err != nil {
		return nil, s.archiveError(o, host, err)
	}
	w, err := s.Cache.Write()
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	_, err = wire.Unpack(ctx, bytes.NewReader(b), func(f wire.File) error {
		if !source.Carried(f.Path) {
			return diag.New(diag.PathEscape, "the file %q is not one of a bundle", f.Path)
		}
		if err := source.CheckPath(f.Path); err != nil {
			return err
		}
		return w.Add(f.Path, f.Executable, f.Data)
	})
	if err != nil {
		return nil, diag.Doing("fetching "+o.ID.String()+" "+o.Version, err)
	}
	snap, err := w.Commit(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Sum != "" && snap.Sum != o.Sum {
		return nil, diag.New(diag.HashMismatch, "fetching %s %s: its files do not have the hash that the log names", o.ID, o.Version).
			WithReason("registry_archive").
			WithDetail("host", host).
			WithDetail("expected", o.Sum).
			WithDetail("found", snap.Sum)
	}
	return snap, nil
}

func (s Source) archiveError(o source.Origin, host string, err error) error {
	switch {
	case client.Deleted(err):
		return diag.New(diag.VersionNotFound, "fetching %s %s: registry %s deleted it; copies that are installed, vendored or in the cache stay usable", o.ID, o.Version, host).
			WithReason("registry_deleted").
			WithDetail("bundle", o.ID.String()).
			WithDetail("version", o.Version)
	case errors.Is(err, fs.ErrNotExist):
		return diag.New(diag.SourceNotFound, "fetching %s %s: registry %s does not have its archive", o.ID, o.Version, host).
			WithReason("registry_archive_missing").
			WithDetail("bundle", o.ID.String()).
			WithDetail("version", o.Version)
	}
	return err
}

// Revalidate implements source.Source: the index must still name the recorded release.
func (s Source) Revalidate(ctx context.Context, o source.Origin) error {
	h, lines, err := s.lines(ctx, o.ID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(lines, func(l *wire.Line) bool {
		return l.Version == o.Version
	})
	if i < 0 {
		return diag.New(diag.Rollback, "comparing %s %s with registry %s: the index does not list it any more", o.ID, o.Version, h.Name).
			WithReason("registry_older").WithDetail("host", h.Name)
	}
	l := lines[i]
	if strconv.FormatInt(l.Log, 10) == o.Log && l.Archive == o.Archive {
		_, err := h.Prove(ctx, l)
		return err
	}
	return h.Moved(ctx, client.Moved{
		ID:      o.ID.String(),
		Version: o.Version,
		Log:     o.Log,
		Archive: o.Archive,
	}, l)
}

// State returns the state of a recorded release and its reason.
func (s Source) State(ctx context.Context, o source.Origin) (state, reason string, err error) {
	h, lines, err := s.lines(ctx, o.ID)
	if err != nil {
		return "", "", err
	}
	for _, l := range lines {
		if l.Version == o.Version {
			_, err := h.Prove(ctx, l)
			return l.State, l.Reason, err
		}
	}
	return "", "", nil
}

// ReadFile implements source.FileReader: the key documents of the namespace, under the
// names that a repository would keep them by.
func (s Source) ReadFile(
	ctx context.Context,
	o source.Origin,
	name string,
	_ int64,
) ([]byte, error) {
	missing := diag.New(diag.SourceNotFound, "looking for %s of %s: the registry does not serve it", name, o.ID)
	host, id, err := idOf(o.ID)
	if err != nil {
		return nil, err
	}
	base, ok := strings.CutPrefix(name, ".ai/trust/")
	if !ok {
		return nil, missing
	}
	h, err := s.Client.Host(ctx, host)
	if err != nil {
		return nil, err
	}
	ns, err := h.Namespace(ctx, id.NS)
	if err != nil {
		return nil, err
	}
	for _, k := range ns.Keys {
		fp, err := wire.ParseKey(k.Key)
		if err == nil &&
			fp != (sign.Fingerprint{}) &&
			doc.FileName(doc.KindKey, fp) == base &&
			k.Document != "" {
			return []byte(k.Document), nil
		}
	}
	return nil, missing
}
