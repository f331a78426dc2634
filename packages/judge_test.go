package packages

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/trust"
)

var mod = lock.Module{ID: idOf("github.com/acme/tools"), Version: "v1.2.0"}

// Protection 3: the age of a version begins at its first sight here, and again for
// a tag that moved to another commit.
func TestFirstSight(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := now
	e := New(Params{Base: t.TempDir(), Seen: filepath.Join(t.TempDir(), "seen.json"), Now: func() time.Time { return clock }})
	age := func(commit string) error {
		key := sightKey(lock.Bundle{ID: mod.ID, Version: mod.Version, Commit: commit})
		seen, err := e.sights(t.Context(), []string{key})
		if err != nil {
			t.Fatal(err)
		}
		return checkAge(Rules{{"rye.yaml", &lock.ProjectFile{Policy: lock.Policy{MinAge: 72 * time.Hour}}}}, clock, seen[key], mod)
	}
	steps := []struct {
		after  time.Duration
		commit string
		ok     bool
	}{
		{0, "a", false}, {71 * time.Hour, "a", false}, {72 * time.Hour, "a", true},
		{72 * time.Hour, "b", false}, {143 * time.Hour, "b", false}, {144 * time.Hour, "b", true},
		// A first sight in the future is replaced: with the clock set back by an
		// hour, the age begins at that hour.
		{-time.Hour, "a", false}, {70 * time.Hour, "a", false}, {71 * time.Hour, "a", true},
	}
	for _, s := range steps {
		clock = now.Add(s.after)
		err := age(s.commit)
		if (err == nil) != s.ok || err != nil && diag.CodeOf(err) != diag.Cooldown {
			t.Errorf("after %s, commit %s: %v", s.after, s.commit, err)
		}
	}
	if checkAge(nil, now, now, mod) != nil {
		t.Error("without a policy a version is refused")
	}
}

func TestCheckManifest(t *testing.T) {
	for _, c := range []struct {
		id, version, manifest, of string
		want                      diag.Code
	}{
		{"github.com/acme/tools", "v1.2.0", "tools", "1.2.0", ""},
		{"github.com/acme/tools", "v1.2.0", "github.com/acme/tools", "1.2.0", ""},
		{"github.com/acme/tools", "v1.2.0", "tools", "1.1.0", diag.VersionMismatch},
		{"github.com/acme/tools", "v1.2.0", "github.com/acme/other", "1.2.0", diag.SourceMoved},
		{"github.com/evil/tools", "v1.2.0", "github.com/acme/tools", "1.2.0", diag.SourceMoved},
		{"ssh://git@github.com/acme/tools.git", "v1.2.0", "github.com/acme/tools", "1.2.0", ""},
		{"ssh://git@github.com/evil/tools.git", "v1.2.0", "github.com/acme/tools", "1.2.0", diag.SourceMoved},
		{"file:///srv/mirror/tools", "v1.2.0", "github.com/acme/tools", "1.2.0", ""},
		{"git.acme.io/sec/redact//bundles/pii", "v0.3.0", "git.acme.io/sec/redact/bundles/pii", "0.3.0", ""},
		{"github.com/acme/tools", "v0.0.0-20260214002754-3f2c9d1e0a6b", "tools", "9.9.9", ""},
	} {
		err := checkManifest(lock.Module{ID: idOf(c.id), Version: c.version}, &bundle.Manifest{ID: c.manifest, Version: c.of})
		if diag.CodeOf(err) != c.want {
			t.Errorf("%s %s with the manifest of %s %s: %v, want %q", c.id, c.version, c.manifest, c.of, err, c.want)
		}
	}
}

// Protection 6: a capability is denied if it and the rule overlap, whichever is the
// wider one.
func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		deny, asks string
		want       bool
	}{
		{"rye.execute.tool.rye.bash.*", "rye.execute.tool.rye.bash.run", true},
		{"rye.execute.tool.rye.bash.*", "rye.execute.tool.*", true},
		{"rye.execute.tool.rye.bash.*", "rye.execute.tool.gh.*", false},
		{"net:*", "net:api.github.com", true},
		{"net:evil.example", "net:api.github.com", false},
	} {
		if got := overlap(c.deny, c.asks); got != c.want {
			t.Errorf("deny %s, asks for %s: %t", c.deny, c.asks, got)
		}
	}
}

