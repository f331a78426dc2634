package client

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/registry/wire"
)

// Bundles returns the bundles that the registry lists, by id. Publishers wrote their
// texts, and no proof covers them. Missing segments are fetched, all of them whatever
// a caller looks for: the query does not leave the computer.
func (h *Host) Bundles(ctx context.Context) ([]wire.Found, error) {
	all, err := h.bundles(ctx)
	if err != nil {
		return nil, err
	}
	out := slices.Collect(maps.Values(all))
	out = slices.DeleteFunc(out, func(f wire.Found) bool {
		return f.State == wire.StateUnlisted || f.State == wire.StateDeleted
	})
	slices.SortFunc(out, func(a, b wire.Found) int {
		return cmp.Compare(a.ID, b.ID)
	})
	return out, nil
}

// bundles returns every bundle of the segments; the last one about an id is valid.
func (h *Host) bundles(ctx context.Context) (map[string]wire.Found, error) {
	var m *wire.SearchManifest
	raw := []byte(nil)
	err := error(nil)
	const name = searchDir + "/manifest.json"
	if h.c.p.Offline {
		raw, err = openat.ReadRegular(h.dir.Path(name), wire.MaxNamespace)
		if err == nil {
			m, err = wire.ParseSearchManifest(raw)
		}
	} else {
		err = h.remote.get(ctx, wire.SearchPath+"/manifest.json", wire.MaxNamespace, "", func(f file) (err error) {
			raw = f.body
			m, err = wire.ParseSearchManifest(f.body)
			return err
		})
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && h.c.p.Offline:
		return nil, notCached("the list of bundles of registry " + h.Name)
	case errors.Is(err, fs.ErrNotExist): // a mirror may have none
		return nil, nil
	case err != nil:
		return nil, err
	}
	out := map[string]wire.Found{}
	for _, s := range m.Segments {
		list, err := h.segment(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, f := range list {
			out[f.ID] = f
		}
	}
	if !h.c.p.Offline {
		_ = h.dir.Write(name, raw, 0o600) // for searches without the network
		h.removeSegments(m)
	}
	return out, nil
}

// removeSegments removes the files of segments that the list does not name any more.
func (h *Host) removeSegments(m *wire.SearchManifest) {
	files, _ := os.ReadDir(h.dir.Path(searchDir)) // the next search removes what stays
	for _, f := range files {
		named := slices.ContainsFunc(m.Segments, func(s wire.Segment) bool {
			return s.Path() == "/"+f.Name()
		})
		if !named && strings.HasSuffix(f.Name(), ".seg") {
			_ = h.dir.RemoveAll(searchDir + "/" + f.Name())
		}
	}
}

// segment returns a segment of this computer, or fetches it.
func (h *Host) segment(ctx context.Context, s wire.Segment) (list []wire.Found, err error) {
	name := searchDir + s.Path()
	if b, err := openat.ReadRegular(h.dir.Path(name), wire.MaxSegment); err == nil {
		if list, err = wire.ParseSegment(b, s); err == nil {
			return list, nil
		}
	}
	err = h.remote.get(ctx, wire.SearchPath+s.Path(), s.Size, "", func(f file) error {
		if list, err = wire.ParseSegment(f.body, s); err != nil {
			return err
		}
		_ = h.dir.Write(name, f.body, 0o600) // a copy that saves requests
		return nil
	})
	return list, err
}
