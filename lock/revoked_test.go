package lock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
)

// Protection 13: what was recorded may not go missing or become older; what
// comes in makes the lock stale.
func TestRevoked(t *testing.T) {
	one, two := item.DigestOf([]byte("1")), item.DigestOf([]byte("2"))
	ada, leo := "ed25519:"+strings.Repeat("a", 64), "ed25519:"+strings.Repeat("b", 64)
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	list := func(signer string, at time.Time) lock.Revoked {
		return lock.Revoked{Lists: []lock.RevokedList{{Signer: signer, At: at}}}
	}
	docs := func(d ...item.Digest) lock.Revoked { return lock.Revoked{Documents: d} }
	for _, c := range []struct {
		name      string
		was, now  lock.Revoked
		rollback  string
		freshThan bool // there is more than before
	}{
		{"nothing", lock.Revoked{}, lock.Revoked{}, "", false},
		{"one comes in", lock.Revoked{}, docs(one), "", true},
		{"one stays", docs(one), docs(one), "", false},
		{"one more", docs(one), docs(two, one), "", true},
		{"one is gone", docs(one, two), docs(one), "is gone", false},
		{"one for another", docs(one), docs(two), "is gone", true},
		{"a list comes in", lock.Revoked{}, list(ada, noon), "", true},
		{"a newer list", list(ada, noon), list(ada, noon.Add(time.Second)), "", true},
		{"the same list in another zone", list(ada, noon), list(ada, noon.In(time.FixedZone("x", 3600))), "", false},
		{"an older list", list(ada, noon), list(ada, noon.Add(-time.Second)), "older than", false},
		{"the list of another", list(ada, noon), list(leo, noon.Add(time.Hour)), "is gone", true},
		{"a list is gone", list(ada, noon), lock.Revoked{}, "is gone", false},
	} {
		l := &lock.Lock{Revoked: c.was}
		err := l.CheckRevoked(c.now)
		if (err == nil) != (c.rollback == "") || err != nil && (diag.CodeOf(err) != diag.Rollback || !strings.Contains(err.Error(), c.rollback)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.rollback)
		}
		if err := l.StaleRevoked(c.now); (err != nil) != c.freshThan || err != nil && diag.CodeOf(err) != diag.LockStale {
			t.Errorf("%s: stale %v, want %t", c.name, err, c.freshThan)
		}
	}
}

// The field is written in one way, whatever order the documents came in.
func TestRevokedField(t *testing.T) {
	one, two := item.DigestOf([]byte("1")), item.DigestOf([]byte("2"))
	key := "ed25519:" + strings.Repeat("a", 64)
	at := time.Date(2026, 11, 20, 13, 0, 0, 0, time.FixedZone("x", 3600))
	head := "rye-lock: 1.1\nmanifest: h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	l := &lock.Lock{Manifest: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		Revoked: lock.Revoked{Documents: []item.Digest{one, two, one}, Lists: []lock.RevokedList{{Signer: key, At: at}}}}
	first, second := one.String(), two.String()
	if second < first {
		first, second = second, first
	}
	want := head + "revocations: [" + key + " 2026-11-20T12:00:00Z, " + first + ", " + second + "]\n"
	if got := string(l.Render()); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	again, fs := lock.ParseLock([]byte(want))
	if again == nil || len(fs) > 0 || string(again.Render()) != want {
		t.Fatalf("read again: %v", fs)
	}
	for name, value := range map[string]string{
		"no list": first, "empty": "[]", "no digest": "[x]", "no signer": "[x 2026-11-20T12:00:00Z]", "no time": "[" + key + " today]",
		"another zone": "[" + key + " 2026-11-20T13:00:00+01:00]", "a fraction": "[" + key + " 2026-11-20T12:00:00.5Z]",
		"three words": "[" + key + " 2026-11-20T12:00:00Z x]", "one signer twice": "[" + key + " 2026-11-20T12:00:00Z, " + key + " 2026-11-21T12:00:00Z]",
	} {
		if l, fs := lock.ParseLock([]byte(head + "revocations: " + value + "\n")); l != nil || diag.Worst(fs) != diag.ParsingError {
			t.Errorf("%s: %v", name, fs)
		}
	}
}