// Protection 5 and V54: a rule counts each key once, however often it signed or is
// named.
func TestV54Demanded(t *testing.T) {
	a, b, c := "ed25519:a", "ed25519:b", "ed25519:c"
	m := &lock.ProjectFile{Trust: map[string]lock.TrustRule{
		"github.com/acme/*":  {Signers: []string{a, b}, Threshold: 2},
		"github.com/twice/*": {Signers: []string{a, a}, Threshold: 2},
	}}
	for _, x := range []struct {
		id      string
		signers []string
		want    diag.Code
	}{
		{"github.com/acme/tools", []string{a, b}, ""},
		{"github.com/acme/tools", []string{a, b, c}, ""},
		{"github.com/acme/tools", []string{a}, diag.Threshold},
		{"github.com/acme/tools", []string{a, a}, diag.Threshold},
		{"github.com/acme/tools", []string{a, c}, diag.Threshold},
		{"github.com/other/tools", []string{c}, ""},
		{"github.com/twice/tools", []string{a}, diag.Threshold},
	} {
		if err := CheckSigners(lock.Module{ID: idOf(x.id)}, Rules{{"rye.yaml", m}}.SignerRules(&trust.Store{}, lock.Module{ID: idOf(x.id)}, ""), x.signers); diag.CodeOf(err) != x.want {
			t.Errorf("%s signed by %v: %v, want %q", x.id, x.signers, err, x.want)
		}
	}
}

// Protection 4: the set of signers changes only by a rotation.
func TestContinuity(t *testing.T) {
	e := New(Params{Base: t.TempDir()})
	a, b := "ed25519:a", "ed25519:b"
	for _, x := range []struct {
		old, now []string
		want     diag.Code
	}{
		{nil, []string{a}, diag.LockMismatch}, {[]string{a}, []string{a}, ""}, {[]string{a}, []string{b}, diag.SignerChanged},
		{[]string{a}, []string{a, b}, diag.SignerChanged}, {[]string{a, b}, []string{a}, diag.SignerChanged},
	} {
		err := e.checkContinuity(&lock.Bundle{Sum: "h1:x", Signers: x.old}, &lock.Bundle{ID: mod.ID, Signers: x.now})
		if diag.CodeOf(err) != x.want {
			t.Errorf("%v then %v: %v, want %q", x.old, x.now, err, x.want)
		}
	}
	for _, first := range []*lock.Bundle{nil, {ID: mod.ID, Replace: lock.Replacement{Path: "../x"}}} {
		if err := e.checkContinuity(first, &lock.Bundle{ID: mod.ID, Signers: []string{a}}); err != nil {
			t.Errorf("after %v: %v", first, err)
		}
	}
}

// A bundle of a registry is the one that its signed rye.yaml names, with the host and the
// major version.
func TestCheckRegistryName(t *testing.T) {
	for _, c := range []struct {
		id, name string
		want     diag.Code
	}{
		{"registry:rye.example/acme/tools", "registry:rye.example/acme/tools", ""},
		{"registry:rye.example/acme/tools/v2", "registry:rye.example/acme/tools/v2", ""},
		{"registry:rye.example/acme/tools/v2", "registry:rye.example/acme/tools", diag.SourceMoved},
		{"registry:rye.example/acme/tools", "registry:rye.example/acme/tools/v2", diag.SourceMoved},
		{"registry:rye.example/acme/victim", "registry:rye.example/acme/tools", diag.SourceMoved},
		{"registry:rye.example/acme/tools", "registry:other.example/acme/tools", diag.SourceMoved},
		{"registry:rye.example/acme/tools", "github.com/acme/tools", diag.SourceMoved},
		{"registry:rye.example/acme/tools", "tools", diag.SourceMoved},
		{"github.com/acme/tools", "tools", ""},
	} {
		err := CheckRegistryName(c.id, []byte("rye: 1\nname: \""+c.name+"\"\n"))
		if err == nil != (c.want == "") || err != nil && err.Code != c.want {
			t.Errorf("%s with the name %q: %v, want %q", c.id, c.name, err, c.want)
		}
	}
	for _, text := range []string{"", "rye: 1\n", "name: [\n"} {
		if err := CheckRegistryName("registry:rye.example/acme/tools", []byte(text)); err == nil {
			t.Errorf("a bundle of a registry with %q passes", text)
		}
	}
}
