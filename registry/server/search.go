package server

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

// searchIndex is the list of segments: full ones of wire.SegmentBundles bundles, then a
// growing one, then a small tail that every publication writes again.
type searchIndex struct {
	full    []wire.Segment
	growing []wire.Found
	tail    []wire.Found
	grown   []wire.Segment // of growing
	stale   int            // bundles of full that a later segment describes
	members map[string]bool
}

// maxTail is the number of bundles of the tail.
const maxTail = 64

// foundFile is where the description of a bundle is kept.
func foundFile(id wire.ID) string {
	return foundDir + "/" + id.String() + ".json"
}

// writeFound keeps the description of a new version. It can be made again from the archive.
func (s *Server) writeFound(
	id wire.ID,
	c *rules.Content,
	line *wire.Line,
	m *rules.State,
) error {
	f := c.Found
	f.ID = line.ID
	f.Version = line.Version
	f.Published = line.Published
	f.Signers = line.Signers
	f.Caps = line.Caps
	f.State = line.State
	b, err := json.Marshal(shorten(f))
	if err != nil {
		return err
	}
	_ = m
	return s.base.Replace(foundFile(id), b, 0o644)
}

// found returns the description of a bundle as of now.
func (s *Server) found(ctx context.Context, b *rules.Bundle) (wire.Found, error) {
	newest := b.Newest()
	f, err := s.readFound(b.ID)
	if err != nil || f.Version != newest.Version {
		if _, err = s.lineAgain(ctx, s.model, newest); err == nil {
			f, err = s.readFound(b.ID)
		}
		if errors.Is(err, fs.ErrNotExist) || newest.State == wire.StateDeleted {
			f = wire.Found{
				ID:        newest.ID,
				Version:   newest.Version,
				Signers:   newest.Signers,
				Published: newest.Published,
			}
			err = nil
		}
		if err != nil {
			return f, err
		}
	}
	f.State = newest.State
	f.Versions = len(b.Versions)
	f.First = b.Versions[0].Published
	if !b.Listed() {
		f = wire.Found{
			ID:      f.ID,
			Version: f.Version,
			State:   wire.StateUnlisted,
			Kinds:   []string{},
			Items:   []wire.FoundItem{},
			Caps:    []string{},
			Hosts:   []string{},
			Signers: []string{},
		}
	}
	return shorten(f), nil
}

// maxFound is the longest description of a bundle, in bytes. A complete segment of such
// descriptions is one that clients read.
const maxFound = 64 << 10

// shorten returns a description of at most maxFound bytes: first its texts are cut, then
// its longest lists.
func shorten(f wire.Found) wire.Found {
	length := func(v any) int { b, _ := json.Marshal(v); return len(b) } // strings, which cannot fail
	if length(f) <= maxFound {
		return f
	}
	f.Description, f.Items = cutText(f.Description, 1000), slices.Clone(f.Items)
	for i := range f.Items {
		f.Items[i].Description = cutText(f.Items[i].Description, 100)
	}
	for length(f) > maxFound {
		longest := &f.Caps
		for _, list := range []*[]string{&f.Kinds, &f.Hosts, &f.Signers} {
			if length(*list) > length(*longest) {
				longest = list
			}
		}
		if length(f.Items) > length(*longest) {
			f.Items = f.Items[:len(f.Items)/2]
			continue
		}
		*longest = (*longest)[:len(*longest)/2]
	}
	return f
}

// cutText returns the first bytes of a text, in whole characters.
func cutText(s string, most int) string {
	return cuttext.Start(s, most)
}

func (s *Server) readFound(id wire.ID) (f wire.Found, err error) {
	b, err := os.ReadFile(s.base.Path(foundFile(id)))
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(b, &f)
}

// loadSearch writes all segments again.
func (s *Server) loadSearch(ctx context.Context, m *rules.State) (*searchIndex, error) {
	s.model = m // found asks for it
	x := &searchIndex{members: map[string]bool{}}
	var all []wire.Found
	for _, b := range m.Sorted() {
		if !b.Listed() ||
			s.writable(b.Versions[0].ID, b.ID) != nil {
			continue
		}
		f, err := s.found(ctx, b)
		if err != nil {
			return nil, diag.New(diag.RegistryError, "describing %s for the search: %w", b.ID, err)
		}
		all = append(all, f)
		x.members[f.ID] = true
	}
	for len(all) >= wire.SegmentBundles {
		err := x.addFull(s, all[:wire.SegmentBundles])
		if err != nil {
			return nil, err
		}
		all = all[wire.SegmentBundles:]
	}
	x.growing = all
	if err := x.grow(s); err != nil {
		return nil, err
	}
	return x, x.publish(s)
}

