package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

func TestCacheHeaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	r := f.mustPublish("acme/tools", "v1.0.0")
	for p, cache := range map[string]string{
		wire.DiscoveryPath: cacheHosts, "/index/acme/tools.jsonl": cacheIndex, "/index/acme/index.json": cacheIndex, archiveFile(r.Line.Archive): cacheForever,
		"/log/checkpoint": cacheNewest, "/log/tile/0/000.p/2": cacheNewest, "/log/tile/entries/000.p/2": cacheNewest, "/search/manifest.json": cacheShort, "/ns/acme.json": cacheShort, "/revocations.json": cacheShort,
	} {
		status, _, h := f.get(p)
		if status != 200 || h.Get("Cache-Control") != cache || h.Get("Etag") == "" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", p, status, h)
		}
		if status, body, _ := f.get(p, "If-None-Match", h.Get("Etag")); status != http.StatusNotModified || len(body) != 0 {
			t.Errorf("%s again: %d", p, status)
		}
	}
	_, _, h := f.get("/index/acme/tools.jsonl")
	f.mustPublish("acme/tools", "v1.1.0")
	if status, body, _ := f.get("/index/acme/tools.jsonl", "If-None-Match", h.Get("Etag")); status != 200 || bytes.Count(body, []byte("\n")) != 2 {
		t.Errorf("a changed index: %d %s", status, body)
	}
	for _, p := range []string{"/keys/log", "/registry.db", "/../keys/log", "/index/../../keys/log", "/log/tile/../../../keys/log", "/index/acme", "/archive/sha256/", "/host", "/log/tile/..%5C..%5C..%5Ckeys%5Clog", "/index/..%5C..%5Ckeys%5Clog.jsonl", "/index/acme/none.jsonl", "/%2e%2e/keys/log"} {
		if status, body, _ := f.get(p); status == 200 || bytes.Contains(body, []byte("PRIVATE")) {
			t.Errorf("%s: %d %s", p, status, body)
		}
	}
}

// TestStaticPaths asks for paths that lead out of public/ on some systems. The files exist
// under these names here, so that only the check of the path refuses them. No ServeMux
// cleans the path before.
func TestStaticPaths(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for p, want := range map[string]int{
		`/log/tile/plain`: 200, `/log/tile/..\..\keys\log`: 404, `/log/tile/a:b`: 404, "/log/tile/a\x00b": 404, "/log/tile/../../../keys/log": 404,
		`/index/..\..\keys\log.jsonl`: 404, "/log/tile//plain": 404,
	} {
		if file := f.s.base.Path(publicDir + p); !strings.Contains(p, "../") && os.MkdirAll(filepath.Dir(file), 0o755) == nil {
			_ = os.WriteFile(file, []byte("PRIVATE"), 0o600) // a system may not permit the name
		}
		w := httptest.NewRecorder()
		f.s.static(w, &http.Request{Method: "GET", URL: &url.URL{Path: p}})
		if w.Code != want {
			t.Errorf("%s: %d %s", p, w.Code, w.Body)
		}
	}
}

