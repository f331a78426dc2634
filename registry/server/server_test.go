package server

import (
	"bytes"
	"context"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpserve"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

const testHost = "rye.example:7480"

// fixture is a registry with a clock of the test, behind HTTP.
type fixture struct {
	t    testing.TB
	dir  string
	now  time.Time
	s    *Server
	http *httptest.Server
	txt  map[string][]string
	web  map[string]string
	// judge replaces the judgement of bundles.
	judge     rules.Judge
	witnesses []Witness
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), txt: map[string][]string{}, web: map[string]string{}}
	if err := Create(f.params()); err != nil {
		t.Fatal(err)
	}
	f.write(configFile, `{"limits": {"publish_per_hour": 100000, "publish_per_day": 100000, "writes_per_hour": 1000000, "namespaces_per_day": 1000}}`)
	f.open()
	t.Cleanup(f.close)
	return f
}

func (f *fixture) params() Params {
	return Params{Dir: f.dir, Host: testHost, Witnesses: f.witnesses, Now: func() time.Time { return f.now }, Note: func(s string) { f.t.Log(s) },
		Judge: func(ctx context.Context, s rules.Submission) (*rules.Content, []diag.Finding, error) {
			if f.judge != nil {
				return f.judge(ctx, s)
			}
			return acceptAll(ctx, s)
		},
		Lookup: func(_ context.Context, name string) ([]string, error) {
			if !strings.HasSuffix(name, ".") { // a resolver may try it below another domain
				return nil, fmt.Errorf("%s is not an absolute name", name)
			}
			return f.txt[strings.TrimSuffix(name, ".")], nil
		},
		Fetch: func(_ context.Context, url string, _ int64) ([]byte, error) {
			text, ok := f.web[url]
			if !ok {
				return nil, fmt.Errorf("no answer from %s", url)
			}
			return []byte(text), nil
		}}
}

// acceptAll is a judge that accepts every bundle as signed by the first key of its
// namespace.
func acceptAll(_ context.Context, s rules.Submission) (*rules.Content, []diag.Finding, error) {
	c := &rules.Content{Manifest: item.DigestOf([]byte(s.ID.String() + s.Version)).String(), Items: []string{"tool:demo/x"},
		Found: wire.Found{Description: "prints <b>hello</b> & more", Kinds: []string{"tool"}, Items: []wire.FoundItem{}, Caps: []string{}, Hosts: []string{}}}
	c.Signers = []string{wire.KeyText(sign.FingerprintOf(testkit.Key(1).Public()))}
	return c, nil, nil
}

func (f *fixture) open() {
	f.t.Helper()
	s, err := Open(context.Background(), f.params())
	if err != nil {
		f.t.Fatal(err)
	}
	s.askTime = time.Minute // a busy machine answers late
	f.s, f.http = s, httptest.NewUnstartedServer(nil)
	f.http.Config = httpserve.Server(s.Handler(), limits())
	f.http.Start()
}

func (f *fixture) close() {
	if f.s != nil {
		f.http.Close()
		if err := f.s.Close(); err != nil {
			f.t.Error(err)
		}
		f.s = nil
	}
}

func (f *fixture) reopen() { f.t.Helper(); f.close(); f.open() }

