package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

// segments returns what a client finds.
func (f *fixture) segments() map[string]wire.Found {
	f.t.Helper()
	_, b, _ := f.get("/search/manifest.json")
	m, err := wire.ParseSearchManifest(b)
	if err != nil {
		f.t.Fatal(err)
	}
	out := map[string]wire.Found{}
	for _, g := range m.Segments {
		_, b, _ := f.get("/search" + g.Path())
		list, err := wire.ParseSegment(b, g)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, x := range list {
			out[x.ID] = x
		}
	}
	return out
}

// TestLongDescription publishes a bundle whose description is longer than a client reads.
func TestLongDescription(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	f.mustPublish("acme/before", "v1.0.0")
	f.judge = func(ctx context.Context, s rules.Submission) (*rules.Content, []diag.Finding, error) {
		c, found, err := acceptAll(ctx, s)
		c.Found.Description = strings.Repeat("é", wire.MaxLine)
		for range 2000 {
			c.Found.Items = append(c.Found.Items, wire.FoundItem{Ref: "tool:demo/x", Description: strings.Repeat("d", 2000), Tags: []string{strings.Repeat("t", 40)}})
		}
		return c, found, err
	}
	f.mustPublish("acme/long", "v1.0.0")
	for range 2 {
		got := f.segments()
		b, err := json.Marshal(got["acme/long"])
		if err != nil || len(b) > maxFound || len(got["acme/long"].Items) < 100 || !strings.HasPrefix(got["acme/long"].Description, "éé") || got["acme/before"].ID == "" {
			t.Errorf("%d bytes, %d items, %v", len(b), len(got["acme/long"].Items), err)
		}
		f.reopen()
	}
}

// TestRefusedSegment shows that a description which clients refuse is left out, and the
// others are found.
func TestRefusedSegment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	list := []wire.Found{{ID: "acme/a"}, {ID: "acme/b"}, {ID: "acme/c", Description: strings.Repeat("x", wire.MaxLine)}, {ID: "acme/d"}, {ID: "not an id"}}
	x := &searchIndex{tail: list, members: map[string]bool{}}
	if err := x.publish(f.s); err != nil {
		t.Fatal(err)
	}
	got := f.segments()
	if len(got) != 3 || got["acme/a"].ID == "" || got["acme/b"].ID == "" || got["acme/d"].ID == "" {
		t.Errorf("%v", got)
	}
}

// TestLongIndex are the limits of clients, with space for states.
func TestLongIndex(t *testing.T) {
	if testing.Short() {
		t.Skip("fills an index up to its limit")
	}
	t.Parallel()
	line := func(n int) *wire.Line {
		return &wire.Line{V: 1, ID: "acme/tools", Version: "v1.0.0", State: wire.StateOK, Items: []string{strings.Repeat("x", n)}}
	}
	if err := rules.FitsIndex(nil, line(wire.MaxLine-rules.StateBytes)); diag.CodeOf(err) != diag.TooLarge {
		t.Errorf("a long line: %v", err)
	}
	b := &rules.Bundle{}
	for range wire.MaxIndex/wire.MaxLine - 1 {
		b.Versions = append(b.Versions, line(wire.MaxLine-2*rules.StateBytes))
	}
	if err := rules.FitsIndex(&rules.Bundle{Versions: b.Versions[1:]}, b.Versions[0]); err != nil { // so each version before fits too
		t.Fatal(err)
	}
	b.Versions = append(b.Versions, line(wire.MaxLine-2*rules.StateBytes))
	if err := rules.FitsIndex(b, line(1<<16)); err != nil {
		t.Error(err)
	}
	if err := rules.FitsIndex(b, line(1<<18)); diag.CodeOf(err) != diag.TooLarge {
		t.Errorf("a long index: %v", err)
	}
	for _, v := range b.Versions {
		at := int64(1 << 40)
		v.State, v.Reason, v.StateLog = wire.StateUnlisted, strings.Repeat("<", wire.MaxReason), &at
		if len(v.Render()) > wire.MaxLine {
			t.Fatalf("a line with a state has %d bytes", len(v.Render()))
		}
	}
	if n := len(b.Index()); n > wire.MaxIndex {
		t.Errorf("an index with states has %d bytes", n)
	}
}