// TestPages shows a bundle whose texts are markup.
func TestPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	const evil = "<script>alert(1)</script> <img src=x onerror=alert(1)> \u202egnp"
	f.judge = func(ctx context.Context, s rules.Submission) (*rules.Content, []diag.Finding, error) {
		c, found, err := acceptAll(ctx, s)
		c.Found.Description = evil
		c.Caps = []string{"net:\"><script>"}
		return c, found, err
	}
	if _, err := f.publish("acme/tools", "v1.0.0", "# Guide\n[home](https://a.example) [no](javascript:x)\n"+evil, 1); err != nil {
		t.Fatal(err)
	}
	s := statement(wire.ActionYank, "acme/tools", "v1.0.0", nil, "")
	s.Reason = "</p><script>"
	if _, err := f.send(s, nil, 1); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]string{
		"/": "acme/tools", "/b/acme/tools": "rye add registry:" + testHost + "/acme/tools@v1.0.0", "/b/acme/tools/v1.0.0": `<h4>Guide</h4>` + "\n" + `<p><a href="https://a.example" rel="nofollow noopener noreferrer">home</a> (a.example) no`, "/find?q=tools": "1 bundle matches", "/find?q=alert": "acme/tools",
		"/find?q=zebra": "0 bundles match", "/find?q=<script>alert(2)</script>": "1 bundle matches", "/find?q=a+(": "the query ends where a word is expected", "/find": "one or more words", "/log/entry/1": "rye.dev/log/v1", "/ns/acme": keyText(1),
	} {
		status, body, h := f.get(strings.ReplaceAll(p, "<", "%3C"))
		if status != 200 || !strings.Contains(strings.ToLower(string(body)), strings.ToLower(want)) {
			t.Errorf("%s: %d\n%s", p, status, body)
		}
		if h.Get("Content-Security-Policy") != policyHeader || !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %v", p, h)
		}
		for _, bad := range []string{"<script", "<img", "\u202e", "javascript:", "style="} {
			if strings.Contains(string(body), bad) {
				t.Errorf("%s contains %q:\n%s", p, bad, body)
			}
		}
	}
	for _, p := range []string{"/b/acme/none", "/b/acme/tools/v9.9.9", "/log/entry/99", "/log/entry/-1", "/log/entry/x", "/ns/none", "/none"} {
		status, body, h := f.get(p, "Accept", "text/html")
		if status != http.StatusNotFound || !strings.HasPrefix(h.Get("Content-Type"), "text/html") || !strings.Contains(string(body), "<h1>Not found</h1>") {
			t.Errorf("%s: %d %v\n%s", p, status, h, body)
		}
	}
	// A program reads JSON, and a cache keeps both forms apart.
	for _, accept := range []string{"", "*/*", "application/json"} {
		status, body, h := f.get("/none", "Accept", accept)
		if status != http.StatusNotFound || h.Get("Content-Type") != "application/json" || h.Get("Vary") != "Accept" || !json.Valid(body) {
			t.Errorf("Accept %q: %d %v\n%s", accept, status, h, body)
		}
	}
}

// TestNarrowTables: a table of more than two columns is a list on a phone, so each of its cells
// has the text of its column.
func TestNarrowTables(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("page.html")
	if err != nil {
		t.Fatal(err)
	}
	label := regexp.MustCompile(`<td( data-label="([^"]*)")?>`)
	tables := 0
	for table := range strings.SplitSeq(string(b), "<table") {
		table, _, _ = strings.Cut(table, "</table>")
		head, rows, _ := strings.Cut(table, "</tr>")
		columns := strings.Split(strings.TrimSuffix(head, "</th>"), "</th>")
		if len(columns) < 3 || !strings.Contains(head, "<th>") {
			continue
		}
		tables++
		cells := label.FindAllStringSubmatch(rows, -1)
		if !strings.HasPrefix(head, ` class="wide"`) || len(cells) != len(columns) {
			t.Errorf("%d cells of %d columns: %s", len(cells), len(columns), head)
			continue
		}
		for i, cell := range cells {
			if _, name, _ := strings.Cut(columns[i], "<th>"); cell[2] != name {
				t.Errorf("a cell of the column %q has the label %q", name, cell[2])
			}
		}
	}
	if tables != 3 {
		t.Errorf("%d tables, want 3", tables)
	}
}