func (x *searchIndex) addFull(s *Server, list []wire.Found) error {
	g, err := s.writeSegments(list)
	x.full = append(x.full, g...)
	return err
}

// grow writes the growing segment.
func (x *searchIndex) grow(s *Server) (err error) {
	x.grown, err = s.writeSegments(x.growing)
	return err
}

// update describes the bundles that changed.
func (x *searchIndex) update(ctx context.Context, s *Server, ids map[string]bool) error {
	for id := range ids {
		f, err := s.found(ctx, s.model.Bundles[id])
		if err != nil {
			return err
		}
		if x.members[id] {
			x.stale++
		}
		x.members[id] = true
		same := func(o wire.Found) bool { return o.ID == id }
		x.growing = slices.DeleteFunc(x.growing, same)
		x.tail = append(slices.DeleteFunc(x.tail, same), f)
	}
	if x.stale > wire.SegmentBundles/2 {
		loaded, err := s.loadSearch(ctx, s.model)
		if err == nil {
			*x = *loaded
		}
		return err
	}
	if len(x.tail) > maxTail {
		x.growing = append(x.growing, x.tail...)
		x.tail = nil
		if len(x.growing) >= wire.SegmentBundles {
			if err := x.addFull(s, x.growing); err != nil {
				return err
			}
			x.growing = nil
		}
		if err := x.grow(s); err != nil {
			return err
		}
	}
	return x.publish(s)
}

// publish writes the tail and the list of segments, and removes old files.
func (x *searchIndex) publish(s *Server) error {
	g, err := s.writeSegments(x.tail)
	if err != nil {
		return err
	}
	m := &wire.SearchManifest{V: 1, Segments: slices.Concat(x.full, x.grown, g)}
	err = s.writeChanged(wire.SearchPath+"/manifest.json", m.Render())
	if err != nil {
		return err
	}
	s.sweepSegments(m)
	return nil
}

// writeSegments writes segments that clients accept: one, or more if it would be too long. A
// description that is refused for itself is left out, so that the others can be found.
func (s *Server) writeSegments(list []wire.Found) ([]wire.Segment, error) {
	if len(list) == 0 {
		return nil, nil
	}
	b, err := wire.RenderSegment(list)
	if err != nil {
		return nil, err
	}
	g := wire.Segment{Digest: item.DigestOf(b).String(), Size: int64(len(b)), Bundles: len(list)}
	switch _, err := wire.ParseSegment(b, g); {
	case err == nil:
		return []wire.Segment{g}, s.writeChanged(wire.SearchPath+g.Path(), b)
	case len(list) == 1:
		s.p.Note("describing " + list[0].ID + " for the search: " + err.Error())
		return nil, nil
	}
	first, err := s.writeSegments(list[:len(list)/2])
	if err != nil {
		return nil, err
	}
	second, err := s.writeSegments(list[len(list)/2:])
	return append(first, second...), err
}

// keepSegments is how long a segment stays that the list does not name any more: a client
// may have an earlier list.
const keepSegments = time.Hour

// sweepSegments removes old segments. What cannot be removed is removed later.
func (s *Server) sweepSegments(m *wire.SearchManifest) {
	dir := s.base.Path(publicDir + wire.SearchPath)
	list, err := os.ReadDir(dir)
	if err != nil || len(list) < 2*len(m.Segments)+maxTail {
		return
	}
	for _, e := range list {
		info, err := e.Info()
		used := slices.ContainsFunc(m.Segments, func(g wire.Segment) bool {
			return g.Path() == "/"+e.Name()
		})
		if err != nil ||
			used ||
			!strings.HasSuffix(e.Name(), ".seg") ||
			time.Since(info.ModTime()) < keepSegments {
			continue
		}
		_ = s.base.Remove(publicDir + wire.SearchPath + "/" + e.Name())
	}
}
