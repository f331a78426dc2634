package why

import (
	"testing"

	"github.com/ryeos/rye/lock"
)

// TestCycle explains two bundles that require each other.
func TestCycle(t *testing.T) {
	a := lock.ID{Kind: lock.HostID, Repo: "github.com/x/a"}
	b := lock.ID{Kind: lock.HostID, Repo: "github.com/x/b"}
	l := &lock.Lock{Bundles: []lock.Bundle{
		{ID: a, Version: "v1.0.0", Needs: []lock.Module{{ID: b, Version: "v1.0.0"}}},
		{ID: b, Version: "v1.0.0", Needs: []lock.Module{{ID: a, Version: "v1.0.0"}}, Require: "v1.0.0"},
	}}
	if path := Path(l, "github.com/x/a"); len(path) != 2 || path[0].ID != "github.com/x/b" {
		t.Errorf("%+v", path)
	}
	if tree := Tree(l); len(tree) != 1 || len(tree[0].Children) != 1 {
		t.Errorf("%+v", tree)
	}
}