// TestPageMemory shows the page of a bundle with much data that is not shown. Few archives
// are unpacked at one time, and the texts that were shown are kept.
func TestPageMemory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	files := []wire.File{{Path: ".ai/knowledge/demo/x.md", Data: []byte("the text")}}
	for i := range 2 {
		files = append(files, wire.File{Path: fmt.Sprintf(".ai/knowledge/demo/%02d.bin", i), Data: make([]byte, 1<<20)})
	}
	b, err := wire.Pack(files)
	if err != nil {
		t.Fatal(err)
	}
	_, sum, err := rules.Unpack(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.send(statement(wire.ActionPublish, "acme/tools", "v1.0.0", b, sum), b, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.s.readTexts(t.Context(), r.Line.Archive)
	if err != nil || len(got.shown) != 1 || got.shown[0].Text != "the text" {
		t.Errorf("%v %v", got, err)
	}
	f.s.slotTime = 10 * time.Millisecond
	for range maxPages {
		f.s.pages <- struct{}{}
	}
	if status, _, _ := f.get("/b/acme/tools"); status != http.StatusServiceUnavailable {
		t.Errorf("a page while %d others are read: %d", maxPages, status)
	}
	for range maxPages {
		<-f.s.pages
	}
	if status, body, _ := f.get("/b/acme/tools"); status != 200 || !bytes.Contains(body, []byte("the text")) {
		t.Errorf("%d %s", status, body)
	}
	for range maxPages {
		f.s.pages <- struct{}{}
	}
	if status, body, _ := f.get("/b/acme/tools"); status != 200 || !bytes.Contains(body, []byte("the text")) {
		t.Errorf("a page that was shown before: %d", status)
	}
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(configFile, `{"limits": {"publish_per_hour": 2, "writes_per_hour": 5}}`)
	f.reopen()
	f.grant("acme", 1)
	f.mustPublish("acme/tools", "v1.0.0")
	f.mustPublish("acme/tools", "v1.1.0")
	_, err := f.publish("acme/tools", "v1.2.0", "x", 1)
	e := diag.Typed(err)
	if e.Code != diag.LimitExceeded || !e.Retryable || e.Details["retry_after_ms"] != int64(time.Hour/time.Millisecond) {
		t.Errorf("%v %v", err, e.Details)
	}
	f.reopen() // the counters are not lost
	if _, err := f.publish("acme/tools", "v1.2.0", "x", 1); diag.CodeOf(err) != diag.LimitExceeded {
		t.Error(err)
	}
	f.now = f.now.Add(time.Hour)
	f.mustPublish("acme/tools", "v1.2.0")
	for range 10 {
		_, err = f.publish("acme/tools", "v1.2.0", "x", 1)
	}
	if diag.CodeOf(err) != diag.LimitExceeded || !strings.Contains(err.Error(), "by this key") {
		t.Error(err)
	}
	f.check()
}

// TestStrangersUseNoQuota sends empty requests and statements of strangers until their
// address has no quota: a key of a namespace is not affected.
func TestStrangersUseNoQuota(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(configFile, `{"limits": {"writes_per_hour": 4}}`)
	f.reopen()
	f.grant("acme", 1)
	for range 3 {
		if _, err := f.post("/publish", "", nil); diag.CodeOf(err) != diag.AuthFailed {
			t.Fatal(err)
		}
	}
	if _, err := f.publish("acme/tools", "v1.0.0", "x", 2); diag.CodeOf(err) != diag.AuthFailed {
		t.Fatal(err)
	}
	for _, by := range []byte{2, 3} {
		if _, err := f.publish("acme/tools", "v1.0.0", "x", by); diag.CodeOf(err) != diag.LimitExceeded || !strings.Contains(err.Error(), "from this address") {
			t.Errorf("a stranger: %v", err)
		}
	}
	f.mustPublish("acme/tools", "v1.0.0")
	for _, action := range []string{wire.ActionYank, wire.ActionUnyank, wire.ActionYank} {
		if _, err := f.send(statement(action, "acme/tools", "v1.0.0", nil, ""), nil, 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.send(statement(wire.ActionUnyank, "acme/tools", "v1.0.0", nil, ""), nil, 1); diag.CodeOf(err) != diag.LimitExceeded {
		t.Errorf("the fifth request of a key: %v", err)
	}
}

// TestStrangersSendNoBody shows that the body of a stranger is not received, and that a
// body that arrives slowly ends.
func TestStrangersSendNoBody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	b, sum := archive(t, "text")
	begin := func(action string, key byte) net.Conn {
		s := statement(action, "acme/tools", "v1.0.0", b, sum)
		if action != wire.ActionPublish {
			s = statement(action, "acme", "", b, "")
		}
		header, err := s.Sign(context.Background(), testkit.Key(key), f.now)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", f.http.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(c, "POST /api/v1%s HTTP/1.1\r\nHost: x\r\n%s: %s\r\nContent-Length: 200000\r\n\r\n", wire.Endpoint(action), wire.StatementHeader, header)
		return c
	}
	answer := func(c net.Conn) string {
		b := make([]byte, 12)
		_, _ = io.ReadFull(c, b)
		return string(b)
	}
	for _, action := range []string{wire.ActionPublish, wire.ActionKeyAdd, wire.ActionKeyRemove, wire.ActionRevoke} {
		if got := answer(begin(action, 2)); !strings.Contains(got, "403") {
			t.Errorf("%s: a stranger got %q before the body", action, got)
		}
	}
	f.s.total = 20 * time.Millisecond
	for _, action := range []string{wire.ActionPublish, wire.ActionBind} {
		c := begin(action, 1)
		go func() {
			for range 500 {
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
		if got := answer(c); !strings.Contains(got, "408") {
			t.Errorf("%s: a slow body: %q", action, got)
		}
	}
}

// TestSlots shows that a request waits while too many are in progress.
func TestSlots(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	f.s.slotTime = 50 * time.Millisecond
	for name, slots := range map[string]chan struct{}{"bodies": f.s.known, "judgements": f.s.judges} {
		for range cap(slots) {
			slots <- struct{}{}
		}
		if _, err := f.publish("acme/tools", "v1.0.0", "x", 1); diag.CodeOf(err) != diag.RegistryError || !diag.Typed(err).Retryable {
			t.Errorf("%s: %v", name, err)
		}
		for range cap(slots) {
			<-slots
		}
	}
	f.mustPublish("acme/tools", "v1.0.0")
}

// TestBadBodies sends bodies that are too long, that end early, and headers that are too
// long.
func TestBadBodies(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for bodies that do not end")
	}
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	addr := f.http.Listener.Addr().String()
	b, sum := archive(t, "text")
	header, err := statement(wire.ActionPublish, "acme/tools", "v1.0.0", b, sum).Sign(context.Background(), testkit.Key(1), f.now)
	if err != nil {
		t.Fatal(err)
	}
	raw := func(text string, then []byte) string {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(then)
		_ = c.(*net.TCPConn).CloseWrite()
		out, _ := io.ReadAll(c)
		return string(out)
	}
	head := "POST /api/v1/publish HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + wire.StatementHeader + ": " + header + "\r\n"
	if out := raw(head+fmt.Sprintf("Content-Length: %d\r\n\r\n", len(b)), b[:len(b)/2]); strings.Contains(out, "200 OK") {
		t.Errorf("half a body was accepted: %s", out)
	}
	if out := raw(head+"Content-Length: 99999999999\r\n\r\n", nil); !strings.Contains(out, "413") {
		t.Errorf("a body of 100 GB: %s", out)
	}
	if out := raw("GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("a", 64<<10)+"\r\n\r\n", nil); !strings.Contains(out, "431") {
		t.Errorf("a header of 64 KiB: %.100s", out)
	}
	f.s.stall = 50 * time.Millisecond
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\nx", head, len(b))
	if out, _ := io.ReadAll(c); !strings.Contains(string(out), "408") {
		t.Errorf("a body that stops: %s", out)
	}
	f.s.stall = stallTimeout
	if f.s.Size() != 1 {
		t.Error("a request of these was accepted")
	}
	f.mustPublish("acme/tools", "v1.0.0")
}

// TestHundredClients publishes and reads with 100 clients at once, each of them five times
// with RYE_LONG.
func TestHundredClients(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	clients := 100
	if testing.Short() {
		clients = 20
	}
	each := 2
	if os.Getenv("RYE_LONG") != "" {
		each = 5
	}
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("acme/bundle-%d", c)
				if _, err := f.publish(id, fmt.Sprintf("v0.%d.0", i), fmt.Sprint(c, i), 1); err != nil {
					t.Error(err)
					return
				}
				if status, b, _ := f.get("/index/" + id + ".jsonl"); status != 200 || bytes.Count(b, []byte("\n")) != i+1 {
					t.Errorf("%s has not version %d: %d", id, i, status)
				}
			}
		})
	}
	wg.Wait()
	if n := f.check(); n != int64(clients*each)+1 {
		t.Errorf("%d entries", n)
	}
	_, b, _ := f.get("/search/manifest.json")
	m, err := wire.ParseSearchManifest(b)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, g := range m.Segments {
		_, b, _ := f.get("/search" + g.Path())
		list, err := wire.ParseSegment(b, g)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			found[x.ID] = x.Version
		}
	}
	if len(found) != clients || found["acme/bundle-0"] != fmt.Sprintf("v0.%d.0", each-1) {
		t.Errorf("the search has %d bundles", len(found))
	}
}
