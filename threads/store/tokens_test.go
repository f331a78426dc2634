package store

import (
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

// TestTokens: a token is taken once, by its own thread, and not after it was revoked; the
// tokens of all threads below are revoked with it, and no others.
func TestTokens(t *testing.T) {
	s := openTest(t, t.TempDir())
	add := func(id, thread, parent string) {
		t.Helper()
		must(t, s.AddToken(t.Context(), id, thread, parent, noon.Add(time.Hour)))
	}
	refused := func(what string, err error) {
		t.Helper()
		if diag.CodeOf(err) != diag.TokenInvalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	root := register(t, s, "root", 100)
	_, err := root.Child(t.Context(), Thread{ID: "child"}, 10)
	must(t, err)
	register(t, s, "other", 100)
	add("t1", "root", "")
	add("t2", "child", "t1")
	add("t3", "not-yet", "t2") // its process did not begin
	add("t4", "other", "")

	refused("an unknown one", s.TakeToken(t.Context(), "t9", "root"))
	refused("that of another thread", s.TakeToken(t.Context(), "t1", "other"))
	must(t, s.TakeToken(t.Context(), "t1", "root"))
	refused("used again", s.TakeToken(t.Context(), "t1", "root"))
	must(t, s.CheckToken(t.Context(), "t1", "root"))
	must(t, s.TakeToken(t.Context(), "t2", "child"))

	must(t, s.Revoke(t.Context(), "root", true))
	refused("revoked", s.CheckToken(t.Context(), "t1", "root"))
	refused("revoked with its parent", s.CheckToken(t.Context(), "t2", "child"))
	refused("revoked before it was used", s.TakeToken(t.Context(), "t3", "not-yet"))
	must(t, s.TakeToken(t.Context(), "t4", "other"))
	must(t, s.CheckToken(t.Context(), "t4", "other"))
}

// TestSuspendedToken: the token of a suspended thread is revoked, and those of others are
// not.
func TestSuspendedToken(t *testing.T) {
	s := openTest(t, t.TempDir())
	for _, id := range []string{"a", "b"} {
		register(t, s, id, 100)
		must(t, s.AddToken(t.Context(), "t-"+id, id, "", noon.Add(time.Hour)))
		must(t, s.TakeToken(t.Context(), "t-"+id, id))
	}
	must(t, register(t, s, "a", 100).Suspend(t.Context(), "hook"))
	if err := s.CheckToken(t.Context(), "t-a", "a"); diag.CodeOf(err) != diag.TokenInvalid {
		t.Error(err)
	}
	must(t, s.CheckToken(t.Context(), "t-b", "b"))
}
