package client

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/registry/wire"
)

// Hit is a bundle that matches a query. Its texts are those of publishers.
type Hit struct {
	wire.Found
	Score int
}

// Search ranks the bundles of the registry's search segments. Missing segments are fetched;
// the query does not leave the computer. A limit of 0 returns all.
func (h *Host) Search(ctx context.Context, query string, limit int) ([]Hit, error) {
	terms := strings.Fields(strings.ToLower(query))
	all, err := h.bundles(ctx)
	if err != nil {
		return nil, err
	}
	var out []Hit
	for _, f := range all {
		if n := score(f, terms); n > 0 && f.State != wire.StateUnlisted && f.State != wire.StateDeleted {
			out = append(out, Hit{f, n})
		}
	}
	slices.SortFunc(out, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out, nil
}

// bundles returns every bundle of the segments; the last one about an id is valid.
func (h *Host) bundles(ctx context.Context) (map[string]wire.Found, error) {
	var m *wire.SearchManifest
	raw, err := []byte(nil), error(nil)
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
		named := slices.ContainsFunc(m.Segments, func(s wire.Segment) bool { return s.Path() == "/"+f.Name() })
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

// Points of a term for each field that contains it.
const (
	inID          = 8
	inItem        = 4
	inTag         = 4
	inDescription = 2
)

// score returns how well a bundle matches; 0 if a term is missing.
func score(f wire.Found, terms []string) int {
	total := 1
	for _, t := range terms {
		n := 0
		if strings.Contains(f.ID, t) {
			n += inID
		}
		if strings.Contains(strings.ToLower(f.Description), t) {
			n += inDescription
		}
		for _, x := range f.Items {
			switch {
			case strings.Contains(strings.ToLower(x.Ref), t):
				n += inItem
			case slices.ContainsFunc(x.Tags, func(tag string) bool { return strings.EqualFold(tag, t) }):
				n += inTag
			case strings.Contains(strings.ToLower(x.Description), t):
				n += inDescription
			}
		}
		if n == 0 {
			return 0
		}
		total += n
	}
	return total
}