func (f *fixture) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// document returns the document of a test key.
func (f *fixture) document(n byte, change func(*doc.KeyParams)) []byte {
	f.t.Helper()
	p := doc.KeyParams{Owner: fmt.Sprintf("key %d", n), NotBefore: f.now.AddDate(0, -1, 0), NotAfter: f.now.AddDate(1, 0, 0), Scope: testkit.Everything(), Now: f.now}
	if change != nil {
		change(&p)
	}
	_, b, err := doc.NewKey(context.Background(), p, testkit.Key(n))
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

func keyText(n byte) string { return wire.KeyText(sign.FingerprintOf(testkit.Key(n).Public())) }

func (f *fixture) grant(ns string, n byte) {
	f.t.Helper()
	if _, err := f.s.grant(context.Background(), ns, f.document(n, nil)); err != nil {
		f.t.Fatal(err)
	}
}

// archive returns an archive whose content depends on a text, and the hash of its tree.
func archive(t testing.TB, text string) (b []byte, sum string) {
	t.Helper()
	b, err := wire.Pack([]wire.File{{Path: "rye.yaml", Data: []byte("rye: 1\n")}, {Path: ".ai/knowledge/demo/x.md", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := wire.Unpack(context.Background(), bytes.NewReader(b), func(wire.File) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if sum, err = treehash.Of(list); err != nil {
		t.Fatal(err)
	}
	return b, sum
}

// statement returns a statement about the body.
func statement(action, id, version string, body []byte, sum string) *wire.Statement {
	s := &wire.Statement{Registry: testHost, Action: action, ID: id, Version: version, Sum: sum}
	if body != nil {
		s.Body = item.DigestOf(body).String()
	}
	return s
}

// send signs a statement by a test key and sends it.
func (f *fixture) send(s *wire.Statement, body []byte, key byte) (*wire.Receipt, error) {
	f.t.Helper()
	header, err := s.Sign(context.Background(), testkit.Key(key), f.now)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.post(wire.Endpoint(s.Action), header, body)
}

func (f *fixture) post(endpoint, header string, body []byte) (*wire.Receipt, error) {
	r, err := http.NewRequest("POST", f.http.URL+wire.APIPath+endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set(wire.StatementHeader, header)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		return nil, err
	}
	if a.StatusCode != http.StatusOK {
		if e, ok := wire.ParseFailure(b); ok {
			return nil, e
		}
		return nil, fmt.Errorf("%s: %s", a.Status, b)
	}
	return wire.ParseReceipt(b)
}

// publish publishes a bundle of one text.
func (f *fixture) publish(id, version, text string, key byte) (*wire.Receipt, error) {
	f.t.Helper()
	b, sum := archive(f.t, text)
	return f.send(statement(wire.ActionPublish, id, version, b, sum), b, key)
}

func (f *fixture) mustPublish(id, version string) *wire.Receipt {
	f.t.Helper()
	r, err := f.publish(id, version, id+version, 1)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// get reads a path and its header.
func (f *fixture) get(p string, header ...string) (int, []byte, http.Header) {
	f.t.Helper()
	r, err := http.NewRequest("GET", f.http.URL+p, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return a.StatusCode, b, a.Header
}

// check verifies, as a client does, the whole log, and that the index is that of the log.
func (f *fixture) check() (entries int64) {
	f.t.Helper()
	_, note, _ := f.get("/log/checkpoint")
	c, err := log.Verifier{Origin: testHost + "/log", Key: f.s.Key()}.Verify(note)
	if err != nil {
		f.t.Fatal(err)
	}
	src := func(_ context.Context, p string, _ int64) ([]byte, error) {
		status, b, _ := f.get("/log/" + p)
		if status != 200 {
			return nil, os.ErrNotExist
		}
		return b, nil
	}
	m := rules.NewState(time.Hour)
	err = log.NewReader(src, c.Tree).Check(context.Background(), func(i int64, b []byte) error {
		e, err := log.ParseEntry(b)
		if err == nil {
			m.Apply(e, i, nil)
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	for id, b := range m.Bundles {
		_, text, _ := f.get(wire.IndexPath + b.ID.IndexPath())
		lines, err := wire.ParseIndex(text, b.ID)
		if err != nil || len(lines) != len(b.Versions) {
			f.t.Fatalf("%s: %d lines instead of %d: %v", id, len(lines), len(b.Versions), err)
		}
		for i, l := range lines {
			if !fits(l, b.Versions[i]) || l.State != b.Versions[i].State {
				f.t.Errorf("the line of %s %s is not that of its entry", id, l.Version)
			}
			if status, body, _ := f.get(archiveFile(l.Archive)); l.State != wire.StateDeleted && (status != 200 || item.DigestOf(body).String() != l.Archive) {
				f.t.Errorf("the archive of %s %s: status %d", id, l.Version, status)
			}
		}
	}
	return c.Tree.Size
}

func TestPublish(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	r := f.mustPublish("acme/tools", "v1.0.0")
	c, err := log.Verifier{Origin: testHost + "/log", Key: f.s.Key()}.Verify([]byte(r.Checkpoint))
	if err != nil {
		t.Fatal(err)
	}
	p, err := log.ParseProof(r.Proof)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.CheckInclusion(p, c.Tree, r.Index, log.LeafHash([]byte(r.Entry))); err != nil || r.Index != 1 || r.Line.Log != 1 {
		t.Fatal(r.Index, err)
	}
	f.mustPublish("acme/tools", "v1.1.0")
	f.mustPublish("acme/other", "v0.1.0")
	if n := f.check(); n != 4 {
		t.Errorf("%d entries", n)
	}
	_, names, _ := f.get("/index/acme/index.json")
	if string(names) != `{"v":1,"names":["other","tools"]}`+"\n" {
		t.Errorf("%s", names)
	}
	before := f.files()
	f.reopen()
	for p, b := range before {
		if now := f.files()[p]; now != b && !strings.HasPrefix(p, "/search/") {
			t.Errorf("%s changed when the registry was opened again", p)
		}
	}
	f.mustPublish("acme/tools", "v1.2.0")
	f.check()
}

// files returns all static files.
func (f *fixture) files() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	err := walkTree(filepath.Join(f.dir, publicDir), func(p string) error {
		b, err := f.s.readPublic(p, wire.MaxArchive)
		out[p] = string(b)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// TestReplay removes what a crash may leave out, and opens the registry again.
func TestReplay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	f.mustPublish("acme/tools", "v1.0.0")
	f.mustPublish("acme/tools", "v1.1.0")
	if _, err := f.send(statement(wire.ActionYank, "acme/tools", "v1.0.0", nil, ""), nil, 1); err != nil {
		t.Fatal(err)
	}
	want := f.files()
	for _, lost := range []string{"public/index", "public/ns", "public/search", "found", "public/revocations.json", "public/.well-known", databaseFile} {
		f.close()
		if err := os.RemoveAll(filepath.Join(f.dir, lost)); err != nil {
			t.Fatal(err)
		}
		f.open()
		for p, b := range want {
			if got := f.files()[p]; got != b && !strings.HasPrefix(p, "/search/") {
				t.Errorf("without %s: %s is\n%s\nwant\n%s", lost, p, got, b)
			}
		}
		f.check()
	}
}

// TestRefusals sends requests that must change nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	f.grant("other", 2)
	f.mustPublish("acme/tools", "v1.0.0")
	b, sum := archive(t, "text")
	good := func() *wire.Statement { return statement(wire.ActionPublish, "acme/tools", "v1.1.0", b, sum) }
	size := f.s.Size()
	for name, x := range map[string]struct {
		change func(*wire.Statement)
		body   []byte
		key    byte
		code   diag.Code
	}{
		"key of another namespace": {nil, b, 2, diag.AuthFailed},
		"unknown key":              {nil, b, 3, diag.AuthFailed},
		"unbound namespace":        {func(s *wire.Statement) { s.ID = "unbound.example/x" }, b, 1, diag.AuthFailed},
		"old":                      {func(s *wire.Statement) { s.Time = f.now.Add(-6 * time.Minute) }, b, 1, diag.AuthFailed},
		"future":                   {func(s *wire.Statement) { s.Time = f.now.Add(6 * time.Minute) }, b, 1, diag.AuthFailed},
		"other host":               {func(s *wire.Statement) { s.Registry = "rye.other.example" }, b, 1, diag.AuthFailed},
		"other body":               {nil, append(bytes.Clone(b), 0), 1, diag.ValidationFailed},
		"other sum":                {func(s *wire.Statement) { s.Sum = "h1:" + strings.Repeat("A", 43) + "=" }, b, 1, diag.ValidationFailed},
		"not an archive":           {func(s *wire.Statement) { s.Body = item.DigestOf([]byte("x")).String() }, []byte("x"), 1, diag.ValidationFailed},
		"used version":             {func(s *wire.Statement) { s.Version = "v1.0.0" }, b, 1, diag.ValidationFailed},
	} {
		s := good()
		if x.change != nil {
			x.change(s)
		}
		if _, err := f.send(s, x.body, x.key); diag.CodeOf(err) != x.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	header, err := good().Sign(context.Background(), testkit.Key(1), f.now)
	if err != nil {
		t.Fatal(err)
	}
	for _, endpoint := range []string{"/state", "/binding", "/keys", "/revocation"} {
		if _, err := f.post(endpoint, header, b); diag.CodeOf(err) != diag.AuthFailed {
			t.Errorf("a statement to publish was used for %s: %v", endpoint, err)
		}
	}
	if f.s.Size() != size {
		t.Fatalf("%d entries were added", f.s.Size()-size)
	}
	if _, err := f.post("/publish", header, b); err != nil {
		t.Fatal(err)
	}
	if _, err := f.post("/publish", header, b); diag.CodeOf(err) != diag.AuthFailed {
		t.Errorf("a replayed statement: %v", err)
	}
	sent, err := wire.ParseHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	yank := statement(wire.ActionYank, "acme/tools", "v1.0.0", nil, "")
	yank.Nonce = sent.Nonce
	if _, err := f.send(yank, nil, 1); diag.CodeOf(err) != diag.AuthFailed || !strings.Contains(err.Error(), "nonce was used before") {
		t.Errorf("another statement with the nonce: %v", err)
	}
	f.check()
}

func TestStates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	r := f.mustPublish("acme/tools", "v1.0.0")
	f.mustPublish("acme/tools", "v1.1.0")
	for _, x := range []struct {
		action string
		state  string // "": it is refused
	}{
		{wire.ActionUnyank, ""}, {wire.ActionYank, wire.StateYanked}, {wire.ActionYank, ""}, {wire.ActionUnlist, ""}, {wire.ActionUnyank, wire.StateOK},
		{wire.ActionUnlist, wire.StateUnlisted}, {wire.ActionRelist, wire.StateOK}, {wire.ActionDelete, wire.StateDeleted}, {wire.ActionDelete, ""}, {wire.ActionRelist, ""}, {wire.ActionUnyank, ""},
	} {
		s := statement(x.action, "acme/tools", "v1.0.0", nil, "")
		s.Reason = "because"
		got, err := f.send(s, nil, 1)
		if (err == nil) != (x.state != "") || err == nil && (got.Line.State != x.state || got.Line.Reason != "because" || *got.Line.StateLog != got.Index) {
			t.Errorf("%s: %+v %v", x.action, got, err)
		}
	}
	if status, b, _ := f.get(archiveFile(r.Line.Archive)); status != http.StatusGone || !strings.Contains(string(b), "tombstone") {
		t.Errorf("the archive of the deleted version: %d %s", status, b)
	}
	if _, err := f.publish("acme/tools", "v1.0.0", "other", 1); diag.CodeOf(err) != diag.ValidationFailed {
		t.Errorf("a deleted version was published again: %v", err)
	}
	f.now = f.now.Add(deleteWithin + time.Minute)
	if _, err := f.send(statement(wire.ActionDelete, "acme/tools", "v1.1.0", nil, ""), nil, 1); err == nil {
		t.Error("a version was deleted after 72 hours by its publisher")
	}
	id, _ := wire.ParseID("acme/tools")
	if _, err := f.s.deleteByOperator(context.Background(), id, "v1.1.0", "a court order"); err != nil {
		t.Error(err)
	}
	f.check()
	f.reopen()
	f.check()
}

// TestDeleteWhilePublishing deletes a version while another one with the same archive is
// stored and not yet in the log.
func TestDeleteWhilePublishing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	r, err := f.publish("acme/tools", "v1.0.0", "same", 1)
	if err != nil {
		t.Fatal(err)
	}
	file := f.s.base.Path(publicDir + archiveFile(r.Line.Archive))
	release := f.s.hold(r.Line.Archive) // as publish does before it stores the archive
	if _, err := f.send(statement(wire.ActionDelete, "acme/tools", "v1.0.0", nil, ""), nil, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the archive of a publication in progress: %v", err)
	}
	release()
	if _, err := os.Stat(file); err == nil {
		t.Error("the archive stayed after the publication had ended without a version")
	}
}

// TestOneWins publishes one version many times at once: 1,000 times with RYE_LONG.
func TestOneWins(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	n := 50
	if os.Getenv("RYE_LONG") != "" {
		n = 1000
	}
	var mu sync.Mutex
	won := 0
	var wg sync.WaitGroup
	gate := make(chan struct{}, 64)
	for i := range n {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			_, err := f.publish("acme/tools", "v1.0.0", fmt.Sprint(i), 1)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if diag.CodeOf(err) != diag.ValidationFailed {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if size := f.check(); won != 1 || size != 2 {
		t.Errorf("%d publications succeeded, the log has %d entries", won, size)
	}
}
