package lock_test

import (
	"testing"

	"github.com/ryeos/rye/lock"
)

func TestAlike(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want lock.Likeness
	}{
		{"github.com/acme/tools", "github.com/acme/tools", lock.Unlike},
		{"github.com/acme/tools", "github.com/acme/tools/v2", lock.Unlike},
		{"github.com/acme/tools", "git@github.com:acme/tools.git", lock.Unlike},
		{"github.com/acme/tools", "ssh://git@github.com/acme/tools", lock.Unlike},
		{"github.com/acme/tools", "github.com/acme/skills", lock.Unlike},
		{"github.com/acme/tools", "github.com/acme/tools-extra", lock.Unlike},
		{"github.com/acme/tools", "git.acme.io/acme/tools", lock.Unlike},
		{"github.com/acme/lib", "github.com/acme/lab", lock.Unlike},
		{"github.com/acme/tools1", "github.com/acme/tools2", lock.Unlike},
		{"github.com/acme/tools", "github.com/acme/tools2", lock.Unlike},
		{"github.com/acme/left", "github.com/acme/right", lock.Unlike},
		{"./tools", "./tool", lock.Unlike},
		{"github.com/acme/tools", "github.com/acme/toolss", lock.Close},
		{"github.com/acme/tools", "github.com/acme/tolos", lock.Close},
		{"github.com/acme/tools", "github.com/acme/tooks", lock.Close},
		{"github.com/acme/tools", "git@github.com:acme/toolss.git", lock.Close},
		{"github.com/acmecorp/tools", "github.com/acmecrop/tools", lock.Close},
		{"github.com/acme/tools", "github.co/acme/tools", lock.Close},
		{"github.com/acme/mono//bundles/redact", "github.com/acme/mono//bundles/redacts", lock.Close},
		{"github.com/acme/core", "github.com/acme/c0re", lock.Lookalike},
		{"github.com/acme/core", "github.com/acrne/core", lock.Lookalike},
		{"github.com/acme/tools", "github.com/acme/too1s", lock.Lookalike},
		{"github.com/Acme/tools", "github.com/acme/tooIs", lock.Lookalike},
		{"github.com/acme/core_tools", "github.com/acme/core-tools", lock.Lookalike},
		{"github.com/acme/core", "ssh://git@github.com/acme/c0re", lock.Lookalike},
		{"registry:h.io/acme/core", "registry:h.io/acrne/core", lock.Lookalike},
	} {
		a, err := lock.ParseID(c.a)
		b, err2 := lock.ParseID(c.b)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if x, y := lock.LookOf(a).Alike(lock.LookOf(b)), lock.LookOf(b).Alike(lock.LookOf(a)); x != c.want || y != c.want {
			t.Errorf("%s and %s: %d, %d, want %d", c.a, c.b, x, y, c.want)
		}
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"github.com/acme/tools", "git@github.com:acme/tools.git", true},
		{"github.com/acme/tools", "ssh://git@GitHub.com/Acme/tools", true},
		{"http://git.acme.io/tools", "http://git.acme.io/tools.git", true},
		{"file:///srv/tools", "file:///srv/tools.git", true},
		{"github.com/acme/mono//a", "git@github.com:acme/mono//a", true},
		{"github.com/acme/tools", "github.com/acme/tools.git", false}, // one id
		{"github.com/acme/tools", "github.com/acme/tools/v2", false},
		{"github.com/acme/mono//a", "git@github.com:acme/mono//b", false},
		{"github.com/acme/tools", "git@gitlab.com:acme/tools", false},
		{"./tools", "../tools", false},
	} {
		a, _ := lock.ParseID(c.a)
		b, _ := lock.ParseID(c.b)
		if got := lock.LookOf(a).Same(lock.LookOf(b)); got != c.want || lock.LookOf(b).Same(lock.LookOf(a)) != got {
			t.Errorf("%s and %s: %t, want %t", c.a, c.b, got, c.want)
		}
	}
}
