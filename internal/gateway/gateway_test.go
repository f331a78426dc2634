package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/gateway/access"
	"github.com/ryeos/rye/internal/gateway/host"
	"github.com/ryeos/rye/internal/gateway/trail"
	"github.com/ryeos/rye/internal/httpserve"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/stdlib"
)

// fixture is a gateway of two projects without threads, but for logs that a test writes.
type fixture struct {
	t     *testing.T
	s     *Server
	http  *httptest.Server
	dirs  []string
	state string
	keys  *access.Store
	notes []string

	mu  sync.Mutex
	now time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, now: time.Now()}
	home := t.TempDir()
	for range 2 {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, ".ai"), 0o700); err != nil {
			t.Fatal(err)
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		f.dirs = append(f.dirs, real)
	}
	getenv := func(name string) string {
		return map[string]string{"HOME": home, "USERPROFILE": home, "AppData": home, "LocalAppData": home}[name]
	}
	e := &project.Env{
		Getenv:  getenv,
		Environ: func() []string { return nil },
		Now:     f.clock,
		Stdlib:  stdlib.FS(),
		Cwd:     f.dirs[0],
		Base:    f.dirs[0],
		Etc:     filepath.Join(home, "etc"),
	}
	f.state = e.UserDirs().State
	f.keys = access.Open(f.state, f.clock)
	l := httptest.NewUnstartedServer(nil)
	var err error
	f.s, err = New(Params{
		Host:  host.New(e, f.dirs),
		Keys:  f.keys,
		Trail: trail.Open(atomicfile.Private(f.state).Below(access.Dir), f.clock),
		Guard: httpserve.Guard{Addr: l.Listener.Addr().String()},
		Now:   f.clock,
		Note:  func(text string) { f.notes = append(f.notes, text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Config = httpserve.Server(f.s.Handler(), Limits())
	l.Start()
	f.http = l
	t.Cleanup(func() {
		l.CloseClientConnections()
		l.Close()
		f.s.Close()
	})
	return f
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(time.Millisecond)
	return f.now
}

// pass moves the clock, so that a limit of a rate permits requests again.
func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// key makes a key with a role, for some projects.
func (f *fixture) key(role access.Role, projects ...string) string {
	f.t.Helper()
	text, _, err := f.keys.Create(f.t.Context(), access.Key{
		Name:     fmt.Sprintf("%s-%d", role, f.clock().UnixNano()),
		Role:     role,
		Projects: projects,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

// log writes the log of a thread, of lines that no process wrote.
func (f *fixture) log(dir, id string, lines ...string) string {
	f.t.Helper()
	d := filepath.Join(dir, ".ai", "threads", id)
	if err := os.MkdirAll(d, 0o700); err != nil {
		f.t.Fatal(err)
	}
	name := filepath.Join(d, "transcript.jsonl")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	for _, line := range lines {
		if _, err := file.WriteString(line + "\n"); err != nil {
			f.t.Fatal(err)
		}
	}
	return name
}

func line(seq int, event, data string) string {
	return fmt.Sprintf(`{"seq":%d,"time":"2026-11-30T00:00:00.000Z","event":%q,"data":%s,"prev":"sha256:%064d"}`, seq, event, data, seq)
}

const (
	idA = "demo-01m8myf26pjx5dk67qten0xj21"
	idB = "other-01m8myf26pjx5dk67qten0xj22"
)

// send sends a request. Headers are pairs of a name and a value; Host sets the name of the server.
func (f *fixture) send(method, path, key, body string, headers ...string) (int, string, http.Header) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.http.URL+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

// routes returns method and path of each route of the API, with names that exist.
func (f *fixture) routes() []string {
	var out []string
	for route := range f.s.roles {
		out = append(out, route)
	}
	slices.Sort(out)
	return out
}

// example returns the path of a route for a thread, and a body that the route accepts.
func example(route string) (method, path, body string) {
	method, path, _ = strings.Cut(route, " ")
	path = strings.ReplaceAll(path, "{id}", idA)
	if method == "POST" {
		body = "{}"
	}
	switch {
	case strings.HasSuffix(path, "/message"):
		body = `{"text":"x"}`
	case strings.HasSuffix(path, "/decision"):
		body = `{"approval_id":"x","decision":"once","digest":"sha256:` + strings.Repeat("0", 64) + `"}`
	case strings.HasSuffix(path, "/threads") && method == "POST":
		body = `{"directive":"team/none"}`
	case strings.HasSuffix(path, "/item"):
		path += "?ref=tool:rye/bash/bash"
	}
	return method, path, body
}

// TestRoles sends each route with each role, and without a key.
func TestRoles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.log(f.dirs[0], idA, line(1, "thread_started", `{}`))
	roles := []access.Role{access.Viewer, access.Operator, access.Admin}
	for _, route := range f.routes() {
		method, path, body := example(route)
		if strings.HasSuffix(path, "/events") || strings.HasSuffix(path, "/ws") {
			path += "?thread=none" // a stream would stay open
		}
		f.pass(time.Minute)
		if status, text, _ := f.send(method, path, "", body); status != 401 || !strings.Contains(text, "AUTH_REQUIRED") {
			t.Errorf("%s without a key: %d %s", route, status, text)
		}
		for _, role := range roles {
			status, text, _ := f.send(method, path, f.key(role), body)
			permitted := role.Includes(f.s.roles[route])
			if permitted == (status == 403) || status == 401 {
				t.Errorf("%s as %s, which needs %s: %d %s", route, role, f.s.roles[route], status, text)
			}
			if !permitted && !strings.Contains(text, "PERMISSION_DENIED") {
				t.Errorf("%s as %s: %s", route, role, text)
			}
		}
	}
}

// TestProjects asks for a thread of a project that the key does not see: it does not exist.
func TestProjects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.log(f.dirs[1], idB, line(1, "thread_started", `{}`))
	mine, all := f.key(access.Admin, f.dirs[0]), f.key(access.Admin)
	for _, route := range f.routes() {
		method, path, body := example(route)
		if !strings.Contains(path, idA) {
			continue
		}
		f.pass(time.Minute)
		path = strings.ReplaceAll(path, idA, idB)
		if status, text, _ := f.send(method, path, mine, body); status != 404 || strings.Contains(text, f.dirs[1]) {
			t.Errorf("%s of another project: %d %s", route, status, text)
		}
	}
	if status, _, _ := f.send("GET", apiPath+"/threads/"+idB+"/log", all, ""); status != 200 {
		t.Errorf("control: a key for all projects: %d", status)
	}
	for _, id := range []string{"..%2F..%2Fx", "..", "%00", "a", strings.Repeat("a", 300), idB + "%2F..", "%2e%2e%2fetc"} {
		status, text, _ := f.send("GET", apiPath+"/threads/"+id+"/log", all, "")
		if status != 404 && status != 400 && status != 301 && status != 307 {
			t.Errorf("the id %q: %d %s", id, status, text)
		}
	}
}

// TestForeignPages sends what pages of other hosts make browsers send, with a session.
func TestForeignPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.log(f.dirs[0], idA, line(1, "thread_started", `{}`))
	session := "rye_session=" + f.s.sessions.begin(access.Local().ID)
	host := f.http.Listener.Addr().String()
	own := "http://" + host
	message := apiPath + "/threads/" + idA + "/cancel"
	for name, c := range map[string]struct {
		method, path, body string
		headers            []string
		want               int
	}{
		"control":            {"GET", apiPath + "/threads", "", []string{"Cookie", session}, 200},
		"rebinding":          {"GET", apiPath + "/threads", "", []string{"Cookie", session, "Host", "evil.example"}, 421},
		"rebinding, port":    {"GET", "/", "", []string{"Host", "evil.example:" + strings.Split(host, ":")[1]}, 421},
		"foreign read":       {"GET", apiPath + "/threads", "", []string{"Cookie", session, "Origin", "https://evil.example"}, 403},
		"foreign post":       {"POST", message, "{}", []string{"Cookie", session, "Origin", "https://evil.example"}, 403},
		"null origin":        {"POST", message, "{}", []string{"Cookie", session, "Origin", "null"}, 403},
		"other port":         {"POST", message, "{}", []string{"Cookie", session, "Origin", "http://127.0.0.1:1"}, 403},
		"without origin":     {"POST", message, "{}", []string{"Cookie", session}, 403},
		"cross-site":         {"POST", message, "{}", []string{"Cookie", session, "Origin", own, "Sec-Fetch-Site", "cross-site"}, 403},
		"text/plain":         {"POST", message, "{}", []string{"Cookie", session, "Origin", own, "Content-Type", "text/plain"}, 415},
		"form":               {"POST", message, "a=b", []string{"Cookie", session, "Origin", own, "Content-Type", "application/x-www-form-urlencoded"}, 415},
		"form without token": {"POST", "/t/" + idA + "/do", "action=cancel", []string{"Cookie", session, "Origin", own, "Content-Type", "application/x-www-form-urlencoded"}, 403},
		"socket elsewhere":   {"GET", apiPath + "/ws", "", []string{"Cookie", session, "Origin", "https://evil.example", "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}, 403},
		"socket, no origin":  {"GET", apiPath + "/ws", "", []string{"Cookie", session, "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}, 403},
	} {
		f.pass(time.Minute)
		status, text, h := f.send(c.method, c.path, "", c.body, c.headers...)
		if status != c.want {
			t.Errorf("%s: %d %s", name, status, text)
		}
		if h.Get("Access-Control-Allow-Origin") != "" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" || h.Get("Content-Security-Policy") != contentPolicy {
			t.Errorf("%s: %v", name, h)
		}
	}
}

// TestKeys uses keys that are wrong, revoked, expired or in a URL.
func TestKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	good := f.key(access.Viewer)
	get := func(key string, headers ...string) int {
		f.pass(time.Minute)
		status, _, _ := f.send("GET", apiPath+"/threads", key, "", headers...)
		return status
	}
	if get(good) != 200 {
		t.Fatal("control: a valid key")
	}
	for _, bad := range []string{"x", good + "x", good[:len(good)-1], strings.ToUpper(good), "rgk_" + strings.Repeat("a", 52)} {
		if status := get(bad); status != 401 {
			t.Errorf("%q: %d", bad, status)
		}
	}
	if status := get("", "Authorization", "Basic "+good); status != 401 {
		t.Errorf("Basic: %d", status)
	}
	status, text, _ := f.send("GET", apiPath+"/threads?key="+good, "", "")
	if status != 400 || strings.Contains(text, good) {
		t.Errorf("a key in a URL: %d %s", status, text)
	}
	if status := get(good); status != 401 {
		t.Errorf("a key that was in a URL: %d", status)
	}
	end := f.clock().Add(time.Hour)
	short, _, err := f.keys.Create(t.Context(), access.Key{Name: "short", Role: access.Viewer, Expires: &end})
	if err != nil || get(short) != 200 {
		t.Fatal("control: a key that has not expired", err)
	}
	f.pass(2 * time.Hour)
	if status := get(short); status != 401 {
		t.Errorf("an expired key: %d", status)
	}
	// Guessing is slow: an address has few tries of a sign-in.
	refused := 0
	for range 10 {
		status, _, _ := f.send("POST", "/login", "", "secret=guess", "Content-Type", "application/x-www-form-urlencoded")
		if status == 429 {
			refused++
		}
	}
	if refused != 5 {
		t.Errorf("%d of 10 sign-ins were refused", refused)
	}
	b, err := os.ReadFile(filepath.Join(f.state, access.Dir, "keys.json"))
	if err != nil || bytes.Contains(b, []byte(good)) || bytes.Contains(b, []byte(good[13:])) {
		t.Error("the file of keys has a secret", err)
	}
}

// TestCodes uses a code twice, late, and from elsewhere.
func TestCodes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	use := func(code string) int {
		f.pass(time.Minute)
		status, _, _ := f.send("POST", "/login", "", "secret="+code, "Content-Type", "application/x-www-form-urlencoded", "Origin", f.http.URL)
		return status
	}
	code, err := f.keys.NewCode()
	if err != nil {
		t.Fatal(err)
	}
	f.pass(-time.Minute)
	if use(code) != 303 {
		t.Error("control: a new code")
	}
	if use(code) != 401 {
		t.Error("a code was used twice")
	}
	if code, err = f.keys.NewCode(); err != nil || use(code) != 401 {
		t.Error("a code of a minute ago was used", err)
	}
	var wait sync.WaitGroup
	won := make(chan bool, 8)
	if code, err = f.keys.NewCode(); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		wait.Go(func() { won <- f.keys.UseCode(code) })
	}
	wait.Wait()
	close(won)
	n := 0
	for ok := range won {
		if ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of 8 requests at once used one code", n)
	}
}

// TestBadBodies sends bodies that readers read in different ways, or that are too large.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.log(f.dirs[0], idA, line(1, "thread_started", `{}`))
	key := f.key(access.Admin)
	digest := `"digest":"sha256:` + strings.Repeat("0", 64) + `"`
	for name, c := range map[string]struct {
		body string
		want int
	}{
		"control":       {`{"approval_id":"x","decision":"deny",` + digest + `}`, 409}, // it is not open
		"twice":         {`{"approval_id":"x","decision":"deny","decision":"once",` + digest + `}`, 400},
		"other case":    {`{"approval_id":"x","decision":"deny","Decision":"once",` + digest + `}`, 400},
		"unknown field": {`{"approval_id":"x","decision":"deny","more":"secret-word",` + digest + `}`, 400},
		"other value":   {`{"approval_id":"x","decision":"secret-word",` + digest + `}`, 400},
		"trailing data": {`{"approval_id":"x","decision":"deny",` + digest + `} {}`, 400},
		"depth":         {strings.Repeat("[", 200_000), 400},
		"2 MiB":         {`{"approval_id":"` + strings.Repeat("x", 2<<20) + `"}`, 413},
		"empty":         {"", 415},
	} {
		f.pass(time.Minute)
		status, text, _ := f.send("POST", apiPath+"/threads/"+idA+"/decision", key, c.body)
		if status != c.want || strings.Contains(text, "secret-word") {
			t.Errorf("%s: %d %.300s", name, status, text)
		}
		if !strings.Contains(text, `"success":false`) {
			t.Errorf("%s is not an envelope: %.300s", name, text)
		}
	}
}

// TestRates sends more requests than a key may.
func TestRates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := f.key(access.Viewer)
	refused := 0
	for range 100 {
		status, _, h := f.send("GET", apiPath+"/openapi.json", key, "")
		if status == 429 && h.Get("Retry-After") != "" {
			refused++
		}
	}
	if refused < 30 || refused > 45 { // the clock of the test hardly moves
		t.Errorf("%d of 100 requests were refused", refused)
	}
	f.pass(10 * time.Second)
	if status, _, _ := f.send("GET", apiPath+"/openapi.json", key, ""); status != 200 {
		t.Errorf("later: %d", status)
	}
}

// TestDescription compares the description of the API with its routes, and each answer with its schema.
func TestDescription(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.log(f.dirs[0], idA, line(1, "thread_started", `{"directive":{"ref":"directive:demo/x"}}`))
	key := f.key(access.Admin)
	_, text, _ := f.send("GET", apiPath+"/openapi.json", key, "")
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct {
					Schema map[string]any `json:"schema"`
				} `json:"content"`
			} `json:"responses"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, methods := range doc.Paths {
		for method := range methods {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	raw := []string{"GET " + apiPath + "/events", "GET " + apiPath + "/openapi.json", "GET " + apiPath + "/ws"}
	described = append(described, raw...)
	slices.Sort(described)
	if !slices.Equal(described, f.routes()) {
		t.Errorf("described: %v\nserved: %v", described, f.routes())
	}
	checked := 0
	for _, route := range f.routes() {
		if slices.Contains(raw, route) {
			continue
		}
		method, path, body := example(route)
		f.pass(time.Minute)
		status, answer, h := f.send(method, path, key, body)
		_, bare, _ := strings.Cut(route, " ")
		responses := doc.Paths[bare][strings.ToLower(method)].Responses
		response, known := responses[fmt.Sprint(status)]
		if !known {
			response, known = responses["default"]
		}
		content, typed := response.Content["application/json"]
		if !known || !typed || !strings.HasPrefix(h.Get("Content-Type"), "application/json") {
			t.Errorf("%s answers %d %s, which is not described: %s", route, status, h.Get("Content-Type"), answer)
			continue
		}
		whole := inline(content.Schema, doc.Components.Schemas, 0).(map[string]any)
		value, found := jsonx.ParseValue([]byte(answer))
		if len(found) > 0 {
			t.Errorf("%s: %v", route, found)
			continue
		}
		compiled, problems := schema.CompileForeign(whole)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", route, problems)
		}
		for _, p := range compiled.Validate(value) {
			t.Errorf("%s %d: %v\n%s", route, status, p, answer)
		}
		checked++
	}
	if checked < 12 {
		t.Errorf("%d answers were compared", checked)
	}
}

// inline replaces references of the description by what they name.
func inline(v any, named map[string]any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && depth < 20 {
			return inline(named[strings.TrimPrefix(ref, "#/components/schemas/")], named, depth+1)
		}
		out := map[string]any{}
		for k, x := range v {
			if k != "examples" && k != "contentEncoding" && k != "format" {
				out[k] = inline(x, named, depth)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = inline(x, named, depth)
		}
		return out
	}
	return v
}

// events reads n events of a stream, and returns the position of the last one.
func (f *fixture) events(key, after string, n int) (seen []string, position string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", f.http.URL+apiPath+"/events?thread="+idA, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	b := make([]byte, 1)
	var text strings.Builder
	for {
		if _, err := res.Body.Read(b); err != nil {
			return seen, position
		}
		text.WriteByte(b[0])
		if !strings.HasSuffix(text.String(), "\n\n") {
			continue
		}
		if m := regexp.MustCompile(`(?s)id: (.*?)\nevent: (.*?)\n`).FindStringSubmatch(text.String()); m != nil {
			position = m[1]
			seen = append(seen, m[1]+" "+m[2])
		}
		text.Reset()
		if len(seen) == n {
			return seen, position
		}
	}
}

// TestEvents continues a stream after it ended: each line arrives once.
func TestEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := f.key(access.Viewer)
	f.log(f.dirs[0], idA, line(1, "thread_started", `{}`), line(2, "turn_started", `{"turn":1}`))
	first, position := f.events(key, "", 2)
	go func() {
		for i := 3; i <= 40; i++ {
			f.log(f.dirs[0], idA, line(i, "token_delta", fmt.Sprintf(`{"kind":"text","text":"%d"}`, i)))
		}
	}()
	var all []string
	all = append(all, first...)
	for _, n := range []int{5, 1, 20, 12} {
		seen, at := f.events(key, position, n)
		all = append(all, seen...)
		position = at
	}
	for i, e := range all {
		if !strings.HasPrefix(e, fmt.Sprintf("%s:%d ", idA, i+1)) {
			t.Fatalf("event %d is %q of %q", i, e, all)
		}
	}
	if len(all) != 40 {
		t.Errorf("%d events", len(all))
	}
	status, _, _ := f.send("GET", apiPath+"/events?thread="+idA, key, "", "Last-Event-ID", "../x:1")
	if status != 400 {
		t.Errorf("a position of no stream: %d", status)
	}
}

// TestRevokedStream revokes the key of a stream that is open.
func TestRevokedStream(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.log(f.dirs[0], idA, line(1, "thread_started", `{}`))
	text, key, err := f.keys.Create(t.Context(), access.Key{Name: "ends", Role: access.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int)
	go func() {
		seen, _ := f.events(text, "", 100)
		done <- len(seen)
	}()
	for range 200 { // the stream is open
		f.s.streams.mu.Lock()
		open := f.s.streams.open[key.ID]
		f.s.streams.mu.Unlock()
		if open == 1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := f.keys.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("the stream of a revoked key is open")
	}
}

// TestSocket sends requests and reads events over a WebSocket.
func TestSocket(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.log(f.dirs[0], idA, line(1, "thread_started", `{}`))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	dial := func(key string) (*websocket.Conn, error) {
		c, _, err := websocket.Dial(ctx, strings.Replace(f.http.URL, "http", "ws", 1)+apiPath+"/ws", &websocket.DialOptions{
			Subprotocols: []string{socketProtocol},
			HTTPHeader:   http.Header{"Authorization": {"Bearer " + key}},
		})
		return c, err
	}
	c, err := dial(f.key(access.Viewer))
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	ask := func(text string) answered {
		t.Helper()
		if err := c.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
		_, b, err := c.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var a answered
		if err := json.Unmarshal(b, &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := ask(`{"id":1,"method":"GET","path":"/api/v1/threads"}`); a.ID != 1 || a.Status != 200 || !strings.Contains(string(a.Body), `"threads"`) {
		t.Errorf("%+v", a)
	}
	if a := ask(`{"id":2,"method":"POST","path":"/api/v1/threads/` + idA + `/cancel","body":{}}`); a.Status != 403 {
		t.Errorf("a viewer cancels: %+v", a)
	}
	for _, path := range []string{"/login", "/api/v1/ws", "/api/v1/events?thread=" + idA, "http://evil.example/api/v1/threads", "/../keys"} {
		if a := ask(`{"id":3,"method":"GET","path":"` + path + `"}`); a.Status != 400 && a.Status != 404 {
			t.Errorf("%s: %+v", path, a)
		}
	}
	if a := ask(`{"id":4,"id":5}`); a.Status != 400 {
		t.Errorf("an id twice: %+v", a)
	}
	a := ask(`{"id":6,"subscribe":"` + idA + `"}`)
	if a.ID != 6 || a.Event == nil || a.Event.Event != "thread_started" || a.Position != idA+":1" {
		t.Errorf("%+v", a)
	}
	if _, err := dial("wrong"); err == nil {
		t.Error("a socket without a key is open")
	}
}

// TestSlowClients opens connections that send little: the others are served.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := f.key(access.Viewer)
	for range 100 {
		c, err := f.http.Client().Transport.(*http.Transport).DialContext(t.Context(), "tcp", f.http.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: "); err != nil {
			t.Fatal(err)
		}
	}
	if status, _, _ := f.send("GET", apiPath+"/threads", key, ""); status != 200 {
		t.Errorf("%d", status)
	}
}

// TestTrail alters the audit log.
func TestTrail(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.log(f.dirs[0], idA, line(1, "thread_started", `{}`))
	key := f.key(access.Operator)
	for range 3 {
		f.send("POST", apiPath+"/threads/"+idA+"/suspend", key, `{"reason":"secret-word"}`)
	}
	f.send("POST", apiPath+"/threads/"+idA+"/kill", key, `{}`)
	read := func() (list []trail.Entry, broken string) {
		broken, err := f.s.p.Trail.Read(time.Time{}, func(e *trail.Entry) { list = append(list, *e) })
		if err != nil {
			t.Fatal(err)
		}
		return list, broken
	}
	list, broken := read()
	if len(list) != 4 || broken != "" || list[3].Status != 403 || !strings.HasPrefix(list[0].Body, "sha256:") || !strings.Contains(list[0].Key, "operator") {
		t.Fatalf("%q %+v", broken, list)
	}
	name := filepath.Join(f.state, access.Dir, "audit.jsonl")
	b, err := os.ReadFile(name)
	if err != nil || bytes.Contains(b, []byte("secret-word")) || bytes.Contains(b, []byte(key)) {
		t.Fatalf("the log has a body or a key: %v\n%s", err, b)
	}
	for what, altered := range map[string][]byte{
		"altered": bytes.Replace(b, []byte("/suspend"), []byte("/resume0"), 1),
		"removed": b[bytes.IndexByte(b, '\n')+1:],
		"cut":     b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1],
	} {
		if err := os.WriteFile(name, altered, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, broken := read(); broken == "" {
			t.Errorf("%s: not found", what)
		}
	}
}
