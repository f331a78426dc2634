package stdlib_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// The metadata that a process passes to another one of the same program is what that one would read,
// without positions, and belongs to the bytes of the bundle only.
func TestPassed(t *testing.T) {
	from, to := resolver(t), resolver(t)
	var items []*resolve.Item
	everyOf(t, from, func(it *resolve.Item) {
		if !it.Support() {
			items = append(items, it)
		}
	})
	all := from.Passed()
	if err := to.Pass(all); err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, want := range items {
		got, err := to.Find(t.Context(), want.Ref)
		if err != nil {
			t.Errorf("%s: %v", want.Ref, err)
			continue
		}
		wantMeta := want.Meta
		if len(got.Meta.Pos) == 0 && len(want.Meta.Pos) > 0 {
			used++
			wantMeta.Pos = got.Meta.Pos
		}
		if !reflect.DeepEqual(got.Meta, wantMeta) || got.Digest != want.Digest || len(got.Findings) > 0 || !got.Verdict.OK() {
			t.Errorf("%s differs:\n%+v\n%+v", want.Ref, got.Meta, wantMeta)
		}
	}
	for _, id := range []string{policy.AllowanceID, policy.RiskID} { // people read their lines
		if it, err := to.Find(t.Context(), item.Ref{Kind: item.Config, ID: id}); err != nil || len(it.Meta.Pos) < 20 {
			t.Errorf("%s has %d positions, %v", id, len(it.Meta.Pos), err)
		}
	}
	if used < 50 {
		t.Errorf("the metadata of %d items was passed, want at least 50", used)
	}

	// Other bytes with the same id are read.
	ref := item.Ref{Kind: item.Tool, ID: "rye/file-system/grep"}
	it, err := to.Find(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Replace(it.Bytes, []byte("\ntool_type: "), []byte("\ntitle: Another\ntool_type: "), 1)
	if changed := to.WithBytes(it, other); bytes.Equal(other, it.Bytes) || changed.Meta.Fields["title"] != "Another" || changed.Verdict.OK() {
		t.Errorf("the metadata of other bytes is %v, %v", changed.Meta.Fields["title"], changed.Verdict)
	}

	for _, b := range [][]byte{all[:len(all)-1], append(bytes.Clone(all), 0xff), {5}, {0, 0}} {
		if err := resolver(t).Pass(b); err == nil {
			t.Errorf("%d bytes that are not complete are accepted", len(b))
		}
	}
}
