package project

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/stdlib"
)

// TestReserved compares the reserved ids with the system bundle: a bundle of a
// project may replace no tool and no setting of it unless the project prefers it.
func TestReserved(t *testing.T) {
	boot := extract.Boot()
	seen := map[item.Kind]int{}
	err := fs.WalkDir(stdlib.FS(), space.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		at, known := boot.Classify(strings.TrimPrefix(p, space.Dir+"/"))
		if !known || at.Ref.IsZero() || at.Ref.Kind != item.Tool && at.Ref.Kind != item.Config {
			return nil
		}
		seen[at.Ref.Kind]++
		if !space.Reserved(at.Ref) {
			t.Errorf("%s is not reserved", at.Ref)
		}
		return nil
	})
	if err != nil || seen[item.Tool] < 10 || seen[item.Config] < 3 {
		t.Errorf("%v, %v", seen, err)
	}
	for _, ref := range []item.Ref{{Kind: item.Tool, ID: "gh/issue"}, {Kind: item.Tool, ID: "agent/x"}, {Kind: item.Config, ID: "agents/x"}, {Kind: item.Tool, ID: "ryes/x"}} {
		if space.Reserved(ref) {
			t.Errorf("%s is reserved", ref)
		}
	}
}
