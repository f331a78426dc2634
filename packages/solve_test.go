package packages

import (
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// Protection 7: the version of a lock entry belongs to its tag or commit.
func TestCheckEntry(t *testing.T) {
	commit := "3f2c9d1e0a6b8c7d5e4f3a2b1c0d9e8f7a6b5c4d"
	for _, c := range []struct {
		id, version, ref, commit string
		ok                       bool
	}{
		{"github.com/a/b", "v1.0.0", "refs/tags/v1.0.0", commit, true},
		{"github.com/a/b", "v1.0.0", "refs/tags/v0.9.0", commit, false},
		{"github.com/a/b", "v1.0.0", "refs/heads/v1.0.0", commit, false},
		{"github.com/a/b", "v1.0.0", "", commit, false},
		{"github.com/a/b//x/y", "v1.0.0", "refs/tags/x/y/v1.0.0", commit, true},
		{"github.com/a/b//x/y", "v1.0.0", "refs/tags/v1.0.0", commit, true},
		{"github.com/a/b//x/y", "v1.0.0", "refs/tags/x/z/v1.0.0", commit, false},
		{"github.com/a/b", "v0.0.0-20260214002754-3f2c9d1e0a6b", "", commit, true},
		{"github.com/a/b", "v0.0.0-20260214002754-3f2c9d1e0a6b", "refs/tags/v1.0.0", commit, false},
		{"github.com/a/b", "v0.0.0-20260214002754-000000000000", "", commit, false},
		{"registry:h.io/a/b", "v1.0.0", "", commit, true},
	} {
		err := checkEntry(lock.Bundle{ID: idOf(c.id), Version: c.version, Ref: c.ref, Commit: c.commit})
		if (err == nil) != c.ok || err != nil && diag.CodeOf(err) != diag.LockRepointed {
			t.Errorf("%s %s at %q %s: %v", c.id, c.version, c.ref, c.commit, err)
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
