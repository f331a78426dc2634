package lock_test

import (
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/mvs"
	"github.com/ryeos/rye/lock"
)

// A bundle that replaces another is locked under its own id, and the lock is
// stale when anything of that changes.
func TestInstead(t *testing.T) {
	const text = "rye: 1\nrequire: {github.com/a/core: v1.0.0}\nuse: {github.com/a/core: [\"tool:x\"]}\nreplace: {github.com/a/core: github.com/b/fork@v1.2.0}\n"
	m := manifest(t, text)
	fork := lock.Module{ID: idOf("github.com/b/fork"), Version: "v1.2.0"}
	for asked, want := range map[lock.Module]lock.Module{
		{ID: idOf("github.com/a/core"), Version: "v1.0.0"}:  fork,
		{ID: idOf("github.com/a/core"), Version: "v9.0.0"}:  fork,
		{ID: idOf("github.com/b/fork"), Version: "v1.0.0"}:  {ID: idOf("github.com/b/fork"), Version: "v1.0.0"},
		{ID: idOf("github.com/a/other"), Version: "v1.0.0"}: {ID: idOf("github.com/a/other"), Version: "v1.0.0"},
	} {
		if got := m.Replacing(asked); got != want {
			t.Errorf("%s means %s, want %s", asked, got, want)
		}
	}
	l := lock.Draft(m, nil, lock.Selection{Modules: []lock.Module{fork}, Via: (&mvs.Graph{}).Via})
	b := l.Bundle(fork.ID)
	if len(l.Bundles) != 1 || b == nil || b.Require != "v1.2.0" || len(b.Use) != 1 || !b.Replace.IsZero() {
		t.Fatalf("locked: %+v", l.Bundles)
	}
	if fs := l.Stale(m); len(fs) > 0 {
		t.Errorf("stale at once: %v", fs)
	}
	if why := l.Underived(m, *b); why != "" {
		t.Errorf("underived: %s", why)
	}
	for name, other := range map[string]string{
		"no replacement":  "rye: 1\nrequire: {github.com/a/core: v1.0.0}\nuse: {github.com/a/core: [\"tool:x\"]}\n",
		"another version": "rye: 1\nrequire: {github.com/a/core: v1.0.0}\nuse: {github.com/a/core: [\"tool:x\"]}\nreplace: {github.com/a/core: github.com/b/fork@v1.3.0}\n",
		"all of it":       "rye: 1\nrequire: {github.com/a/core: v1.0.0}\nreplace: {github.com/a/core: github.com/b/fork@v1.2.0}\n",
		"nothing":         "rye: 1\n",
	} {
		if fs := l.Stale(manifest(t, other)); diag.Worst(fs) != diag.LockStale {
			t.Errorf("%s: %v", name, fs)
		}
	}
	for _, bad := range []string{
		"rye: 1\nreplace: {github.com/a/a: github.com/a/b, github.com/a/b: github.com/a/c}\n",
		"rye: 1\nrequire: {github.com/a/a: v1.0.0, github.com/a/b: v1.0.0}\nreplace: {github.com/a/a: github.com/a/b}\n",
	} {
		if m, fs := lock.ParseProjectFile([]byte(bad)); m != nil || diag.Worst(fs) != diag.ValidationFailed {
			t.Errorf("%s: %v", bad, fs)
		}
	}
}

func idOf(s string) lock.ID {
	id, err := lock.ParseID(s)
	if err != nil {
		panic(err)
	}
	return id
}
