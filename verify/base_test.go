package verify

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
)

const idCore = "github.com/acme/core"

func baseLock() *lock.Lock {
	l := &lock.Lock{Manifest: (&lock.ProjectFile{}).Settings()}
	l.SetBundle(lock.Bundle{ID: idOf(idCore), Version: "v1.8.2", Require: "v1.8.0", URL: "https://github.com/acme/core", Commit: "aa", Tree: "bb", Sum: "h1:cc",
		Signers: []string{"ed25519:dd"}, Needs: []lock.Module{{ID: idOf("github.com/acme/pii"), Version: "v0.2.1"}}})
	l.SetBundle(lock.Bundle{ID: idOf("github.com/acme/pii"), Version: "v0.2.1", URL: "https://github.com/acme/pii", Commit: "ee", Tree: "ff", Sum: "h1:gg"})
	l.SetBundle(lock.Bundle{ID: idOf("github.com/acme/top"), Version: "v1.0.0", Require: "v1.0.0", URL: "https://github.com/acme/top", Commit: "11", Tree: "22", Sum: "h1:33",
		Needs: []lock.Module{{ID: idOf(idCore), Version: "v1.8.2"}}})
	return l
}

// TestBase changes one thing in a lock: what nothing asks for is refused.
func TestBase(t *testing.T) {
	edit := func(id string, change func(*lock.Bundle)) func(*lock.Lock) {
		return func(l *lock.Lock) { change(l.Bundle(idOf(id))) }
	}
	for name, c := range map[string]struct {
		change func(*lock.Lock)
		part   string // "" for no finding
	}{
		"nothing":    {func(*lock.Lock) {}, ""},
		"url":        {edit(idCore, func(b *lock.Bundle) { b.URL = "https://evil.test/core" }), "its url changed from https://github.com/acme/core to https://evil.test/core"},
		"commit":     {edit(idCore, func(b *lock.Bundle) { b.Commit = "99" }), "its commit changed from aa to 99"},
		"tree":       {edit(idCore, func(b *lock.Bundle) { b.Tree = "99" }), "its tree changed"},
		"sum":        {edit(idCore, func(b *lock.Bundle) { b.Sum = "h1:99" }), "its sum changed"},
		"tag":        {edit(idCore, func(b *lock.Bundle) { b.Tag = "99" }), "its tag changed from nothing to 99"},
		"manifest":   {edit(idCore, func(b *lock.Bundle) { b.Manifest = item.DigestOf(nil) }), "its manifest changed"},
		"signer":     {edit(idCore, func(b *lock.Bundle) { b.Signers = []string{"ed25519:ee"} }), "its signers changed"},
		"capability": {edit(idCore, func(b *lock.Bundle) { b.Caps = []string{"x"} }), "its caps changed from nothing to x"},
		"need gone":  {edit(idCore, func(b *lock.Bundle) { b.Needs = nil }), "its needs changed"},
		"indirect":   {edit("github.com/acme/pii", func(b *lock.Bundle) { b.Commit = "99" }), "github.com/acme/pii v0.2.1 has the same version"},
		"newer":      {edit(idCore, func(b *lock.Bundle) { b.Version, b.Commit = "v1.9.0", "99" }), "is locked at v1.9.0, the requirements result in v1.8.2"},
		"older":      {edit(idCore, func(b *lock.Bundle) { b.Version, b.Commit = "v1.8.0", "99" }), "the requirements result in v1.8.2"},
		"an update":  {edit(idCore, func(b *lock.Bundle) { b.Version, b.Require, b.Commit = "v1.9.0", "v1.9.0", "99" }), ""},
		"removed":    {func(l *lock.Lock) { l.Bundles = l.Bundles[:1] }, ""},
		"added": {func(l *lock.Lock) {
			l.SetBundle(lock.Bundle{ID: idOf("github.com/a/b"), Version: "v1.0.0", Require: "v1.0.0"})
		}, ""},
		"smuggled in": {func(l *lock.Lock) { l.SetBundle(lock.Bundle{ID: idOf("github.com/a/b"), Version: "v1.0.0"}) }, "github.com/a/b v1.0.0 is locked and nothing requires it"},
		"a commit":    {edit("github.com/acme/top", func(b *lock.Bundle) { b.Require = "3f2c9d1e0a" }), ""},
		"replaced": {edit(idCore, func(b *lock.Bundle) {
			b.URL, b.Commit, b.Tree, b.Sum, b.Replace = "", "", "", "", lock.Replacement{Path: "../core"}
		}), ""},
		"narrowed":      {edit(idCore, func(b *lock.Bundle) { b.Use = []string{"tool:x"} }), ""},
		"an item entry": {func(l *lock.Lock) { l.SetItem(lock.Item{Ref: item.Ref{Kind: item.Tool, ID: "x"}}) }, ""},
	} {
		now := baseLock()
		c.change(now)
		fs := Base(baseLock(), now, nil, nil)
		switch {
		case c.part == "" && len(fs) > 0:
			t.Errorf("%s: %v", name, fs)
		case c.part != "" && (len(fs) != 1 || fs[0].Code != diag.LockRepointed || !strings.Contains(fs[0].Message, c.part) || fs[0].Reason == ""):
			t.Errorf("%s: %v, want one with %q", name, fs, c.part)
		}
	}
	if fs := Base(nil, baseLock(), nil, nil); len(fs) > 0 {
		t.Errorf("a first lock: %v", fs)
	}
	m := &lock.ProjectFile{Require: map[lock.ID]string{idOf(idCore): "v2.0.0"}}
	now := baseLock()
	now.Bundle(idOf(idCore)).Version = "v1.9.0"
	if fs := Base(baseLock(), now, m, nil); len(fs) > 0 {
		t.Errorf("a stale entry is reported elsewhere: %v", fs)
	}
}

