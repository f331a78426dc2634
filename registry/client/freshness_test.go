package client

import (
	"crypto/ed25519"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

// An index with an ETag is read again only if it changed, and never goes back.
func TestIndexChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := s.release("v1.0.0")
	read := func() []*wire.Line {
		t.Helper()
		lines, err := s.host().Index(t.Context(), s.id())
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	read()
	if n := len(read()); n != 1 || !slices.Contains(s.asked, "/index/acme/tools.jsonl 304") {
		t.Errorf("an unchanged index: %d versions, %v", n, s.asked)
	}
	s.release("v1.1.0", one...)
	if n := len(read()); n != 2 {
		t.Errorf("a changed index has %d versions", n)
	}
	if n := len(read()); n != 2 {
		t.Errorf("the changed index, kept: %d versions", n)
	}
	s.index(one)
	if _, err := s.host().Index(t.Context(), s.id()); diag.CodeOf(err) != diag.Rollback {
		t.Errorf("the older index again: %v", err)
	}
}

// An index that lacks an entry of the checkpoint is refused, although its lines are proven:
// a mirror withholds a version, or that one was yanked.
func TestOldIndex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		next func(s *site, one []*wire.Line) []*wire.Line
	}{
		{"a version", func(s *site, one []*wire.Line) []*wire.Line { return s.release("v1.1.0", one...) }},
		{"a state", func(s *site, one []*wire.Line) []*wire.Line {
			yanked := *one[0]
			n := s.append(&log.Entry{Type: log.State, ID: yanked.ID, Version: yanked.Version, State: wire.StateYanked})
			yanked.State, yanked.StateLog = wire.StateYanked, &n
			return []*wire.Line{&yanked}
		}},
	} {
		s := newSite(t)
		one := s.release("v1.0.0")
		if _, err := s.host().Index(t.Context(), s.id()); err != nil {
			t.Fatal(err)
		}
		newest := c.next(s, one)
		s.index(one)
		_, err := s.host().Index(t.Context(), s.id())
		if !isOldIndex(err) || diag.CodeOf(err) != diag.Rollback {
			t.Errorf("%s is withheld: %v", c.name, err)
		}
		// Another process of the account, and another copy of the index, see the same.
		if err := s.host().dir.RemoveAll(indexDir); err != nil {
			t.Fatal(err)
		}
		if _, err := s.host().Index(t.Context(), s.id()); !isOldIndex(err) {
			t.Errorf("%s is withheld from a process without a copy: %v", c.name, err)
		}
		// An account that never used the registry reads the newest entries.
		account := s.state
		s.state = t.TempDir()
		if _, err := s.host().Index(t.Context(), s.id()); !isOldIndex(err) {
			t.Errorf("%s is withheld at the first contact: %v", c.name, err)
		}
		s.state = account
		// A cache on the way is asked to read the registry.
		s.fresh = map[string][]byte{siteIndex: rendered(newest)}
		if lines, err := s.host().Index(t.Context(), s.id()); err != nil || len(lines) != len(newest) {
			t.Errorf("%s through a cache: %v, %v", c.name, lines, err)
		}
	}
}

// The first contact reads a bounded number of entries, however long the log is.
func TestFirstContact(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.release("v1.0.0")
	var entries [][]byte
	for i := range 2000 {
		e := &log.Entry{Type: log.State, ID: "acme/other", Version: fmt.Sprintf("v1.0.%d", i), State: wire.StateYanked, Time: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)}
		b, err := e.Render()
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, b)
	}
	if _, err := s.w.Append(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
	h := s.host()
	if _, err := h.Index(t.Context(), s.id()); err != nil {
		t.Fatal(err)
	}
	if n := len(h.heads.Newest); n != firstBehind {
		t.Errorf("%d entries were read", n)
	}
	bundles := 0
	for _, p := range s.asked {
		if strings.Contains(p, "tile/entries/") {
			bundles++
		}
	}
	if bundles == 0 || bundles > 3 {
		t.Errorf("%d bundles of entries were read", bundles)
	}
}

// The newest versions are remembered, up to limits of number and bytes, and those alone that
// an index could have.
func TestHeadsTrim(t *testing.T) {
	t.Parallel()
	x := &heads{Newest: map[string]int64{}, Revocations: map[int64]string{}}
	for n := range int64(maxHeads + 10) {
		x.Newest[fmt.Sprint(n)], x.Revocations[n] = n, ""
	}
	x.trim()
	if _, old := x.Newest[fmt.Sprint(9)]; len(x.Newest) != maxHeads || old {
		t.Errorf("%d are kept, the old one: %v", len(x.Newest), old)
	}
	if _, old := x.Revocations[9]; len(x.Revocations) != maxHeads || old {
		t.Errorf("%d revocations are kept, the old one: %v", len(x.Revocations), old)
	}
	x = &heads{Newest: map[string]int64{}}
	for n := range int64(5) {
		x.Newest[strings.Repeat("x", maxHeadsKeys/4)+fmt.Sprint(n)] = n
	}
	if x.trim(); len(x.Newest) != 3 || slices.Min(slices.Collect(maps.Values(x.Newest))) != 2 {
		t.Errorf("%d long versions are kept", len(x.Newest))
	}
	x = &heads{Newest: map[string]int64{}}
	for n, e := range []log.Entry{{ID: "acme/tools", Version: "v1.0.0"}, {ID: "acme/tools", Version: "1"}, {ID: "tools", Version: "v1.0.0"}} {
		x.add(int64(n), &e)
	}
	if _, ok := x.Newest["acme/tools v1.0.0"]; !ok || len(x.Newest) != 1 {
		t.Errorf("%v are remembered", x.Newest)
	}
}