func TestBaseLogs(t *testing.T) {
	state := func(checkpoint string) *lock.Lock {
		return &lock.Lock{Registries: []lock.Registry{{Host: "rye.example", Checkpoint: checkpoint}}}
	}
	for _, c := range []struct {
		base, now string
		want      diag.Code
	}{
		{"5 a=", "5 a=", ""}, {"5 a=", "6 b=", ""}, {"5 a=", "4 b=", diag.Rollback}, {"10 a=", "9 b=", diag.Rollback}, {"5 a=", "5 b=", diag.LogEquivocation},
	} {
		fs := baseLogs(state(c.base), state(c.now))
		if c.want == "" && len(fs) > 0 || c.want != "" && (len(fs) != 1 || fs[0].Code != c.want || fs[0].Path != lock.LockFile) {
			t.Errorf("%s to %s: %v, want %q", c.base, c.now, fs, c.want)
		}
	}
	if fs := baseLogs(nil, state("5 a=")); len(fs) > 0 {
		t.Errorf("without a base: %v", fs)
	}
}

func TestBaseSum(t *testing.T) {
	const one = "github.com/a/b v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	other := strings.Replace(one, "h1:A", "h1:B", 1)
	more := strings.Replace(one, "a/b", "c/d", 1)
	for _, c := range []struct{ base, now, part string }{
		{"", "", ""}, {one, one, ""}, {"", one, ""}, {one, one + more, ""},
		{one, "", "was removed"}, {one, more, "was removed"},
		{one, other, "to h1:B"},
	} {
		s, found := lock.ParseSum([]byte(c.now))
		if s == nil {
			t.Fatal(found)
		}
		fs := BaseSum([]byte(c.base), s)
		switch {
		case c.part == "" && len(fs) > 0:
			t.Errorf("%q to %q: %v", c.base, c.now, fs)
		case c.part != "" && (len(fs) != 1 || fs[0].Code != diag.SumConflict || !strings.Contains(fs[0].Message, c.part)):
			t.Errorf("%q to %q: %v, want %q", c.base, c.now, fs, c.part)
		}
	}
}

// Protection 13: a change takes no revocation back.
func TestBaseRevoked(t *testing.T) {
	base, now := baseLock(), baseLock()
	base.Revoked.Documents = []item.Digest{item.DigestOf([]byte("1"))}
	if fs := Base(base, now, nil, nil); len(fs) != 1 || fs[0].Code != diag.Rollback || !strings.Contains(fs[0].Message, "is gone, which the lock of the base records") {
		t.Errorf("taken back: %v", fs)
	}
	now.Revoked.Documents = append(now.Revoked.Documents, base.Revoked.Documents[0], item.DigestOf([]byte("2")))
	if fs := Base(base, now, nil, nil); len(fs) > 0 {
		t.Errorf("one more: %v", fs)
	}
}

// Protection 4: another version needs the signers of the one before, or a rotation.
func TestBaseSigners(t *testing.T) {
	rotated := func(now, was string) bool { return now == "ed25519:new" && was == "ed25519:dd" }
	for _, c := range []struct {
		now  []string
		fail bool
	}{
		{[]string{"ed25519:dd"}, false}, {[]string{"ed25519:new"}, false}, {[]string{"ed25519:ee"}, true},
		{[]string{"ed25519:dd", "ed25519:ee"}, true}, {nil, true},
	} {
		now := baseLock()
		b := now.Bundle(idOf(idCore))
		b.Version, b.Require, b.Commit, b.Signers = "v1.9.0", "v1.9.0", "99", c.now
		fs := Base(baseLock(), now, nil, rotated)
		if c.fail != (len(fs) == 1 && fs[0].Code == diag.SignerChanged) || !c.fail && len(fs) > 0 {
			t.Errorf("%v: %v", c.now, fs)
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