// What this account recorded about a log must be readable: a damaged file is not the first
// contact.
func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.release("v1.0.0")
	s.put(wire.RevocationsPath, (&wire.Revocations{V: 1}).Render())
	read := func() error {
		h := s.host()
		_, err := h.Index(t.Context(), s.id())
		if err == nil {
			_, err = h.Revocations(t.Context())
		}
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	dir := s.host().dir
	for name, content := range map[string][]byte{headsName: []byte("{}"), revokedName: []byte("x")} {
		for _, b := range [][]byte{content, make([]byte, wire.MaxRevocations+1)} {
			if err := dir.Write(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := read(); diag.CodeOf(err) != diag.FileSystemError || !strings.Contains(err.Error(), dir.Path(name)) {
				t.Errorf("%s of %d bytes: %v", name, len(b), err)
			}
		}
		if err := dir.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		if err := read(); err != nil {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// Addresses that only a project names are public ones: its files must not make rye read
// hosts of the user's network.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, p := range []Pin{
		{Host: s.url[len("http://"):], Key: s.key},
		{Host: siteHost, Key: s.key, Addresses: []string{s.url}},
		{Host: siteHost, Key: s.key, Addresses: []string{"https://169.254.169.254"}},
		{Host: siteHost, Key: s.key, Addresses: []string{"https://10.0.0.1"}},
	} {
		c := New(Params{State: t.TempDir(), Pin: func(string) (*Pin, error) { return &p, nil }})
		h, err := c.Bare(p.Host)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Discover(t.Context()); diag.CodeOf(err) != diag.PolicyDenied {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if len(s.asked) > 0 {
		t.Errorf("it was asked for %v", s.asked)
	}
	// The registry cannot lead there either.
	s.redirect = "http://169.254.169.254/latest"
	h, err := clientOf(s.state, s.key, s.url).Bare(siteHost)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Discover(t.Context()); diag.CodeOf(err) != diag.SourceMoved {
		t.Errorf("a redirect: %v", err)
	}
}

// A pin that demands more is not satisfied by what satisfied one that demanded less.
func TestStricterPin(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.release("v1.0.0")
	s.host() // the checkpoint without witnesses is kept
	witness := log.WitnessKey("w1.example", ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey))
	open := func(change func(*Pin)) error {
		p := &Pin{Host: siteHost, Key: s.key, Addresses: []string{s.url}, Private: true}
		change(p)
		_, err := New(Params{State: s.state, Pin: func(string) (*Pin, error) { return p, nil }}).Host(t.Context(), siteHost)
		return err
	}
	if err := open(func(p *Pin) { p.Witnesses, p.Quorum = []string{witness}, 1 }); diag.CodeOf(err) != diag.LogProof || diag.Typed(err).Reason != "quorum" {
		t.Errorf("with a quorum: %v", err)
	}
	_, _, keys := newLog(t)
	other := keys[len(keys)-len(s.key):]
	if err := open(func(p *Pin) { p.Key = other }); diag.CodeOf(err) != diag.KeyUnknown {
		t.Errorf("with another key: %v", err)
	}
	if err := open(func(*Pin) {}); err != nil {
		t.Errorf("with the first pin: %v", err)
	}
}

// What a refused request answers is an error with a code of the registry; other codes and
// control characters are not taken over.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   diag.Code
		retry  bool
	}{
		{403, `{"error":{"code":"AUTH_FAILED","message":"no\u001b[2J"}}`, diag.AuthFailed, false},
		{429, `{"error":{"code":"LIMIT_EXCEEDED","message":"slow","retryable":true,"details":{"retry_after_ms":5}}}`, diag.LimitExceeded, true},
		{422, `{"error":{"code":"KEY_UNKNOWN","message":"trust me"}}`, diag.RegistryError, false},
		{422, `{"error":{"code":"INTERNAL","message":"x"}}`, diag.RegistryError, false},
		{503, `<html>`, diag.RegistryError, true},
		{404, ``, diag.RegistryError, false},
	} {
		err := failure("https://rye.example/api", responseOf(c.status, c.body))
		e := diag.Typed(err)
		if e.Code != c.want || e.Retryable != c.retry || e.Error() != printable(e.Error()) {
			t.Errorf("%d %s: %s %q, retryable %v", c.status, c.body, e.Code, e, e.Retryable)
		}
	}
}

func responseOf(status int, body string) *httpx.Response {
	return &httpx.Response{Status: status, Header: http.Header{}, Body: []byte(body)}
}
